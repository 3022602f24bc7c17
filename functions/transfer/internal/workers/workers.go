// Package workers runs several goroutines, all of which end with the first error.
package workers

import (
	"context"
	"fmt"
	"sync"
)

// Run calls work in a number of goroutines. When all have ended it returns the first error, or why
// ctx ended. A panic is an error too: a record reports it, and the process goes on.
func Run(
	ctx context.Context, number int64, work func(ctx context.Context, worker int64) error,
) error {
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

// Share lets a number of workers process the pieces that all gives. give returns an error when
// nobody takes pieces any more.
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
