package copy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
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
	track   trajectory
	latency *hdrhistogram.Histogram // µs, of the calls that copied
}

func observe() *observed {
	process.ResetPeak()
	// From 1 µs to an hour within 0.1 %: some 200 kB, however many calls there are.
	latency := hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
	return &observed{began: time.Now(), beganCPU: process.CPUSeconds(), track: trajectory{width: 1}, latency: latency}
}

// CountRequest is called for every request.
func (o *observed) CountRequest() { o.requests.Add(1) }

// CountRetry counts a request that is sent again.
func (o *observed) CountRetry() { o.retries.Add(1) }

func (o *observed) countCopy() {
	o.requests.Add(1)
	o.calls.Add(1)
}

// sinceBegan is the time on this copy's clock, never 0.
func (o *observed) sinceBegan() time.Duration { return max(1, time.Since(o.began)) }

func (o *observed) noteCall() time.Duration {
	now := o.sinceBegan()
	o.firstCall.CompareAndSwap(0, int64(now))
	o.inFlight.Add(1)
	return now
}

// noteAnswer ends what noteCall began; copied says that S3 made the copy.
func (o *observed) noteAnswer(sentAt time.Duration, copied bool) time.Duration {
	now := o.sinceBegan()
	o.inFlight.Add(-1)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.lastAnswer.Store(max(o.lastAnswer.Load(), int64(now)))
	if copied {
		_ = o.latency.RecordValue(min(int64((now-sentAt)/time.Microsecond), o.latency.HighestTrackableValue()))
	}
	return now
}

// elapsedSeconds is the time from the first call to the last answer, 0 where there was no call.
func (o *observed) elapsedSeconds() float64 {
	return time.Duration(max(0, o.lastAnswer.Load()-o.firstCall.Load())).Seconds()
}

// callMs is a percentile of the calls that copied; 100 is the slowest.
func (o *observed) callMs(percentile float64) float64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return float64(o.latency.ValueAtQuantile(percentile)) / 1000
}

// look takes note of the state for the trajectory.
func (o *observed) look() {
	if first := time.Duration(o.firstCall.Load()); first > 0 {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.track.look((o.sinceBegan() - first).Seconds(), o)
	}
}

// endTrack makes the trajectory's last point.
func (o *observed) endTrack() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.track.end(o.elapsedSeconds(), o)
}

// outcome returns what the record says of a copy, whatever came of it. Order and settings are nil where they couldn't be read:
// what is theirs is null then.
func (o *observed) outcome(asked *order, from *settings, err error) record.Outcome {
	ordered, told := asked != nil, from != nil
	if !ordered {
		asked = &order{}
	}
	if !told {
		from = &settings{}
	}
	own := slices.Concat(
		some(true, "warm_up", asked.WarmUp),
		some(ordered, "parallel_limit", int64(asked.Parallel), "pace", asked.Pace),
		some(asked.CallsPerS > 0, "calls_per_s_cap", asked.CallsPerS),
		some(told, "object_count", from.ObjectCount, "key_order", from.KeyOrder),
	)
	if from.Experiment == onHost {
		own = append(own, some(true, "instance_type", from.InstanceType)...)
	}
	own = slices.Concat(own, o.counts(err == nil),
		some(asked.Manifest != "", "first_slice", asked.FirstSlice, "slices", asked.Slices),
		some(true, "trajectory", o.track.text()),
		some(ordered, "retry_mode", asked.RetryMode, "retry_attempts", asked.Attempts),
		some(true, "sdk", sdk),
		some(told, "experiment", from.Experiment),
	)
	return record.Outcome{
		TimeKey: "elapsed_seconds", StartedAtMs: o.began.Add(time.Duration(o.firstCall.Load())).UnixMilli(), ElapsedSeconds: o.elapsedSeconds(),
		Bytes: o.bytes.Load(), Err: err, Own: own,
	}
}

// some makes pairs of keys and values; null for what isn't known.
func some(known bool, keysAndValues ...any) (pairs []record.Pair) {
	for pair := range slices.Chunk(keysAndValues, 2) {
		if !known {
			pair[1] = (*int64)(nil)
		}
		pairs = append(pairs, record.Pair{Key: pair[0].(string), Value: pair[1]})
	}
	return pairs
}

