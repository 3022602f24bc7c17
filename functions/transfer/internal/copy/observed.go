package copy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	work "stampede/transfer/internal/observed"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// observed is the state of a running copy. Its counters may be read at any time.
type observed struct {
	work.Work
	began time.Time

	firstCall, lastAnswer, emptying                        atomic.Int64 // ns; 0: none yet
	planned, copied, alreadyThere, failed, malformed, left atomic.Int64
	calls, slowDowns, inFlight, emptied                    atomic.Int64

	latency *work.Latency // of the calls that copied

	mutex sync.Mutex
	track trajectory
}

func observe() *observed {
	process.ResetPeak()
	o := &observed{began: time.Now(), track: trajectory{width: 1}, latency: work.NewLatency()}
	o.Prepare()
	return o
}

func (o *observed) countCopy() {
	o.CountRequest()
	o.calls.Add(1)
}

// made counts a copy that this worker made.
func (o *observed) made(r row) {
	o.copied.Add(1)
	o.Bytes.Add(max(0, r.Bytes))
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
	o.lastAnswer.Store(int64(now))
	if copied {
		o.latency.Note(now - sentAt)
	}
	return now
}

// elapsedSeconds is the time from the first call to the last answer, 0 where there was no call.
func (o *observed) elapsedSeconds() float64 {
	return time.Duration(max(0, o.lastAnswer.Load()-o.firstCall.Load())).Seconds()
}

// look adds the state to the trajectory, for the last time if the copy has ended.
func (o *observed) look(ended bool) {
	first, seconds := time.Duration(o.firstCall.Load()), o.elapsedSeconds()
	if first == 0 {
		return
	}
	if !ended {
		seconds = (o.sinceBegan() - first).Seconds()
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.track.look(point{seconds, o.copied.Load(), o.slowDowns.Load(), o.inFlight.Load(), 1}, ended)
}

// course is the text of the trajectory.
func (o *observed) course() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.track.text()
}

// outcome returns what the record says of a copy, successful or not. If order or settings couldn't
// be read, they are nil and their keys null.
func (o *observed) outcome(asked *order, from *settings, err error) record.Outcome {
	isOrder, isSet, pairs := asked != nil, from != nil, work.Pairs
	if !isOrder {
		asked = &order{}
	}
	if !isSet {
		from = &settings{}
	}
	own := slices.Concat(
		pairs(true, "warm_up", asked.WarmUp),
		pairs(isOrder, "parallel_limit", asked.Parallel, "pace", asked.Pace),
		pairs(asked.CallsPerS > 0, "calls_per_s_cap", asked.CallsPerS),
		pairs(isSet, "object_count", from.ObjectCount, "key_order", from.KeyOrder),
	)
	if from.Experiment == onHost {
		own = append(own, pairs(true, "instance_type", from.InstanceType)...)
	}
	return record.Outcome{
		TimeKey: "elapsed_seconds", ElapsedSeconds: o.elapsedSeconds(),
		StartedAtMs: o.began.Add(time.Duration(o.firstCall.Load())).UnixMilli(),
		Bytes:       o.Bytes.Load(), Err: err,
		Own: slices.Concat(own, o.counts(err == nil),
			pairs(asked.Manifest != "", "first_slice", asked.FirstSlice, "slices", asked.Slices),
			pairs(true, "trajectory", o.course()),
			pairs(isOrder, "retry_mode", asked.RetryMode, "retry_attempts", asked.Attempts),
			pairs(true, "sdk", sdk),
			pairs(isSet, "experiment", from.Experiment)),
	}
}

// counts are the record's counts, from the rows planned to the requests sent. Only a complete copy
// has counted its plan.
func (o *observed) counts(all bool) []record.Pair {
	rate := 0.0
	if elapsed := o.elapsedSeconds(); elapsed > 0 {
		rate = float64(o.copied.Load()) / elapsed
	}
	_, cpu := o.Spent()
	return slices.Concat(work.Pairs(all, "planned", o.planned.Load()), record.Pairs(
		"copied", o.copied.Load(), "already_there", o.alreadyThere.Load(),
		"failed", o.failed.Load(), "malformed", o.malformed.Load(), "calls", o.calls.Load(),
		"calls_per_s", rate, "slowdowns", o.slowDowns.Load(), "retries", o.Retries.Load(),
	), o.latency.Pairs(true, "call"), record.Pairs(
		"emptied", o.emptied.Load(), "emptying_seconds", time.Duration(o.emptying.Load()).Seconds(),
		"peak_memory_mb", process.PeakMemoryMB(), "client_cpu_seconds", cpu,
		"requests", o.Requests.Load(),
	))
}

const (
	// mostPoints is the most points of a trajectory. A longer copy has coarser ones.
	mostPoints = 600
	// shortestRest is the shortest time, in seconds, between the last two points: a rate over less
	// says nothing.
	shortestRest = 0.2
)

// point is the state of a copy a number of seconds after its first call: copies, SlowDowns, and the
// calls in flight, summed over a number of looks.
type point struct {
	seconds                            float64
	copied, slowDowns, inFlight, looks int64
}

// trajectory gathers points at equal intervals in constant memory: when there are too many, every
// other one goes.
type trajectory struct {
	points []point
	last   point // at the last look
	width  float64
}

// look adds a copy's state, whose calls in flight are of this look alone.
func (t *trajectory) look(now point, ended bool) {
	now.inFlight += t.last.inFlight
	now.looks += t.last.looks
	t.last = now
	next := t.width
	if ended {
		next = shortestRest
	}
	if n := len(t.points); n > 0 {
		next += t.points[n-1].seconds
	} else if ended {
		next = 1e-9 // at least one point, however short the copy was
	}
	if now.seconds < next {
		return
	}
	if t.points = append(t.points, now); len(t.points) == mostPoints {
		for i := range mostPoints / 2 {
			t.points[i] = t.points[2*i+1]
		}
		t.points, t.width = t.points[:mostPoints/2], 2*t.width
	}
}

// text is "t_s:copied_per_s:in_flight:slowdowns_per_s" for each point, joined by spaces; t_s is a
// whole number of seconds.
func (t *trajectory) text() string {
	parts, before := make([]string, len(t.points)), point{}
	for i, p := range t.points {
		mean := func(number int64, of float64) float64 { return float64(number) / max(of, 1e-6) }
		passed := p.seconds - before.seconds
		parts[i] = fmt.Sprintf("%.0f:%.0f:%.0f:%.0f", max(1, p.seconds),
			mean(p.copied-before.copied, passed),
			mean(p.inFlight-before.inFlight, float64(p.looks-before.looks)),
			mean(p.slowDowns-before.slowDowns, passed))
		before = p
	}
	return strings.Join(parts, " ")
}
