package download

import (
	"sync/atomic"
	"time"

	"stampede/transfer/internal/process"
)

// observed is what is seen of a download from outside while it runs: every field may be read at any time.
type observed struct {
	startedAt time.Time
	startCPU  float64
	firstByte atomic.Int64 // ns after the start; 0: none yet
	endedWall atomic.Int64 // ns after the start; 0: still running
	endedCPU  atomic.Int64 // ns
	bytes     atomic.Int64
	retries   atomic.Int64
	requests  atomic.Int64
}

func observe() *observed { return &observed{startedAt: time.Now(), startCPU: process.CPUSeconds()} }

// CountRequest and CountRetry are called by the S3 client.
func (o *observed) CountRequest() { o.requests.Add(1) }

// CountRetry counts a request that is sent again.
func (o *observed) CountRetry() { o.retries.Add(1) }

// noteAnswer notes the first good answer, as functions/common/object_read.py does: its body may be long in coming.
func (o *observed) noteAnswer() {
	if o.firstByte.Load() == 0 {
		o.firstByte.CompareAndSwap(0, max(1, int64(time.Since(o.startedAt))))
	}
}

// end stops the clocks; what comes after isn't measured.
func (o *observed) end() {
	o.endedCPU.Store(int64((process.CPUSeconds() - o.startCPU) * 1e9))
	o.endedWall.Store(max(1, int64(time.Since(o.startedAt))))
}

// outcome returns what is known by now; until the end, wall time and CPU are those until now.
func (o *observed) outcome(err error) Outcome {
	wall, cpu := o.endedWall.Load(), o.endedCPU.Load()
	if wall == 0 {
		wall, cpu = int64(time.Since(o.startedAt)), int64((process.CPUSeconds()-o.startCPU)*1e9)
	}
	outcome := Outcome{
		StartedAtMs:    o.startedAt.UnixMilli(),
		ElapsedSeconds: float64(wall) / 1e9,
		Bytes:          o.bytes.Load(),
		CPUSeconds:     float64(cpu) / 1e9,
		Retries:        o.retries.Load(),
		Requests:       o.requests.Load(),
		Err:            err,
	}
	if first := o.firstByte.Load(); first > 0 {
		seconds := float64(first) / 1e9
		outcome.FirstByteSeconds = &seconds
	}
	return outcome
}
