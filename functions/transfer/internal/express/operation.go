// Package express uploads and downloads a slice of a set of equal objects, in S3 Standard or in S3
// Express One Zone, with the same SDK and code, so that only the storage differs.
package express

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/observed"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/retry"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// operation is the upload or the download in Lambda.
type operation struct {
	settings *settings
	buckets  map[string]*bucket.Bucket // by class
	wrong    error                     // with the settings or a bucket
	runner   *deadline.Runner
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	o := &operation{runner: &deadline.Runner{Operation: "slice"},
		buckets: map[string]*bucket.Bucket{}}
	if o.settings, o.wrong = readSettings(lookup); o.wrong != nil {
		return o
	}
	process.CollectRarely(o.settings.MemorySizeMB)
	options := bucket.Options{Connections: largestParallel, BufferBytes: 16 << 10,
		SessionMode: types.SessionModeReadOnly}
	if o.settings.Operation == upload {
		options.SessionMode = types.SessionModeReadWrite
	}
	for class, name := range o.settings.Buckets {
		o.buckets[class], o.wrong = bucket.Open(ctx, o.settings.Region, name, options)
		if o.wrong != nil {
			return o
		}
	}
	// With an endpoint of its own, a general bucket may replace the directory bucket.
	name := o.settings.Buckets[oneZone]
	if o.buckets[oneZone].Client.Options().BaseEndpoint == nil && !bucket.IsDirectory(name) {
		o.wrong = failure.New(failure.Settings,
			"EXPRESS_BUCKET_NAME %.100q isn't the name of a directory bucket: it must end in "+
				"--ZONE--x-s3, such as --use1-az4--x-s3", name)
	}
	return o
}

// Labels implements sandbox.Operation.
func (o *operation) Labels() *environment.Labels { return &o.settings.Labels }

// Do implements sandbox.Operation.
func (o *operation) Do(ctx context.Context, message sqsevent.Message, _ io.Writer,
	until time.Time) (*workorder.Order, record.Outcome) {
	seen := observe()
	order, err := parse(message.Body)
	if err != nil {
		return nil, o.outcome(nil, seen, err)
	}
	if err = o.begin(ctx, order, until); err == nil {
		for class, other := range o.buckets {
			if class != order.StorageClass {
				// 1,000 connections to each would exceed a sandbox's file descriptors
				other.Transport.CloseIdle()
			}
		}
		seen = observe() // without the wait for the common start
		s := &slice{order: order, bucket: o.buckets[order.StorageClass], seen: seen}
		err = o.runner.Run(ctx, until, seen.Bytes.Load,
			func(ctx context.Context) error { return o.do(ctx, s) })
	}
	return &order.Order, o.outcome(order, seen, err)
}

// begin waits until the work may begin. An error says why it may not.
func (o *operation) begin(ctx context.Context, order *order, until time.Time) error {
	switch {
	case o.wrong != nil:
		return o.wrong
	case order.OnlyMissing && o.settings.Operation != upload:
		return failure.New(failure.WorkOrder, "only_missing is for OPERATION=upload alone")
	}
	return o.runner.Await(ctx, order.StartAtMs, until)
}

// do opens the session of a directory bucket before the first request for an object.
func (o *operation) do(ctx context.Context, s *slice) error {
	err := s.bucket.Prime(ctx, s.seen)
	if err == nil && s.OnlyMissing {
		err = s.list(ctx)
	}
	switch {
	case err != nil:
		return err
	case o.settings.Operation == download:
		return s.download(ctx)
	}
	return s.upload(ctx)
}

// seen is the state of a running slice, and a bucket.SessionCounter.
type seen struct {
	observed.Work
	objects, sessions, sessionNs atomic.Int64
	latency                      *observed.Latency
}

func observe() *seen {
	process.ResetPeak()
	made := &seen{latency: observed.NewLatency()}
	made.Prepare()
	return made
}

// CountSession counts a request for a session.
func (s *seen) CountSession(took time.Duration) {
	s.sessions.Add(1)
	s.sessionNs.Add(int64(took))
}

// done counts a finished object.
func (s *seen) done(took time.Duration, bytes int64) {
	s.objects.Add(1)
	s.Bytes.Add(bytes)
	s.latency.Note(took)
}

// outcome is what the record says of a slice, successful or not. An unreadable order is nil.
func (o *operation) outcome(asked *order, s *seen, err error) record.Outcome {
	isOrder, isSet, pairs := asked != nil, o.settings.Method != "", observed.Pairs
	if !isOrder {
		asked = &order{}
	}
	elapsed, cpu := s.Spent()
	moved, rate, sessions := float64(s.objects.Load()), 0.0, s.sessions.Load()
	if moved > 0 {
		rate = moved / elapsed
	}
	return s.Outcome("elapsed_seconds", elapsed, err, slices.Concat(
		pairs(true, "warm_up", asked.WarmUp),
		pairs(isSet, "operation", o.settings.Operation),
		pairs(isOrder, "storage_class", asked.StorageClass),
		pairs(isSet, "placement", o.settings.Placement),
		pairs(isOrder, "object_bytes", asked.objectBytes, "object_count", asked.objectCount,
			"parallel_limit", asked.Parallel, "slices", asked.Slices,
			"first_object", asked.FirstObject, "objects", asked.Objects),
		pairs(true, "objects_per_s", rate),
		pairs(moved > 0, "set_seconds", float64(asked.objectCount)/rate),
		s.latency.Pairs(moved > 0, "request"),
		pairs(true, "sessions", sessions),
		pairs(sessions > 0, "session_ms", float64(s.sessionNs.Load())/1e6),
		pairs(true, "peak_memory_mb", process.PeakMemoryMB(), "client_cpu_seconds", cpu,
			"requests", s.Requests.Load(), "retries", s.Retries.Load(), "retry_mode", retry.Mode,
			"retry_attempts", int64(retry.Attempts), "sdk", bucket.SDK),
		pairs(isSet, "experiment", o.settings.Experiment),
	))
}
