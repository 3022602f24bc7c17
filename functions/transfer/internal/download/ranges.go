package download

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"stampede/transfer/internal/s3"
)

// ranges fetches parts in parallel. The first part's answer says how large the object is and which one it is, so no HEAD is
// needed; the other parts start with that answer, and ask for the same ETag.
func (t *transfer) ranges(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	var next atomic.Int64 // part 0 is the first worker's
	work := func() {
		for ctx.Err() == nil {
			first := next.Add(1) * t.variant.PartBytes
			if first >= t.object.Bytes {
				return
			}
			last := min(first+t.variant.PartBytes, t.object.Bytes) - 1
			if err := t.span(ctx, first, last, nil); err != nil {
				cancel(err) // the first error ends the others; theirs are this one, then
				return
			}
		}
	}
	err := t.span(ctx, 0, t.variant.PartBytes-1, func() error {
		parts := (t.object.Bytes + t.variant.PartBytes - 1) / t.variant.PartBytes
		for range min(int64(t.variant.Parallel), parts) - 1 {
			workers.Add(1)
			go func() {
				defer workers.Done()
				work()
			}()
		}
		return nil
	})
	if errors.Is(err, s3.ErrNoBytes) {
		return t.span(ctx, 0, s3.Whole, func() error { return nil })
	}
	if err != nil {
		cancel(err)
	}
	work()
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
