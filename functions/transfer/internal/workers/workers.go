// Package workers does work by several goroutines at once, all of which end with the first error.
package workers

import (
	"context"
	"fmt"
	"sync"
)

// Run calls work once for each of so many workers, at once, and returns the first error, or why ctx
// ended, when all have ended. A panic is an error too: a record says so, instead of the process's
// end.
func Run(ctx context.Context, number int64, work func(ctx context.Context,
	worker int64) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	for worker := range number {
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() {
				if defect := recover(); defect != nil {
					stop(fmt.Errorf("a defect in the work: %v", defect))
				}
			}()
			if err := work(ctx, worker); err != nil {
				stop(err)
			}
		}()
	}
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Share lets so many workers do what one more gives them, one piece after the other; give's error
// is why nobody takes it any more.
func Share[T any](
	ctx context.Context, number int64, all func(ctx context.Context, give func(T) error) error,
	work func(context.Context, T) error,
) error {
	pieces := make(chan T)
	return Run(ctx, 1+number, func(ctx context.Context, worker int64) error {
		if worker == 0 {
			defer close(pieces)
			return all(ctx, func(piece T) error {
				select {
				case pieces <- piece:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}
		for piece := range pieces {
			if err := work(ctx, piece); err != nil {
				return err
			}
		}
		return nil
	})
}
