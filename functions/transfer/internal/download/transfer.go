package download

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
)

const (
	// progressBytes is what a try must have fetched before it was cut, so that it isn't counted.
	progressBytes = 1 << 20
	// bufferBytes is received and then kept at once: large pieces cost fewer calls, and fewer visits of a page of the file that two pieces share.
	bufferBytes = 512 << 10
)

// transfer is one download under way.
type transfer struct {
	settings *settings
	bucket   *bucket.Bucket
	order    *order
	sink     sink
	seen     *observed
	object   bucket.Object // known from the first answer on
}

// complete is the timed part, and what is checked after it.
func (t *transfer) complete(ctx context.Context) error {
	var err error
	if t.settings.Method == ranges {
		err = t.ranges(ctx)
	} else {
		err = t.span(ctx, 0, bucket.Whole, func() {})
	}
	t.seen.end()
	if err == nil {
		err = t.verify()
	}
	if closed := t.sink.close(); err == nil && closed != nil {
		err = failure.OfFile(closed)
	}
	return err
}

func (t *transfer) verify() error {
	received, wanted := t.seen.bytes.Load(), t.order.ObjectBytes
	if received != t.object.Bytes {
		return failure.New(failure.SizeMismatch, "received %d bytes, but S3 announced %d: upload the object again", received, t.object.Bytes)
	}
	if wanted != nil && received != *wanted {
		return failure.New(failure.SizeMismatch, "received %d bytes, but the message expects %d: upload the object again", received, *wanted)
	}
	if t.order.Checksum == nil {
		return nil
	}
	sum, err := t.sink.digest(t.order.Checksum.Algorithm)
	if err != nil {
		return failure.OfFile(err)
	}
	return t.order.Checksum.compare(sum)
}

// ranges fetches parts in parallel. The first part's answer says how large the object is and which one it is, so no HEAD is
// needed; the other parts start with that answer, and ask for the same ETag. The first error ends them all.
func (t *transfer) ranges(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	size := t.settings.PartBytes
	var next atomic.Int64 // part 0 is the first one's
	rest := func() {
		for ctx.Err() == nil {
			first := next.Add(1) * size
			if first >= t.object.Bytes {
				return
			}
			if err := t.span(ctx, first, min(first+size, t.object.Bytes)-1, func() {}); err != nil {
				cancel(err)
			}
		}
	}
	var others sync.WaitGroup
	err := t.span(ctx, 0, size-1, func() {
		for range min(t.settings.Parallel, (t.object.Bytes+size-1)/size) - 1 {
			others.Add(1)
			go func() {
				defer others.Done()
				rest()
			}()
		}
	})
	if err == bucket.ErrNoBytes {
		return t.span(ctx, 0, bucket.Whole, func() {})
	}
	if err != nil {
		cancel(err)
	}
	rest()
	others.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// span fetches the bytes first to last (bucket.Whole: all), and goes on where a connection was cut. At the download's very first
// answer it prepares the sink and calls begun.
func (t *transfer) span(ctx context.Context, first, last int64, begun func()) error {
	buffer := buffers.Get().(*[bufferBytes]byte)
	defer buffers.Put(buffer)
	at, counted := first, first
	broughtOn := func() bool {
		if at-counted < progressBytes {
			return false
		}
		counted = at
		return true
	}
	return t.bucket.DoOn(ctx, t.seen, "GetObject", broughtOn, func() error {
		asked := bucket.Span{Key: t.settings.Key, First: at, Last: last, IfMatch: t.object.ETag}
		if last == bucket.Whole && at > first {
			asked.Last = t.object.Bytes - 1
		}
		body, object, err := t.bucket.Get(ctx, asked)
		if err != nil {
			return err
		}
		defer body.Close()
		t.seen.noteAnswer()
		if t.object.ETag == "" {
			t.object = object
			if err := t.sink.prepare(object.Bytes); err != nil {
				return err
			}
			begun()
		}
		end := last + 1
		if last == bucket.Whole || end > t.object.Bytes {
			end = t.object.Bytes
		}
		return t.receive(body, &at, end, buffer[:])
	})
}

// buffers are reused by every span and every download of this process.
var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

// receive reads until the end, a buffer at a time: TLS gives 16 KiB, and to keep each of them by itself would cost a call.
func (t *transfer) receive(body io.Reader, at *int64, end int64, buffer []byte) error {
	for *at < end {
		place := t.sink.place(buffer, *at, end)
		n, err := 0, error(nil)
		for n < len(place) && err == nil {
			var read int
			read, err = body.Read(place[n:])
			n += read
			t.seen.bytes.Add(int64(read))
		}
		if failed := t.sink.keep(place[:n], *at); failed != nil {
			return failure.OfFile(failed)
		}
		*at += int64(n)
		if err != nil && *at < end {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
