package copy

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stampede/transfer/internal/process"
)

// observed is what is seen of a copy while it runs: its counters may be read at any time.
type observed struct {
	began    time.Time
	beganCPU float64

	firstCall, lastAnswer                                  atomic.Int64 // ns after began; 0: none yet
	planned, copied, alreadyThere, failed, malformed, left atomic.Int64
	calls, slowDowns, retries, requests, inFlight, emptied atomic.Int64
	bytes                                                  atomic.Int64
	emptying                                               atomic.Int64 // ns

	mutex   sync.Mutex // of what follows
	track   *trajectory
	latency *hdrhistogram.Histogram // µs, of the calls that copied
}

func observe() *observed {
	process.ResetPeak()
	// From 1 µs to an hour within 0.1 %: some 200 kB, however many calls there are.
	latency := hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
	return &observed{began: time.Now(), beganCPU: process.CPUSeconds(), track: newTrajectory(), latency: latency}
}

// CountRequest and CountRetry are called by the S3 client.
func (o *observed) CountRequest() { o.requests.Add(1) }

// CountRetry counts a request that is sent again.
func (o *observed) CountRetry() { o.retries.Add(1) }

// copies counts the requests of copies, a request that went out again on a fresh connection included.
type copies struct{ *observed }

// CountRequest is called by the S3 client.
func (c copies) CountRequest() {
	c.observed.CountRequest()
	c.calls.Add(1)
}

// sinceBegan is the time on this copy's clock, never 0.
func (o *observed) sinceBegan() time.Duration { return max(1, time.Since(o.began)) }

func (o *observed) noteCall() time.Duration {
	now := o.sinceBegan()
	if o.firstCall.Load() == 0 {
		o.firstCall.CompareAndSwap(0, int64(now))
	}
	o.inFlight.Add(1)
	return now
}

// noteAnswer ends what noteCall began; copied says that S3 made the copy.
func (o *observed) noteAnswer(sentAt time.Duration, copied bool) time.Duration {
	now := o.sinceBegan()
	o.inFlight.Add(-1)
	for last := o.lastAnswer.Load(); last < int64(now) && !o.lastAnswer.CompareAndSwap(last, int64(now)); {
		last = o.lastAnswer.Load()
	}
	if copied {
		o.mutex.Lock()
		_ = o.latency.RecordValue(min(int64((now-sentAt)/time.Microsecond), o.latency.HighestTrackableValue()))
		o.mutex.Unlock()
	}
	return now
}

// elapsedSeconds is the time from the first call to the last answer, 0 where there was no call.
func (o *observed) elapsedSeconds() float64 {
	return time.Duration(max(0, o.lastAnswer.Load()-o.firstCall.Load())).Seconds()
}

// startedAtMs is when the first call went out, or the whole began where there was none.
func (o *observed) startedAtMs() int64 {
	return o.began.Add(time.Duration(o.firstCall.Load())).UnixMilli()
}

// callMs is a percentile of the calls that copied; 100 is the slowest.
func (o *observed) callMs(percentile float64) float64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return float64(o.latency.ValueAtQuantile(percentile)) / 1000
}

// sinceFirstCall is 0 before the first call.
func (o *observed) sinceFirstCall() time.Duration {
	first := time.Duration(o.firstCall.Load())
	if first == 0 {
		return 0
	}
	return o.sinceBegan() - first
}

// look takes note of the state for the trajectory.
func (o *observed) look() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.track.look(o.sinceFirstCall(), o)
}

// endTrack makes the trajectory's last point.
func (o *observed) endTrack() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.track.end(o.elapsedSeconds(), o)
}

func (o *observed) trajectory() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.track.text()
}
