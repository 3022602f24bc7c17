package download

import (
	"cmp"
	"context"
	"io"
	"sync"
	"sync/atomic"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/workers"
)

const (
	// progressBytes is what a try must have fetched before it was cut, so that it isn't counted.
	progressBytes = 1 << 20
	// bufferBytes is received and then kept at once: large pieces cost fewer calls, and fewer
	// visits of a page of the file that two pieces share.
	bufferBytes = 512 << 10
)

// transfer is one download under way.
type transfer struct {
	*settings
	bucket *bucket.Bucket
	order  *order
	sink   *sink
	seen   *seen
	object bucket.Object // known from the first answer on
}

// complete is the timed part, and what is checked after it.
func (t *transfer) complete(ctx context.Context) (err error) {
	defer t.sink.close()
	if t.Method == ranges {
		err = t.ranges(ctx)
	}
	if t.Method == stream || err == bucket.ErrNoBytes {
		err = t.span(ctx, 0, bucket.Whole, func() {})
	}
	t.seen.End()
	if err != nil {
		return err
	}
	received := t.seen.Bytes.Load()
	for by, wanted := range map[string]*int64{"S3 announced": &t.object.Bytes,
		"the message expects": t.order.ObjectBytes} {
		if wanted != nil && received != *wanted {
			return failure.New(failure.SizeMismatch,
				"received %d bytes, but %s %d: upload the object again", received, by, *wanted)
		}
	}
	return t.sink.verify()
}

// ranges fetches parts in parallel. The first part's answer says how large the object is and which
// one it is, so no HEAD is needed; the other parts start with that answer, and ask for the same
// ETag.
func (t *transfer) ranges(ctx context.Context) error {
	var next atomic.Int64
	first := make(chan struct{})
	return workers.Run(ctx, t.Parallel, func(ctx context.Context, worker int64) error {
		if worker > 0 {
			select {
			case <-first:
			case <-ctx.Done():
			}
		}
		for at := next.Add(t.PartBytes) - t.PartBytes; ctx.Err() == nil &&
			(at == 0 || at < t.object.Bytes); at = next.Add(t.PartBytes) - t.PartBytes {
			if err := t.span(ctx, at, at+t.PartBytes-1, func() { close(first) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// span fetches the bytes first to last (bucket.Whole: all), and goes on where a connection was cut.
// At the download's very first answer it prepares the sink and calls begun.
func (t *transfer) span(ctx context.Context, first, last int64, begun func()) error {
	buffer := buffers.Get().(*[bufferBytes]byte)
	defer buffers.Put(buffer)
	at, counted := first, first
	progressed := func() bool {
		if at-counted < progressBytes {
			return false
		}
		counted = at
		return true
	}
	return t.bucket.DoOn(ctx, t.seen, "GetObject", progressed, func() error {
		body, object, err := t.bucket.Get(ctx, bucket.Span{Key: t.Key, First: at, Last: last,
			IfMatch: cmp.Or(t.object.ETag, t.order.ObjectETag)})
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
		if last == bucket.Whole || last >= object.Bytes {
			last = object.Bytes - 1
		}
		return t.receive(body, &at, last+1, buffer[:])
	})
}

// buffers are reused by every span and every download of this process.
var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

// receive reads until the end, a buffer at a time: TLS gives 16 KiB, and to keep each of them by
// itself would cost a call.
func (t *transfer) receive(body io.Reader, at *int64, end int64, buffer []byte) error {
	for *at < end {
		place := t.sink.place(buffer[:min(bufferBytes, end-*at)], *at)
		n, err := io.ReadFull(body, place)
		t.seen.Bytes.Add(int64(n))
		if failed := t.sink.keep(place[:n], *at); failed != nil {
			return failure.OfFile(failed)
		}
		if *at += int64(n); err != nil {
			return err
		}
	}
	return nil
}
