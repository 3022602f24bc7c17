package copy

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/workers"
)

const (
	// look is how often the trajectory and the deadline are updated.
	look = 50 * time.Millisecond
	// callsGrace is how long calls under way may take after the work was told to stop, so that
	// their copies are counted. It is shorter than the time that a host gives its work
	// (internal/worker, usualGrace).
	callsGrace = 15 * time.Second
	// mostUnanswered is how many rows in a row may fail without an answer before the work ends:
	// then S3 can't be reached, and the redelivered message may find it again. A few rows may fail
	// so while others get through.
	mostUnanswered = 100
	// Bounds of the time for calls under way to end.
	shortestReserve = time.Second
	longestReserve  = 30 * time.Second
	// keptFiles are not for copies: HEADs of sources, the listing, standard streams, files.
	keptFiles = sourcesAtOnce + 16
)

// flushEvery is how often failed rows are written at least. A variable for tests.
var flushEvery = time.Second

// job is one copy to do. Its memory doesn't grow with the number of rows.
type job struct {
	Policy
	*route
	prefix     string // of every destination
	emptyFirst bool
	where      string // the rows come from
	rows       source // nil: nothing to copy
	seen       *observed
	failures   *failures
	nameRest   bool   // rows that weren't begun go to failures too
	progress   func() // called every few seconds; may be nil
	// until bounds the whole job; zero: no bound. Copies stop beginning early enough that those
	// under way end before it.
	until time.Time
	// lookFirst says whether to look at the next destination before copying: existing objects come
	// in groups when a run continues an earlier one.
	lookFirst atomic.Bool

	pacer      *pacer
	quota      *ratelimit.TokenBucket
	unanswered atomic.Int64 // rows in a row that failed without an answer

	mutex   sync.Mutex
	sources map[string]object // as HEAD describes them
}

// run does a job. When ctx ends, nothing more begins; calls bounds the requests under way. seen
// holds the results at any time. The error says why the job as a whole wasn't done.
func (j *job) run(calls, ctx context.Context) error {
	// Writing the record, or the end of the verb, reports errors of the log or the file.
	defer func() { _ = j.failures.flush() }()
	begin, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(calls, func() { stop(context.Cause(calls)) })()
	if j.emptyFirst {
		if err := j.empty(begin); err != nil {
			return err
		}
	}
	if j.rows == nil {
		return nil
	}
	j.capParallel()
	j.pacer, j.quota = newPacer(j.Policy, j.seen.began), newQuota(j.RetryMode)
	j.sources = map[string]object{}
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		j.watch(stop, ended)
	}()
	err := j.copyAll(calls, begin)
	close(ended)
	<-watched
	if err == nil && j.seen.planned.Load() == 0 {
		return failure.New(failure.NoData, "%s has nothing to copy", j.where)
	}
	return err
}

// capParallel lowers the calls at once to the connections that this process may open. Lambda allows
// 1,024 files.
func (j *job) capParallel() {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil && files.Cur < 2*LargestParallel {
		j.Parallel = min(j.Parallel, max(1, int64(files.Cur)-keptFiles))
	}
}

// watch follows the copy to its end, and stops it in time.
func (j *job) watch(stop context.CancelCauseFunc, ended chan struct{}) {
	defer j.seen.look(true)
	looking, flushing, telling := time.Tick(look), time.Tick(flushEvery), time.Tick(progressEvery)
	for {
		select {
		case <-ended:
			return
		case <-flushing: // so that they survive this process
			_ = j.failures.flush()
		case <-telling:
			if j.progress != nil {
				j.progress()
			}
		case <-looking:
			if j.seen.look(false); j.isLate() {
				stop(failure.New(failure.DeadlineExceeded,
					"stopped before the timeout with %d copied, %d already there and %d failed; "+
						"SQS redelivers the message for the rest: raise timeout_s or lower "+
						"slice_rows",
					j.seen.copied.Load(), j.seen.alreadyThere.Load(), j.seen.failed.Load()))
			}
		}
	}
}

// isLate reports whether it is too late to begin more copies: twice the slowest call so far is
// reserved for those under way, but at most half of the time.
func (j *job) isLate() bool {
	slowest := time.Duration(2 * j.seen.latency.Ms(100) * float64(time.Millisecond))
	reserve := min(max(slowest, shortestReserve), longestReserve, j.until.Sub(j.seen.began)/2)
	return !j.until.IsZero() && time.Until(j.until) <= reserve
}

// copyAll copies all rows. calls bounds the requests. When begin ends, no further copy begins, but
// those under way are finished.
func (j *job) copyAll(calls, begin context.Context) error {
	read := func(begin context.Context, give func(row) error) error {
		return j.rows(begin, func(r row) error { return j.hand(r, give) })
	}
	return workers.Share(begin, j.Parallel, read, func(begin context.Context, r row) error {
		err := j.copy(calls, begin, r)
		if err != nil {
			j.leave(r) // if the work itself succeeds, the row is no part of it
		}
		return err
	})
}

// hand counts a row, and gives it to a worker unless it is refused.
func (j *job) hand(r row, give func(row) error) error {
	j.seen.planned.Add(1)
	if refused := r.refused(j.prefix, j.from.Name == j.to.Name); refused != nil {
		j.fail(r, refused)
		return nil
	}
	err := give(r)
	if err != nil {
		j.leave(r)
	}
	if j.nameRest { // go on with the rest
		return nil
	}
	return err
}

