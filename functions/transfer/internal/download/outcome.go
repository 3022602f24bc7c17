package download

import "time"

// Outcome is how a download went. Err is nil when it succeeded; FirstByteSeconds is nil when no byte came.
type Outcome struct {
	StartedAtMs      int64
	ElapsedSeconds   float64
	Bytes            int64
	FirstByteSeconds *float64
	CPUSeconds       float64 // user and system, of this process, during the timed part
	Retries          int64
	Requests         int64
	Err              error
}

// NotStarted returns the outcome of a message that failed before its download began.
func NotStarted(err error) Outcome { return Outcome{StartedAtMs: time.Now().UnixMilli(), Err: err} }
