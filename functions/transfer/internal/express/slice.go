package express

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/bucket"
)

// slice is the objects of an order to bring to or from a bucket, so many at a time.
type slice struct {
	*order
	bucket *bucket.Bucket
	seen   *observed
}

func (s *slice) workers() int64 { return min(s.Parallel, s.Objects) }

// each moves every object of the slice, as many at once as there are workers, which are numbered from 0. The first error ends it.
func (s *slice) each(ctx context.Context, move func(ctx context.Context, worker int, object int64) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	s.seen.begin()
	for worker := range int(s.workers()) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			defer func() {
				if defect := recover(); defect != nil {
					stop(fmt.Errorf("a defect in the work: %v", defect)) // a record says so, instead of the process's end
				}
			}()
			for i := next.Add(1) - 1; i < s.Objects && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := move(ctx, worker, s.FirstObject+i); err != nil {
					stop(err)
				}
			}
		}()
	}
	workers.Wait()
	s.seen.end()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// timed does the requests for one object, and notes what they took.
func (s *slice) timed(ctx context.Context, operation string, once func() error) error {
	began := time.Now()
	err := s.bucket.Do(ctx, s.seen, operation, once)
	if err == nil {
		s.seen.done(time.Since(began), s.objectBytes)
	}
	return err
}
