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
	// progressBytes is how much an attempt must fetch before a cut to count as the first again.
	progressBytes = 1 << 20
	// bufferBytes are received and then kept at once: large pieces take fewer calls, and share
	// fewer pages of the file.
	bufferBytes = 512 << 10
)

// transfer is a running download.
type transfer struct {
	*settings
	bucket *bucket.Bucket
	order  *order
	sink   *sink
	seen   *seen
	object bucket.Object // set by the first answer
}

// complete is the timed part and the checks after it.
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
	for by, wanted := range map[string]*int64{
		"S3 announced": &t.object.Bytes, "the message expects": t.order.ObjectBytes,
	} {
		if wanted != nil && received != *wanted {
			return failure.New(failure.SizeMismatch,
				"received %d bytes, but %s %d: upload the object again", received, by, *wanted)
		}
	}
	return t.sink.verify()
}

// ranges fetches parts in parallel. The answer for the first part has the object's size and ETag,
// so no HEAD is needed. The other parts start after it and require the same ETag.
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
		for {
			at := next.Add(t.PartBytes) - t.PartBytes
			if ctx.Err() != nil || at > 0 && at >= t.object.Bytes {
				return nil
			}
			if err := t.span(ctx, at, at+t.PartBytes-1, func() { close(first) }); err != nil {
				return err
			}
		}
	})
}

// span fetches the bytes first to last (bucket.Whole: all), and resumes where a connection was cut.
// At the download's first answer it prepares the sink and calls begun.
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

// buffers are shared by all spans and downloads of this process.
var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

// receive reads up to end, a whole buffer at a time: 16 KiB of TLS at a time would take more calls.
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
