package copy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// engine copies rows. Its memory doesn't grow with their number.
type engine struct {
	Policy
	to           *s3.Client // the destination bucket
	sources      *sources
	sourceBucket string
	sameBucket   bool
	prefix       string // of every destination
	seen         *observed
	failures     *failures
	pacer        *pacer
	quota        *quota
	finished     *finished
	nameRest     bool
	// lookFirst is whether the next row's destination is looked at before it is copied: rows that are there come together, where a run
	// goes on with what an earlier one left.
	lookFirst  atomic.Bool
	unanswered atomic.Int64 // rows given up one after the other without an answer of S3 in between
}

// mostUnanswered is how many of them end the work: then it isn't the rows, but the way to S3, and a message that comes back finds
// it open again. Fewer may be lost on the way while others get through.
const mostUnanswered = 100

// source calls take for every row, and returns how reading them ended. take's error ends it.
type source func(ctx context.Context, take func(row) error) error

// run copies all rows. calls bounds the requests; when begin ends, no further copy begins, but those under way are brought to
// their end. The error is why the work as a whole couldn't be done.
func (e *engine) run(calls, begin context.Context, rows source) error {
	begin, stop := context.WithCancelCause(begin)
	defer stop(nil)
	given := make(chan row)
	var workers sync.WaitGroup
	started := 0
	worker := func() {
		defer workers.Done()
		defer func() {
			if defect := recover(); defect != nil {
				stop(fmt.Errorf("a defect in the copy: %v", defect)) // a record says so, instead of the process's end
			}
		}()
		for r := range given {
			if err := e.copy(calls, begin, r); err != nil {
				e.leave(r) // where that is no error of the work, the row isn't part of it any more
				stop(err)
			}
		}
	}
	number := int64(0)
	err := rows(begin, func(r row) error {
		r.Number = number // of its own, as planned goes down for rows that are left
		number++
		e.seen.planned.Add(1)
		if e.finished.has(r.Number) {
			e.seen.alreadyThere.Add(1)
			return nil
		}
		if refused := r.refused(e.prefix, e.sameBucket); refused != nil {
			e.fail(r, refused)
			return nil
		}
		select { // a new worker only when none is idle
		case given <- r:
			return nil
		default:
		}
		if started < e.Parallel {
			started++
			workers.Add(1)
			go worker()
		}
		select {
		case given <- r:
			return nil
		case <-begin.Done():
			if e.leave(r); e.nameRest {
				return nil
			}
			return context.Cause(begin)
		}
	})
	close(given)
	workers.Wait()
	if begin.Err() != nil {
		return context.Cause(begin)
	}
	return err
}

// leave takes a row out of the work.
func (e *engine) leave(r row) {
	e.seen.planned.Add(-1)
	if e.nameRest {
		e.seen.left.Add(1)
		e.failures.add(r, failure.NotBegun, "the copy stopped before this row was done")
	}
}

func (e *engine) fail(r row, err error) {
	e.seen.failed.Add(1)
	kind, message := failure.Describe(err)
	if kind == failure.MalformedRow {
		e.seen.malformed.Add(1)
	}
	e.failures.add(r, kind, message)
}

// copy brings one row to its end. An error is one that every other row would meet too; so is the end of begin.
func (e *engine) copy(calls, begin context.Context, r row) error {
	unknown := false // an earlier try may have made the copy
	began := time.Now()
	others := e.seen.copied.Load()
	mended := false // what S3 refused for all rows: new credentials, a corrected clock
	var paid, slowed int64
	if e.lookFirst.Load() {
		if e.compare(calls, r, false, 0) == nil {
			e.finished.add(r.Number)
			return nil
		}
		e.lookFirst.Store(false)
	}
	for try := int64(1); ; {
		if err := e.pacer.wait(begin); err != nil {
			return err
		}
		resent, err := e.call(calls, r)
		if calls.Err() != nil && err != nil {
			return context.Cause(calls)
		}
		unknown = unknown || resent || s3.OutcomeUnknown(err)
		if err == s3.ErrExists {
			err = e.compare(calls, r, unknown, time.Since(began))
		} else if err == nil {
			e.copied(r.Bytes)
		}
		if err == nil {
			e.finished.add(r.Number)
			e.quota.give(paid)
			return nil
		}
		known, temporary := passing(err)
		pause, again := time.Duration(0), false
		if known != nil && known.Type == failure.SlowDown && e.Pace == Adaptive { // of a comparison too, which has been tried often
			slowed++
			stuck := slowed >= fewestSlowed && time.Since(began) > longestSlowed && e.seen.copied.Load() > others
			pause, again = pauseAfter(slowed, longestSlowedPause, e.to.Retry.FirstPause/10), !stuck
		} else if temporary && known.Mended && !mended { // so that none of the calls that met it has to pay
			mended, again = true, true
		} else if temporary && try < e.Attempts {
			if paid, again = e.quota.take(known); again {
				pause = pauseAfter(try, e.longestPause(), e.to.Retry.FirstPause)
				try++
			}
		}
		if !again {
			return e.give(calls, r, unknown, time.Since(began), err)
		}
		e.seen.retries.Add(1)
		if err := sleep(begin, pause); err != nil {
			return err
		}
	}
}

