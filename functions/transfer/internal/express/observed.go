package express

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/retry"
)

// observed is what is seen of a slice while it runs; every field may be read at any time. It is a bucket.SessionCounter.
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

func (o *observed) CountRequest() { o.requests.Add(1) }
func (o *observed) CountRetry()   { o.retries.Add(1) }
func (o *observed) CountSession(took time.Duration) {
	o.sessions.Add(1)
	o.sessionNs.Add(int64(took))
}

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

// requestMs is a percentile of what one object took, 100 of the slowest; nil before the first.
func (o *observed) requestMs(percentile float64) any {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.latency.TotalCount() == 0 {
		return nil
	}
	return float64(o.latency.ValueAtQuantile(percentile)) / 1000
}

// outcome returns what the record says of a slice, whatever came of it. Order and settings are nil where they couldn't be read:
// what is theirs is null then. It began with the first request for an object, or where there was none with everything.
func (o *observed) outcome(order *order, from *settings, err error) record.Outcome {
	var operation, placement, experiment, class, objectBytes, objectCount, parallel, slices, first, count, rate, set, session any
	warmUp, elapsed, objects := int64(0), o.elapsedSeconds(), float64(o.objects.Load())
	if from != nil {
		operation, placement, experiment = from.Operation, from.Placement, from.Experiment
	}
	if order != nil {
		warmUp, class, parallel, slices = order.WarmUp, order.StorageClass, order.Parallel, order.Slices
		objectBytes, objectCount, first, count = order.objectBytes, order.objectCount, order.FirstObject, order.Objects
	}
	rate = 0.0
	if elapsed > 0 && objects > 0 {
		rate, set = objects/elapsed, elapsed*float64(order.objectCount)/objects
	}
	if o.sessions.Load() > 0 {
		session = float64(o.sessionNs.Load()) / 1e6
	}
	own := record.Pairs("warm_up", warmUp, "operation", operation, "storage_class", class, "placement", placement, "object_bytes", objectBytes,
		"object_count", objectCount, "parallel_limit", parallel, "slices", slices, "first_object", first, "objects", count,
		"objects_per_s", rate, "set_seconds", set, "request_p50_ms", o.requestMs(50), "request_p90_ms", o.requestMs(90),
		"request_p99_ms", o.requestMs(99), "request_max_ms", o.requestMs(100), "sessions", o.sessions.Load(), "session_ms", session,
		"peak_memory_mb", process.PeakMemoryMB(), "client_cpu_seconds", process.CPUSeconds()-o.beganCPU, "requests", o.requests.Load(),
		"retries", o.retries.Load(), "retry_mode", retry.Mode, "retry_attempts", int64(retry.Attempts), "sdk", bucket.SDK, "experiment", experiment)
	return record.Outcome{
		TimeKey: "elapsed_seconds", StartedAtMs: o.prepared.Add(time.Duration(o.began.Load())).UnixMilli(), ElapsedSeconds: elapsed,
		Bytes: o.bytes.Load(), Err: err, Own: own,
	}
}