// counts is what happened, from the rows planned to the requests sent. Where not all was done, nobody has counted the plan.
func (o *observed) counts(all bool) []record.Pair {
	rate := 0.0
	if elapsed := o.elapsedSeconds(); elapsed > 0 {
		rate = float64(o.copied.Load()) / elapsed
	}
	return append(some(all, "planned", o.planned.Load()), some(true,
		"copied", o.copied.Load(), "already_there", o.alreadyThere.Load(), "failed", o.failed.Load(), "malformed", o.malformed.Load(),
		"calls", o.calls.Load(), "calls_per_s", rate, "slowdowns", o.slowDowns.Load(), "retries", o.retries.Load(),
		"call_p50_ms", o.callMs(50), "call_p90_ms", o.callMs(90), "call_p99_ms", o.callMs(99), "call_max_ms", o.callMs(100),
		"emptied", o.emptied.Load(), "emptying_seconds", time.Duration(o.emptying.Load()).Seconds(), "peak_memory_mb", process.PeakMemoryMB(),
		"client_cpu_seconds", process.CPUSeconds()-o.beganCPU, "requests", o.requests.Load())...)
}

// mostPoints is the most points that a trajectory has; a longer copy has coarser ones.
const mostPoints = 600

// point is one stretch of a copy: when it ended (seconds after the first call), what came through and what was slowed down in
// it, and the calls in flight on average.
type point struct {
	seconds           float64
	copied, slowDowns int64
	inFlight          float64
}

// trajectory gathers points, each of the same number of seconds, in constant memory: when there are too many, two become one.
type trajectory struct {
	points          []point
	width           float64 // seconds of a point
	total           point   // up to the last one
	inFlight, looks int64   // since the last one
}

// look takes note of a copy's state so many seconds after its first call.
func (t *trajectory) look(seconds float64, seen *observed) {
	t.inFlight += seen.inFlight.Load()
	t.looks++
	if seconds >= t.total.seconds+t.width {
		t.end(seconds, seen)
	}
}

// end makes a point of what happened since the last.
func (t *trajectory) end(seconds float64, seen *observed) {
	if seconds <= t.total.seconds {
		return
	}
	before, now := t.total, point{seconds: seconds, copied: seen.copied.Load(), slowDowns: seen.slowDowns.Load()}
	inFlight := float64(t.inFlight) / float64(max(1, t.looks))
	t.points = append(t.points, point{seconds, now.copied - before.copied, now.slowDowns - before.slowDowns, inFlight})
	t.total, t.inFlight, t.looks = now, 0, 0
	if len(t.points) <= mostPoints {
		return
	}
	half := t.points[:0]
	for pair := range slices.Chunk(slices.Clone(t.points), 2) {
		first, last := pair[0], pair[len(pair)-1]
		if len(pair) == 2 {
			last = point{last.seconds, first.copied + last.copied, first.slowDowns + last.slowDowns, (first.inFlight + last.inFlight) / 2}
		}
		half = append(half, last)
	}
	t.points, t.width = half, 2*t.width
}

// shortestRest is how long what comes after the last whole point must be to be a point of its own: a rate over less says
// nothing.
const shortestRest = 0.2

// text is "t_s:copied_per_s:in_flight:slowdowns_per_s" for each point, joined by spaces; t_s is a whole number of seconds.
func (t *trajectory) text() string {
	parts, before := make([]string, 0, len(t.points)), 0.0
	for i, p := range t.points {
		width := p.seconds - before
		if i > 0 && width < shortestRest {
			continue
		}
		perS := func(number int64) float64 { return math.Round(float64(number) / max(width, 1e-6)) }
		at := max(1, math.Round(p.seconds))
		parts = append(parts, fmt.Sprintf("%.0f:%.0f:%.0f:%.0f", at, perS(p.copied), math.Round(p.inFlight), perS(p.slowDowns)))
		before = p.seconds
	}
	return strings.Join(parts, " ")
}
