package express

import (
	"context"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/workers"
)

// slice is the objects of an order to bring to or from a bucket, so many at a time.
type slice struct {
	*order
	bucket *bucket.Bucket
	seen   *observed
}

func (s *slice) workers() int64 { return min(s.Parallel, s.Objects) }

// each moves every object of the slice, as many at once as there are workers, which are numbered from 0.
func (s *slice) each(ctx context.Context, move func(ctx context.Context, worker, object int64) error) error {
	var next atomic.Int64
	s.seen.begin()
	defer s.seen.end()
	return workers.Run(ctx, s.workers(), func(ctx context.Context, worker int64) error {
		for i := next.Add(1) - 1; i < s.Objects && ctx.Err() == nil; i = next.Add(1) - 1 {
			if err := move(ctx, worker, s.FirstObject+i); err != nil {
				return err
			}
		}
		return nil
	})
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
