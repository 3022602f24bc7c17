package copy

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// look is how often the trajectory and the deadline are seen to.
const look = 50 * time.Millisecond

// job is one copy to do.
type job struct {
	Policy
	from, to     *s3.Client
	sourceBucket string
	sameBucket   bool
	prefix       string // of every destination
	emptyFirst   bool
	rows         source // nil: nothing to copy
	failures     *failures
	finished     *finished // rows that need no request; nil: none, and none is remembered
	lookFirst    bool      // most rows may be there already
	nameRest     bool      // rows that aren't begun because the work ended go to failures too
	notices      io.Writer // for a user, a line each
	// until bounds the whole; zero: no bound. Copies stop beginning early enough that those under way end before it.
	until time.Time
	// enough is why copies stop beginning at until, without an error; nil: they must not.
	enough error
}

// callsGrace is how long calls under way may take once the work was told to stop: what S3 copies is counted then. It is shorter
// than the time that a host gives its work (internal/worker, graces).
const callsGrace = 15 * time.Second

// run does a job. When ctx ends, nothing more begins; calls bounds what is under way. What happened is in seen, at any time; the
// error is why the work as a whole wasn't done.
func (j *job) run(calls, ctx context.Context, seen *observed) error {
	defer func() { _ = j.failures.flush() }() // a log that can't be written to shows at the record, a file at the end of the verb
	begin, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(calls, func() { stop(context.Cause(calls)) })()
	if j.emptyFirst {
		if err := empty(begin, j.lister(j.to), seen, j.prefix); err != nil {
			return err
		}
	}
	if j.rows == nil {
		return nil
	}
	e := &engine{
		Policy: j.Policy, to: j.to, sources: newSources(j.from), sourceBucket: j.sourceBucket, sameBucket: j.sameBucket, prefix: j.prefix, seen: seen,
		failures: j.failures, finished: j.finished, nameRest: j.nameRest, pacer: newPacer(j.Policy, seen.began), quota: newQuota(j.RetryMode),
	}
	e.lookFirst.Store(j.lookFirst)
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Add(1)
	go func() {
		defer watcher.Done()
		j.watch(seen, e.pacer, stop, ended)
	}()
	err := e.run(calls, begin, j.rows)
	close(ended)
	watcher.Wait()
	if err != nil && err == j.enough {
		return nil
	}
	return err
}

// watch looks at the copy until it has ended, and stops it in time.
func (j *job) watch(seen *observed, pace *pacer, stop context.CancelCauseFunc, ended chan struct{}) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	noticed, flushed := false, time.Now()
	for {
		select {
		case <-ended:
			seen.endTrack()
			return
		case <-ticker.C:
			seen.look()
			if time.Since(flushed) > time.Second { // so that they are there whatever becomes of this process
				flushed = time.Now()
				_ = j.failures.flush()
			}
			if notice := pace.crowded(seen.sinceBegan()); notice != "" && !noticed {
				noticed = true
				_, _ = fmt.Fprintln(j.notices, notice)
			}
			if !j.until.IsZero() && !time.Now().Add(j.reserve(seen)).Before(j.until) {
				stop(j.tooLate(seen))
			}
		}
	}
}

// Bounds of the time that calls under way are given to end.
const (
	shortestReserve = time.Second
	longestReserve  = 30 * time.Second
)

// reserve is how long before the end the last copy may begin: twice the slowest so far, but no more than half of all the time.
func (j *job) reserve(seen *observed) time.Duration {
	if j.enough != nil {
		return 0
	}
	slowest := time.Duration(2 * seen.callMs(100) * float64(time.Millisecond))
	return min(max(slowest, shortestReserve), longestReserve, j.until.Sub(seen.began)/2)
}

func (j *job) tooLate(seen *observed) error {
	if j.enough != nil {
		return j.enough
	}
	return failure.New(failure.DeadlineExceeded, "stopped before the timeout with %d copied, %d already there and %d failed; SQS redelivers "+
		"the message for the rest: raise timeout_s or lower slice_rows", seen.copied.Load(), seen.alreadyThere.Load(), seen.failed.Load())
}
