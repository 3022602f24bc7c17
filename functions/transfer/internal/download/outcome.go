package download

import (
	"time"

	"stampede/transfer/internal/record"
	"stampede/transfer/internal/retry"
	"stampede/transfer/internal/s3"
)

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

// said returns what the record says of it; variant is nil when it couldn't be read.
func (o Outcome) said(variant *Variant, warmUp int64) record.Outcome {
	var sink, retryMode, sdk *string
	var retryAttempts *int64
	if variant != nil {
		mode, attempts, own := retry.Mode, int64(retry.Attempts), s3.SDK // the same for every method
		sink, retryMode, retryAttempts, sdk = &variant.Sink, &mode, &attempts, &own
	}
	return record.Outcome{
		TimeKey: "download_time_seconds", StartedAtMs: o.StartedAtMs, ElapsedSeconds: o.ElapsedSeconds, Bytes: o.Bytes, Err: o.Err,
		Own: []record.Pair{
			{Key: "warm_up", Value: warmUp}, {Key: "sink", Value: sink},
			{Key: "first_byte_seconds", Value: o.FirstByteSeconds}, {Key: "client_cpu_seconds", Value: o.CPUSeconds},
			{Key: "retries", Value: o.Retries}, {Key: "requests", Value: o.Requests},
			{Key: "retry_mode", Value: retryMode}, {Key: "retry_attempts", Value: retryAttempts},
			{Key: "sdk", Value: sdk},
		},
	}
}
