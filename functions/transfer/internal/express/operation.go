// Package express uploads and downloads a slice of a set of equal objects, in S3 Standard or in S3 Express One Zone: the same
// SDK and the same code for both, so that what differs is the storage.
package express

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/workorder"
)

// operation is the upload or the download in Lambda.
type operation struct {
	settings *settings
	buckets  map[string]*bucket.Bucket // by class
	wrong    error                     // why settings or a bucket are nil
	runner   *deadline.Runner
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	o := &operation{runner: &deadline.Runner{Operation: "slice", Thing: "slice"}, buckets: map[string]*bucket.Bucket{}}
	if o.settings, o.wrong = readSettings(lookup); o.wrong != nil {
		return o
	}
	process.CollectRarely(o.settings.MemorySizeMB)
	options := bucket.Options{Connections: largestParallel, BufferBytes: 16 << 10, SessionMode: types.SessionModeReadOnly}
	if o.settings.Operation == upload {
		options.SessionMode = types.SessionModeReadWrite
	}
	for class, name := range o.settings.Buckets {
		if o.wrong == nil {
			o.buckets[class], o.wrong = bucket.Open(ctx, account.Given{Region: o.settings.Region}, name, options)
		}
	}
	// With an endpoint of its own, a general bucket may stand in.
	name := o.settings.Buckets[oneZone]
	if o.wrong == nil && o.buckets[oneZone].Client.Options().BaseEndpoint == nil && !bucket.IsDirectory(name) {
		o.wrong = failure.New(failure.Settings, "EXPRESS_BUCKET_NAME %.100q isn't the name of a directory bucket: it must end in --ZONE--x-s3 "+
			"with the ID of its zone, such as --use1-az4--x-s3", name)
	}
	return o
}

// Labels implements sandbox.Operation.
func (o *operation) Labels() *environment.Labels {
	if o.settings == nil {
		return nil
	}
	return &o.settings.Labels
}

// Do implements sandbox.Operation.
func (o *operation) Do(ctx context.Context, body string, until time.Time) (*workorder.Order, record.Outcome) {
	seen := observe()
	order, err := parse(body)
	if err != nil {
		return nil, seen.outcome(nil, o.settings, err)
	}
	if err = o.begin(ctx, order, until); err == nil {
		for class, other := range o.buckets {
			if class != order.StorageClass {
				other.Transport.CloseIdle() // both at 1,000 at a time are more than a sandbox has file descriptors
			}
		}
		seen = observe() // the wait for the common start is no part of it
		s := &slice{order: order, bucket: o.buckets[order.StorageClass], seen: seen}
		err = o.runner.Run(ctx, until, seen.bytes.Load, func(ctx context.Context) error { return o.do(ctx, s) })
	}
	return &order.Order, seen.outcome(order, o.settings, err)
}

// begin waits until the work may begin; an error is why it may not.
func (o *operation) begin(ctx context.Context, order *order, until time.Time) error {
	if o.wrong != nil {
		return o.wrong
	}
	switch asked := o.settings.Operation; {
	case asked == count || asked == aggregate:
		return failure.New(failure.Settings, "OPERATION %s is a query, which stampede runs in Athena: send this function no messages", asked)
	case order.OnlyMissing && asked != upload:
		return failure.New(failure.WorkOrder, "only_missing is for the function with OPERATION=upload, not %s", asked)
	}
	if err := deadline.WaitUntil(ctx, order.StartAtMs, until); err != nil {
		return err
	}
	return o.runner.MakeWay(until)
}

// do opens the session, if the bucket has such, before the first request for an object.
func (o *operation) do(ctx context.Context, s *slice) error {
	if err := s.bucket.Prime(ctx, s.seen); err != nil {
		return err
	}
	if o.settings.Operation == download {
		return s.download(ctx)
	}
	return s.upload(ctx, s.OnlyMissing)
}
