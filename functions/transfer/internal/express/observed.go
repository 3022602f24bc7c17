package express

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stampede/transfer/internal/process"
)

// observed is what is seen of a slice while it runs; every field may be read at any time.
type observed struct {
	prepared time.Time
	beganCPU float64

	began, ended        atomic.Int64 // ns after prepared; 0: not yet
	objects, bytes      atomic.Int64
	requests, retries   atomic.Int64
	sessions, sessionNs atomic.Int64
	mutex               sync.Mutex              // of latency
	latency             *hdrhistogram.Histogram // µs
}

func observe() *observed {
	process.ResetPeak()
	// From 1 µs to an hour within 0.1 %: some 200 kB, however many requests there are.
	return &observed{prepared: time.Now(), beganCPU: process.CPUSeconds(), latency: hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)}
}

// CountRequest counts a request that is sent: for an object, a session or a page of a listing, repeated ones included.
func (o *observed) CountRequest() { o.requests.Add(1) }

// CountRetry counts a request that is sent again.
func (o *observed) CountRetry() { o.retries.Add(1) }

func (o *observed) begin() { o.began.Store(max(1, int64(time.Since(o.prepared)))) }
func (o *observed) end()   { o.ended.Store(max(1, int64(time.Since(o.prepared)))) }

// done notes an object that was brought to its end.
func (o *observed) done(took time.Duration, bytes int64) {
	o.objects.Add(1)
	o.bytes.Add(bytes)
	o.mutex.Lock()
	_ = o.latency.RecordValue(min(int64(took/time.Microsecond), o.latency.HighestTrackableValue()))
	o.mutex.Unlock()
}

// elapsedSeconds is the time from the first request for an object to the last answer, or until now; 0 before.
func (o *observed) elapsedSeconds() float64 {
	began, ended := o.began.Load(), o.ended.Load()
	if began == 0 {
		return 0
	}
	if ended == 0 {
		ended = int64(time.Since(o.prepared))
	}
	return time.Duration(ended - began).Seconds()
}

// startedAtMs is when the first request for an object went out, or the whole began where there was none.
func (o *observed) startedAtMs() int64 {
	return o.prepared.Add(time.Duration(o.began.Load())).UnixMilli()
}

// requestMs is a percentile of what one object took, 100 of the slowest; nil before the first.
func (o *observed) requestMs(percentile float64) *float64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.latency.TotalCount() == 0 {
		return nil
	}
	found := float64(o.latency.ValueAtQuantile(percentile)) / 1000
	return &found
}
