// Package observed counts and times an operation on a bucket for its record.
package observed

import (
	"cmp"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// Work is the state of one operation and a bucket.Counter. It may be read at any time.
type Work struct {
	Bytes, Requests, Retries atomic.Int64

	prepared    time.Time
	preparedCPU float64
	began       atomic.Pointer[time.Time] // start of the timed part; nil: not yet
	spent       atomic.Pointer[spent]     // by the whole timed part; nil: it hasn't ended
}

type spent struct{ elapsed, cpu float64 }

// Prepare starts counting CPU time.
func (w *Work) Prepare() { w.prepared, w.preparedCPU = time.Now(), process.CPUSeconds() }

// CountRequest counts a request.
func (w *Work) CountRequest() { w.Requests.Add(1) }

// CountRetry counts a retry.
func (w *Work) CountRetry() { w.Retries.Add(1) }

// Begin begins the timed part.
func (w *Work) Begin() {
	now := time.Now()
	w.began.Store(&now)
}

// End ends the timed part.
func (w *Work) End() {
	elapsed, cpu := w.Spent()
	w.spent.Store(&spent{elapsed, cpu})
}

// Spent returns the seconds and CPU seconds of the timed part so far, 0 s before it.
func (w *Work) Spent() (elapsed, cpu float64) {
	if whole := w.spent.Load(); whole != nil {
		return whole.elapsed, whole.cpu
	}
	if began := w.began.Load(); began != nil {
		elapsed = time.Since(*began).Seconds()
	}
	return elapsed, process.CPUSeconds() - w.preparedCPU
}

// Outcome is what a record says of the work, with the operation's own keys. The start is that of
// the timed part or, without one, of Prepare.
func (w *Work) Outcome(
	timeKey string, elapsed float64, err error, own []record.Pair,
) record.Outcome {
	started := cmp.Or(w.began.Load(), &w.prepared)
	return record.Outcome{TimeKey: timeKey, StartedAtMs: started.UnixMilli(),
		ElapsedSeconds: elapsed, Bytes: w.Bytes.Load(), Err: err, Own: own}
}

// Pairs makes pairs of keys and values, which are null unless they were read.
func Pairs(wereRead bool, keysAndValues ...any) []record.Pair {
	pairs := record.Pairs(keysAndValues...)
	for i := range pairs {
		if !wereRead {
			pairs[i].Value = nil
		}
	}
	return pairs
}
