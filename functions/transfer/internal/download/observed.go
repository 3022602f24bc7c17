package download

import (
	"sync/atomic"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/retry"
)

// observed is what is seen of a download from outside while it runs: every counter may be read at any time.
type observed struct {
	startedAt time.Time // zero: not begun
	startCPU  float64
	firstByte atomic.Int64 // ns after the start; 0: none yet
	endedWall atomic.Int64 // ns after the start; 0: still running
	endedCPU  atomic.Int64 // ns
	bytes     atomic.Int64
	retries   atomic.Int64
	requests  atomic.Int64
}

func (o *observed) begin() { o.startedAt, o.startCPU = time.Now(), process.CPUSeconds() }

// CountRequest counts a request that is sent.
func (o *observed) CountRequest() { o.requests.Add(1) }

// CountRetry counts a request that is sent again.
func (o *observed) CountRetry() { o.retries.Add(1) }

// noteAnswer notes the first good answer, as functions/common/object_read.py does: its body may be long in coming.
func (o *observed) noteAnswer() {
	if o.firstByte.Load() == 0 {
		o.firstByte.CompareAndSwap(0, o.sinceStart())
	}
}

func (o *observed) sinceStart() int64 { return max(1, int64(time.Since(o.startedAt))) }

func (o *observed) cpu() int64 { return int64((process.CPUSeconds() - o.startCPU) * 1e9) }

// end stops the clocks; what comes after isn't measured.
func (o *observed) end() {
	o.endedCPU.Store(o.cpu())
	o.endedWall.Store(o.sinceStart())
}

// outcome returns what the record says by now; until the end, wall time and CPU are those until now. What the settings would say is
// null where they couldn't be read.
func (o *observed) outcome(from *settings, warmUp int64, err error) record.Outcome {
	started, wall, cpu := o.startedAt, o.endedWall.Load(), o.endedCPU.Load()
	if started.IsZero() {
		started = time.Now()
	} else if wall == 0 {
		wall, cpu = o.sinceStart(), o.cpu()
	}
	var firstByte, sink, mode, attempts, sdk any
	if first := o.firstByte.Load(); first > 0 {
		firstByte = float64(first) / 1e9
	}
	if from != nil {
		sink, mode, attempts, sdk = from.Sink, retry.Mode, int64(retry.Attempts), bucket.SDK
	}
	return record.Outcome{
		TimeKey: "download_time_seconds", StartedAtMs: started.UnixMilli(), ElapsedSeconds: float64(wall) / 1e9, Bytes: o.bytes.Load(), Err: err,
		Own: record.Pairs("warm_up", warmUp, "sink", sink, "first_byte_seconds", firstByte, "client_cpu_seconds", float64(cpu)/1e9,
			"retries", o.retries.Load(), "requests", o.requests.Load(), "retry_mode", mode, "retry_attempts", attempts, "sdk", sdk),
	}
}
