// Package observed is what is seen of an operation on a bucket while it runs, for its record.
package observed

import (
	"cmp"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// Work is what is seen of one operation; all of it may be read at any time. It is a bucket.Counter.
type Work struct {
	Bytes, Requests, Retries atomic.Int64

	prepared    time.Time
	preparedCPU float64
	began       atomic.Pointer[time.Time] // the timed part; nil: not yet
	spent       atomic.Pointer[spent]     // up to its end; nil: not yet
}

type spent struct{ elapsed, cpu float64 }

// Prepare begins to count the CPU time.
func (w *Work) Prepare() { w.prepared, w.preparedCPU = time.Now(), process.CPUSeconds() }

// CountRequest counts a request that is sent.
func (w *Work) CountRequest() { w.Requests.Add(1) }

// CountRetry counts a request that is sent again.
func (w *Work) CountRetry() { w.Retries.Add(1) }

// Begin begins the timed part.
func (w *Work) Begin() {
	now := time.Now()
	w.began.Store(&now)
}

// End ends the timed part; what comes after isn't measured.
func (w *Work) End() {
	elapsed, cpu := w.Spent()
	w.spent.Store(&spent{elapsed, cpu})
}

// Spent is the seconds that the timed part took, 0 before it, and those of CPU; until its end, both
// until now.
func (w *Work) Spent() (elapsed, cpu float64) {
	if whole := w.spent.Load(); whole != nil {
		return whole.elapsed, whole.cpu
	}
	if began := w.began.Load(); began != nil {
		elapsed = time.Since(*began).Seconds()
	}
	return elapsed, process.CPUSeconds() - w.preparedCPU
}

// Outcome is what a record says of the work, with an operation's own keys. It started with its
// timed part, or where there was none with everything.
func (w *Work) Outcome(timeKey string, elapsed float64, err error,
	own []record.Pair) record.Outcome {
	started := cmp.Or(w.began.Load(), &w.prepared)
	return record.Outcome{TimeKey: timeKey, StartedAtMs: started.UnixMilli(),
		ElapsedSeconds: elapsed, Bytes: w.Bytes.Load(), Err: err, Own: own}
}

// Pairs makes pairs of keys and values, null where these couldn't be read.
func Pairs(wereRead bool, keysAndValues ...any) []record.Pair {
	pairs := record.Pairs(keysAndValues...)
	for i := range pairs {
		if !wereRead {
			pairs[i].Value = nil
		}
	}
	return pairs
}