// leave takes a row out of the work.
func (j *job) leave(r row) {
	j.seen.planned.Add(-1)
	if j.nameRest {
		j.seen.left.Add(1)
		j.failures.add(r, failure.NotBegun, "the copy stopped before this row was done")
	}
}

func (j *job) fail(r row, err error) {
	j.seen.failed.Add(1)
	kind, message := failure.Describe(err)
	if kind == failure.MalformedRow {
		j.seen.malformed.Add(1)
	}
	j.failures.add(r, kind, message)
}

// tries are the attempts at one row so far.
type tries struct {
	row
	began        time.Time
	number       int64
	slowed       int64
	copiedBefore int64 // by all goroutines
	paid         uint  // from the quota, for the last retry
	unknown      bool  // S3 may have made the copy
	renewed      bool  // the credentials
}

// copy finishes one row. It returns only errors that all rows would meet, such as the end of begin.
func (j *job) copy(calls, begin context.Context, r row) error {
	if j.lookFirst.Load() {
		if j.compare(calls, r, false, 0) == nil {
			return nil
		}
		j.lookFirst.Store(false)
	}
	t := &tries{row: r, began: time.Now(), number: 1, copiedBefore: j.seen.copied.Load()}
	for {
		if err := j.pacer.wait(begin); err != nil {
			return err
		}
		err := j.try(calls, t)
		if err == nil {
			j.quota.Refund(max(t.paid, unretriedGain))
			return nil
		}
		if calls.Err() != nil {
			return context.Cause(calls)
		}
		pause, again := j.again(t, err)
		if !again {
			return j.give(calls, t, err)
		}
		j.seen.CountRetry()
		if err := deadline.Sleep(begin, pause); err != nil {
			return err
		}
	}
}

// try calls CopyObject once, and compares the objects if the destination is taken.
func (j *job) try(ctx context.Context, t *tries) error {
	sentAt := j.seen.noteCall()
	j.pacer.adapt(func(a *adaptive) { a.Sent(sentAt) })
	unknown, err := j.copier.copy(ctx, t.row, j.seen.countCopy)
	t.unknown = t.unknown || unknown
	now := j.seen.noteAnswer(sentAt, err == nil)
	if isOf(err, failure.SlowDown) {
		j.seen.slowDowns.Add(1)
		j.pacer.adapt(func(a *adaptive) { a.SlowedDown(now, sentAt) })
	}
	if isAnswer(err) {
		j.unanswered.Store(0)
	}
	switch err {
	case nil:
		j.seen.made(t.row)
	case errExists:
		return j.compare(ctx, t.row, t.unknown, time.Since(t.began))
	}
	return err
}

// isOf reports whether an error is of one of these kinds.
func isOf(err error, kinds ...string) bool {
	var failed *failure.Error
	return errors.As(err, &failed) && slices.Contains(kinds, failed.Type)
}

// isAnswer reports whether S3 answered at all.
func isAnswer(err error) bool {
	return !isOf(err, failure.NoConnection, failure.ConnectionCut, failure.ReadTimeout)
}

// again reports whether to retry a row after an error, and after which pause.
func (j *job) again(t *tries, err error) (pause time.Duration, again bool) {
	var failed *failure.Error
	unit, longest, cost := j.to.Retry.FirstPause, float64(longestPause), uint(retryCost)
	switch {
	case !errors.As(err, &failed):
		return 0, false
	// also of a comparison, which has used up its own attempts
	case failed.Type == failure.SlowDown && j.Pace == Adaptive:
		t.slowed++
		isStuck := t.slowed >= fewestSlowed && time.Since(t.began) > longestSlowed &&
			j.seen.copied.Load() > t.copiedBefore
		return pauseAfter(t.slowed, longestSlowedPause, unit/10), !isStuck
	case failed.Expired && !t.renewed: // at no cost, since many calls meet it at once
		t.renewed = true
		return 0, true
	case failed.Type == failure.ReadTimeout:
		cost = timeoutCost
	}
	if j.RetryMode == Legacy {
		longest = math.Inf(1)
	}
	if !failed.Temporary || t.number >= j.Attempts {
		return 0, false
	}
	if _, again = j.quota.Retrieve(cost); again {
		t.paid, pause = cost, pauseAfter(t.number, longest, unit)
		t.number++
	}
	return pause, again
}

// give gives a row up, unless one of its attempts made the copy after all.
func (j *job) give(calls context.Context, t *tries, err error) error {
	if t.unknown && j.compare(calls, t.row, true, time.Since(t.began)) == nil {
		return nil
	}
	if calls.Err() != nil {
		return context.Cause(calls)
	}
	// every other row would meet it
	if isOf(err, failure.Settings, failure.NoCredentials, failure.NoSuchBucket) {
		return err
	}
	j.fail(t.row, err)
	if !isAnswer(err) && j.unanswered.Add(1) >= mostUnanswered {
		kind, message := failure.Describe(err)
		return failure.New(kind, "S3 answered no request for %d objects in a row; the last "+
			"error: %s", mostUnanswered, message)
	}
	return nil
}
