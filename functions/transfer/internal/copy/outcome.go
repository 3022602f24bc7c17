package copy

import (
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3"
)

// outcome returns what the record says of a copy, whatever came of it. Order and settings are nil where they couldn't be read:
// what is theirs is null then.
func (o *observed) outcome(order *order, from *settings, err error) record.Outcome {
	asked, told := orderPairs(order), settingsPairs(from)
	own := []record.Pair{asked["warm_up"], asked["parallel_limit"], asked["pace"], asked["calls_per_s_cap"], told["object_count"], told["key_order"]}
	if from != nil && from.Experiment == onHost {
		own = append(own, told["instance_type"])
	}
	own = append(own, o.counts(err == nil)...)
	own = append(own, asked["first_slice"], asked["slices"], record.Pair{Key: "trajectory", Value: o.trajectory()}, asked["retry_mode"],
		asked["retry_attempts"], record.Pair{Key: "sdk", Value: s3.SDK}, told["experiment"])
	return record.Outcome{
		TimeKey: "elapsed_seconds", StartedAtMs: o.startedAtMs(), ElapsedSeconds: o.elapsedSeconds(), Bytes: o.bytes.Load(), Err: err, Own: own,
	}
}

// counts is what happened, from the rows planned to the requests sent. Where not all was done, nobody has counted the plan.
func (o *observed) counts(all bool) []record.Pair {
	var planned *int64
	if all {
		planned = ptr(o.planned.Load())
	}
	rate := 0.0
	if elapsed := o.elapsedSeconds(); elapsed > 0 {
		rate = float64(o.copied.Load()) / elapsed
	}
	return []record.Pair{
		{Key: "planned", Value: planned}, {Key: "copied", Value: o.copied.Load()}, {Key: "already_there", Value: o.alreadyThere.Load()},
		{Key: "failed", Value: o.failed.Load()}, {Key: "malformed", Value: o.malformed.Load()}, {Key: "calls", Value: o.calls.Load()},
		{Key: "calls_per_s", Value: rate}, {Key: "slowdowns", Value: o.slowDowns.Load()}, {Key: "retries", Value: o.retries.Load()},
		{Key: "call_p50_ms", Value: o.callMs(50)}, {Key: "call_p90_ms", Value: o.callMs(90)}, {Key: "call_p99_ms", Value: o.callMs(99)},
		{Key: "call_max_ms", Value: o.callMs(100)}, {Key: "emptied", Value: o.emptied.Load()},
		{Key: "emptying_seconds", Value: float64(o.emptying.Load()) / 1e9}, {Key: "peak_memory_mb", Value: process.PeakMemoryMB()},
		{Key: "client_cpu_seconds", Value: process.CPUSeconds() - o.beganCPU}, {Key: "requests", Value: o.requests.Load()},
	}
}

// orderPairs is what the record repeats of the order, by its keys there.
func orderPairs(order *order) map[string]record.Pair {
	values := map[string]any{"warm_up": int64(0), "parallel_limit": (*int64)(nil), "pace": (*string)(nil), "calls_per_s_cap": (*int64)(nil),
		"first_slice": (*int64)(nil), "slices": (*int64)(nil), "retry_mode": (*string)(nil), "retry_attempts": (*int64)(nil)}
	if order != nil {
		values["warm_up"], values["parallel_limit"], values["pace"] = order.WarmUp, int64(order.Parallel), order.Pace
		values["retry_mode"], values["retry_attempts"] = order.RetryMode, order.Attempts
		if order.CallsPerS > 0 {
			values["calls_per_s_cap"] = order.CallsPerS
		}
		if order.Manifest != "" {
			values["first_slice"], values["slices"] = order.FirstSlice, order.Slices
		}
	}
	return pairs(values)
}

// settingsPairs is what the record repeats of the environment, by its keys there.
func settingsPairs(from *settings) map[string]record.Pair {
	values := map[string]any{"object_count": (*int64)(nil), "key_order": (*string)(nil), "experiment": (*string)(nil)}
	if from != nil {
		values["object_count"], values["key_order"], values["experiment"] = from.ObjectCount, from.KeyOrder, from.Experiment
		values["instance_type"] = from.InstanceType
	}
	return pairs(values)
}

func pairs(values map[string]any) map[string]record.Pair {
	made := make(map[string]record.Pair, len(values))
	for key, value := range values {
		made[key] = record.Pair{Key: key, Value: value}
	}
	return made
}