// give gives a row up, unless one of its tries made the copy after all.
func (e *engine) give(calls context.Context, r row, unknown bool, tried time.Duration, err error) error {
	if unknown && e.compare(calls, r, true, tried) == nil {
		e.finished.add(r.Number)
		return nil
	}
	if calls.Err() != nil {
		return context.Cause(calls)
	}
	kind, message := failure.Describe(err)
	var known *failure.Error
	if kind == failure.NoCredentials || kind == failure.NoSuchBucket || errors.As(err, &known) && known.OfAll {
		return err
	}
	e.fail(r, err)
	if !answered(err) && e.unanswered.Add(1) >= mostUnanswered {
		return failure.New(kind, "S3 answered no request for %d objects in a row; the last error: %s", mostUnanswered, message)
	}
	return nil
}

// answered tells whether S3 answered, whatever it said.
func answered(err error) bool {
	kind, _ := failure.Describe(err)
	return err == nil || !slices.Contains([]string{failure.NoConnection, failure.ConnectionCut, failure.ReadTimeout}, kind)
}

func (e *engine) longestPause() float64 {
	if e.RetryMode == Legacy {
		return 0
	}
	return longestPause
}

// call makes one CopyObject.
func (e *engine) call(ctx context.Context, r row) (resent bool, err error) {
	sentAt := e.seen.noteCall()
	e.pacer.sent(sentAt)
	resent, err = e.to.Copy(ctx, copies{e.seen}, e.sourceBucket, r.Source, r.Destination)
	now := e.seen.noteAnswer(sentAt, err == nil)
	kind, _ := failure.Describe(err)
	slowDown := err != nil && kind == failure.SlowDown
	if slowDown {
		e.seen.slowDowns.Add(1)
	}
	if answered(err) {
		e.unanswered.Store(0)
	}
	e.pacer.answered(now, sentAt, answered(err) && !slowDown, slowDown)
	return resent, err
}

func (e *engine) copied(bytes int64) {
	e.seen.copied.Add(1)
	e.seen.bytes.Add(max(0, bytes))
}

// compare finds out what has the destination's key already: the same object, which is this worker's own copy when an earlier
// try has an unknown outcome; nil then. Another object is an error. tried is the time since the first try: what S3 can't compare
// is our copy, if it has the size and was written since.
func (e *engine) compare(ctx context.Context, r row, unknown bool, tried time.Duration) error {
	there, wanted, err := e.heads(ctx, r)
	if err != nil {
		return err
	}
	ours := unknown && there.Bytes == wanted.Bytes && there.Age <= tried+time.Second
	switch {
	case there.Same(wanted):
	case !there.Comparable(wanted) && ours:
	case !there.Comparable(wanted):
		return failure.New(failure.ObjectNotComparable, "an object of the same size (%d bytes) is at the destination, but its ETag %s can't be compared "+
			"with the source's %s, and they have no common checksum: keep it if an earlier run copied it; otherwise delete it and copy again",
			there.Bytes, there.ETag, wanted.ETag)
	default:
		return failure.New(failure.ObjectDiffers, "the object at the destination (%d bytes, ETag %s) differs from the source (%d bytes, ETag %s): delete it, "+
			"or empty the destination first", there.Bytes, there.ETag, wanted.Bytes, wanted.ETag)
	}
	if unknown {
		e.copied(r.Bytes)
	} else {
		e.seen.alreadyThere.Add(1)
		e.lookFirst.Store(true)
	}
	return nil
}

// heads asks for what is at both ends of a row, at once; what a listing says of the source isn't asked for again.
func (e *engine) heads(ctx context.Context, r row) (there, wanted s3.Head, err error) {
	asked := make(chan error, 1)
	if r.ETag == "" {
		go func() {
			var err error
			wanted, err = e.sources.head(ctx, e.seen, r.Source)
			asked <- err
		}()
	}
	there, err = head(ctx, e.to, e.seen, r.Destination)
	if r.ETag == "" {
		return there, wanted, cmp.Or(err, <-asked)
	}
	if wanted = (s3.Head{Object: s3.Object{ETag: r.ETag, Bytes: r.Bytes}}); err == nil && !there.Same(wanted) {
		wanted, err = e.sources.head(ctx, e.seen, r.Source)
	}
	return there, wanted, err
}

// sleep waits; an error is why it ended before its time.
func sleep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 && ctx.Err() == nil {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
