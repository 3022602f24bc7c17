package download

import (
	"context"
	"fmt"
	"time"

	"stampede/transfer/internal/failure"
)

const (
	// Margin is kept back from the function's timeout for stopping the transfer, removing the file and writing the record.
	Margin = 3 * time.Second
	// How long a stopped transfer gets to end by itself; a part of the margin.
	grace = time.Second
	// How long the next download waits for one that didn't end in its grace.
	patience = 15 * time.Second
)

// Runner runs the downloads of one process, one at a time, so that each ends as an outcome before its deadline, whatever S3
// or the network does: a function that outlasts its timeout would be killed without a record.
type Runner struct {
	previous chan struct{} // closed when the last download has really ended
}

// Run downloads. A download that is still running at the deadline is stopped: its connections are closed.
func (r *Runner) Run(ctx context.Context, way Way, job Job, deadline time.Time) Outcome {
	if err := r.awaitPrevious(deadline); err != nil {
		return NotStarted(err)
	}
	if !time.Now().Before(deadline) {
		return NotStarted(failure.New(failure.DeadlineExceeded, "less than %g s are left, too late to begin a download: raise timeout_s",
			Margin.Seconds()))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	transfer := &transfer{Job: job, way: way, sink: newSink(way, job), seen: observe()}
	ended := make(chan struct{})
	r.previous = ended
	var result error
	go func() {
		defer close(ended)
		defer func() {
			if defect := recover(); defect != nil {
				result = fmt.Errorf("a defect in the download: %v", defect)
			}
		}()
		result = transfer.complete(ctx)
	}()
	select {
	case <-ended:
		return transfer.seen.outcome(result)
	case <-time.After(time.Until(deadline)):
	}
	stopped := failure.New(failure.DeadlineExceeded, "stopped %g s before the function's timeout with %d bytes: raise timeout_s or make "+
		"the object smaller", Margin.Seconds(), transfer.seen.bytes.Load())
	cancel(stopped)
	select {
	case <-ended: // it may have come to its end first: then it is a result like any other
		return transfer.seen.outcome(result)
	case <-time.After(grace):
		return transfer.seen.outcome(stopped)
	}
}

func (r *Runner) awaitPrevious(deadline time.Time) error {
	if r.previous == nil {
		return nil
	}
	select {
	case <-r.previous:
		return nil
	case <-time.After(max(0, min(patience, time.Until(deadline)))):
		return failure.New(failure.PreviousDownloadRunning, "a download stopped earlier hasn't ended in this sandbox and would disturb the "+
			"timing: the message is tried again")
	}
}

// complete is the timed part, and what is checked after it.
func (t *transfer) complete(ctx context.Context) error {
	err := t.run(ctx)
	t.seen.end()
	if err == nil {
		err = t.verify()
	}
	if closed := t.sink.close(); closed != nil && err == nil {
		err = failure.OfFile(closed)
	}
	return err
}

func (t *transfer) verify() error {
	received := t.seen.bytes.Load()
	if received != t.object.Bytes {
		return failure.New(failure.SizeMismatch, "received %d bytes, but S3 announced %d: make the object again", received, t.object.Bytes)
	}
	if t.ObjectBytes != nil && received != *t.ObjectBytes {
		return failure.New(failure.SizeMismatch, "received %d bytes, but the work order says %d: make the object again", received, *t.ObjectBytes)
	}
	if t.Checksum == nil {
		return nil
	}
	found, err := t.sink.digest(t.Checksum.Algorithm)
	if err != nil {
		return err
	}
	return t.Checksum.compare(found)
}
