package express

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/retry"
)

// outcome returns what the record says of a slice, whatever came of it. Order and settings are nil where they couldn't be read:
// what is theirs is null then.
func (o *observed) outcome(order *order, from *settings, err error) record.Outcome {
	var operation, placement, experiment, class *string
	var asked [6]*int64 // of the order
	warmUp := int64(0)
	if from != nil {
		operation, placement, experiment = &from.Operation, &from.Placement, &from.Experiment
	}
	if order != nil {
		parallel := int64(order.Parallel)
		class, warmUp = &order.StorageClass, order.WarmUp
		asked = [6]*int64{&order.objectBytes, &order.objectCount, &parallel, &order.Slices, &order.FirstObject, &order.Objects}
	}
	own := []record.Pair{
		{Key: "warm_up", Value: warmUp}, {Key: "operation", Value: operation}, {Key: "storage_class", Value: class},
		{Key: "placement", Value: placement}, {Key: "object_bytes", Value: asked[0]}, {Key: "object_count", Value: asked[1]},
		{Key: "parallel_limit", Value: asked[2]}, {Key: "slices", Value: asked[3]}, {Key: "first_object", Value: asked[4]},
		{Key: "objects", Value: asked[5]},
	}
	count := int64(0)
	if order != nil {
		count = order.objectCount
	}
	own = append(append(own, o.measured(count)...), record.Pair{Key: "retry_mode", Value: retry.Mode},
		record.Pair{Key: "retry_attempts", Value: int64(retry.Attempts)}, record.Pair{Key: "sdk", Value: aws.SDKName + " " + aws.SDKVersion},
		record.Pair{Key: "experiment", Value: experiment})
	return record.Outcome{
		TimeKey: "elapsed_seconds", StartedAtMs: o.startedAtMs(), ElapsedSeconds: o.elapsedSeconds(), Bytes: o.bytes.Load(), Err: err, Own: own,
	}
}

// measured is what happened, from the objects per second to the requests sent, for a set of so many objects.
func (o *observed) measured(objectCount int64) []record.Pair {
	elapsed, objects, rate := o.elapsedSeconds(), float64(o.objects.Load()), 0.0
	var set, session *float64
	if elapsed > 0 && objects > 0 {
		rate, set = objects/elapsed, ptr(elapsed*float64(objectCount)/objects)
	}
	if o.sessions.Load() > 0 {
		session = ptr(float64(o.sessionNs.Load()) / 1e6)
	}
	return []record.Pair{
		{Key: "objects_per_s", Value: rate}, {Key: "set_seconds", Value: set}, {Key: "request_p50_ms", Value: o.requestMs(50)},
		{Key: "request_p90_ms", Value: o.requestMs(90)}, {Key: "request_p99_ms", Value: o.requestMs(99)},
		{Key: "request_max_ms", Value: o.requestMs(100)}, {Key: "sessions", Value: o.sessions.Load()}, {Key: "session_ms", Value: session},
		{Key: "peak_memory_mb", Value: process.PeakMemoryMB()}, {Key: "client_cpu_seconds", Value: process.CPUSeconds() - o.beganCPU},
		{Key: "requests", Value: o.requests.Load()}, {Key: "retries", Value: o.retries.Load()},
	}
}

func ptr[T any](value T) *T { return &value }
