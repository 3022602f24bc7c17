// Package deadline ends every timed operation before its invocation does: a function that outlasts
// its timeout would be killed without a record. As functions/common/deadline.py, which says how.
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
	// How long a stopped operation gets to end by itself; a part of the margin.
	grace = time.Second
)

// Runner runs the operations of one process, one at a time. Operation is what its errors call them.
type Runner struct {
	Operation string
	isRunning atomic.Bool
}

// Await waits for the common start, if there is one, and says whether the operation may begin: not
// beside one that was stopped earlier and hasn't really ended, and not when it is too late.
func (r *Runner) Await(ctx context.Context, startAtMs *int64, deadline time.Time) error {
	err := WaitUntil(ctx, startAtMs, deadline)
	switch {
	case err != nil:
		return err
	case time.Until(deadline) <= 0:
		return failure.New(failure.DeadlineExceeded,
			"less than %g s are left, too late to start a "+
				"%s: raise timeout_s", Margin.Seconds(), r.Operation)
	case r.isRunning.Load():
		return failure.New(failure.PreviousDownloadRunning, "an earlier %s that was stopped still "+
			"runs in this sandbox: SQS redelivers the message", r.Operation)
	}
	return nil
}

// Run does the work and returns how it ended. At the deadline its context ends, with the error that
// is then returned; bytes says how far the work has come.
func (r *Runner) Run(ctx context.Context, deadline time.Time, bytes func() int64,
	work func(context.Context) error) error {
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
	case result := <-ended: // it may have come to its end first: then it is a result like any other
		return result
	case <-time.After(grace):
		return stopped
	}
}

// WaitUntil holds an operation back until a common start (epoch ms), so that many functions begin
// at once. A function that arrives late starts late: its record's started_at_ms shows it. The wait
// ends with the context.
func WaitUntil(ctx context.Context, startAtMs *int64, deadline time.Time) error {
	if startAtMs == nil {
		return nil
	}
	wait, remaining := time.Until(time.UnixMilli(*startAtMs)), time.Until(deadline)
	if wait <= 0 {
		return nil
	}
	if wait >= remaining {
		return failure.New(failure.StartTooLate,
			"start_at_ms is %.1f s ahead, but only %.1f s are "+
				"left: choose an earlier start or raise timeout_s", wait.Seconds(),
			max(0, remaining.Seconds()))
	}
	return Sleep(ctx, wait)
}

// Sleep waits; an error is why it ended before its time.
func Sleep(ctx context.Context, span time.Duration) error {
	select {
	case <-time.After(span):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Outlasting returns a context that ends a while after the other does, for the same reason.
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
