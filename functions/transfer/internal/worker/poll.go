package worker

import (
	"context"
	"errors"
	"time"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
)

// graces is how long what is under way may take once the host was told to stop, each from that moment: the operation, putting
// its record into the log, giving back its message. systemd's TimeoutStopSec has to be longer than the last.
type graces struct{ operation, log, settle time.Duration }

var usualGraces = graces{operation: 20 * time.Second, log: 30 * time.Second, settle: 40 * time.Second}

// worker does the messages of a queue, one after the other.
type worker struct {
	queue   *queue
	log     *stream
	sandbox *sandbox.Sandbox
	graces
}

// poll takes messages until the context ends, or until none came for a time. The error is that of a queue which couldn't be
// asked in all that time.
func (w *worker) poll(ctx context.Context, idle time.Duration) error {
	if err := w.log.open(ctx); err != nil {
		return nil // told to stop; that it couldn't be opened has been said
	}
	for last := time.Now(); ctx.Err() == nil; {
		wait := idle - time.Since(last)
		if wait <= 0 {
			return nil
		}
		asking, cancel := context.WithTimeout(ctx, wait+callTimeout)
		message, err := w.queue.receive(asking, wait)
		cancel()
		if message != nil {
			w.handle(ctx, message)
			last = time.Now()
		} else if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

var errStopped = failure.New(failure.DeadlineExceeded, "the host was stopped during the operation: SQS redelivers the message for the rest")

// handle does one message: it is deleted once its record is in the log, and otherwise comes back.
func (w *worker) handle(ctx context.Context, message *sqsevent.Message) {
	until := time.Now().Add(longestHold - margin - longestPoll) // the poll that brought it may have begun so long ago
	// Told to stop, the operation learns it with the reason: ctx itself has none to give.
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errStopped) })()
	release := w.queue.keep(message, func(err error) {
		w.queue.say("message %s: %v; stopping its work", message.ID, err)
		stop(failure.New(failure.DeadlineExceeded, "%v: it was purged, or redelivered while SQS couldn't be reached", err))
	})
	failed, err := w.process(ctx, working, message, until)
	release()
	w.settle(ctx, message, failed, err)
}

// process runs the operation and puts its record into the log. failed is why the operation has more to do, err why the record
// isn't in the log.
func (w *worker) process(ctx, working context.Context, message *sqsevent.Message, until time.Time) (failed, err error) {
	ended := make(chan bool)
	var ofWork, ofRecord error
	go func() {
		defer close(ended)
		_, ofWork, ofRecord = w.sandbox.Process(working, *message, until)
	}()
	patient, cancel := deadline.Outlasting(ctx, w.graces.operation)
	defer cancel()
	select {
	case <-ended:
	case <-patient.Done():
		return nil, errors.New("the operation didn't stop in time")
	}
	if ofRecord != nil {
		return nil, ofRecord
	}
	logging, cancel := deadline.Outlasting(ctx, w.graces.log)
	defer cancel()
	return ofWork, w.log.Flush(logging)
}

// settle tells SQS what becomes of a message. err is why its record isn't in the log: then it isn't deleted, however it went.
func (w *worker) settle(ctx context.Context, message *sqsevent.Message, failed, err error) {
	if err != nil {
		w.queue.say("message %s returns to the queue because its record isn't in CloudWatch Logs: %s", message.ID, sandbox.InShort(err))
	}
	span := sandbox.Delay(message.Attempt)
	if ctx.Err() != nil {
		span = 0
	}
	doing, tell := "returning a message", func(ctx context.Context) error { return w.queue.hide(ctx, message, span) }
	if failed == nil && err == nil {
		doing, tell = "deleting a message", func(ctx context.Context) error { return w.queue.delete(ctx, message) }
	}
	settling, cancel := deadline.Outlasting(ctx, w.graces.settle)
	defer cancel()
	if err := w.queue.until(settling, doing, callTimeout, tell); err != nil {
		w.queue.say("message %s comes back after its visibility timeout: %s", message.ID, sandbox.InShort(err))
	}
}
