// Package deadline ends every timed operation before its invocation: a function that outlasts its
// timeout is killed without a record. functions/common/deadline.py says how it works.
package deadline

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/failure"
)

const (
	// Margin is kept back from the function's timeout for stopping the operation, removing files
	// and writing the record.
	Margin = 3 * time.Second
	// grace is the part of the margin in which a stopped operation may end by itself.
	grace = time.Second
)

// Runner runs the operations of one process, one at a time. Operation is their name in errors.
type Runner struct {
	Operation string
	isRunning atomic.Bool
}

// Await waits for the common start, if there is one. It returns an error if it is too late to
// begin, or if an earlier operation that was stopped still runs.
func (r *Runner) Await(ctx context.Context, startAtMs *int64, deadline time.Time) error {
	err := WaitUntil(ctx, startAtMs, deadline)
	switch {
	case err != nil:
		return err
	case time.Until(deadline) <= 0:
		return failure.New(failure.DeadlineExceeded, "less than %g s are left, too late to start "+
			"a %s: raise timeout_s", Margin.Seconds(), r.Operation)
	case r.isRunning.Load():
		return failure.New(failure.PreviousDownloadRunning, "an earlier %s that was stopped still "+
			"runs in this sandbox: SQS redelivers the message", r.Operation)
	}
	return nil
}

// Run does the work and returns its error. At the deadline it ends the work's context with the
// error that it returns, which names the bytes so far.
func (r *Runner) Run(
	ctx context.Context, deadline time.Time, bytes func() int64,
	work func(context.Context) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	r.isRunning.Store(true)
	go func() {
		var result error
		defer func() {
			if defect := recover(); defect != nil {
				result = fmt.Errorf("a defect in the %s: %v", r.Operation, defect)
			}
			r.isRunning.Store(false)
			ended <- result
		}()
		result = work(ctx)
	}()
	select {
	case result := <-ended:
		return result
	case <-time.After(time.Until(deadline)):
	}
	stopped := failure.New(failure.DeadlineExceeded, "stopped %g s before the timeout with %d "+
		"bytes: raise timeout_s or order less", Margin.Seconds(), bytes())
	cancel(stopped)
	select {
	case result := <-ended: // the work may have finished first
		return result
	case <-time.After(grace):
		return stopped
	}
}

// WaitUntil waits for a common start (epoch ms), so that many functions begin at once, or for the
// end of the context. A function that arrives late starts late, as its started_at_ms shows.
func WaitUntil(ctx context.Context, startAtMs *int64, deadline time.Time) error {
	if startAtMs == nil {
		return nil
	}
	wait, remaining := time.Until(time.UnixMilli(*startAtMs)), time.Until(deadline)
	if wait <= 0 {
		return nil
	}
	if wait >= remaining {
		return failure.New(failure.StartTooLate, "start_at_ms is %.1f s ahead, but only %.1f s "+
			"are left: choose an earlier start or raise timeout_s",
			wait.Seconds(), max(0, remaining.Seconds()))
	}
	return Sleep(ctx, wait)
}

// Sleep waits. An error says why it ended early.
func Sleep(ctx context.Context, span time.Duration) error {
	select {
	case <-time.After(span):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Outlasting returns a context that ends a while after ctx, with the same cause.
func Outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(by):
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() { cancel(nil) }
}
