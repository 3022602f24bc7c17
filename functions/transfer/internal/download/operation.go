// Package download does one timed download for each message: a method brings the bytes, a sink takes them, and what happened
// becomes a record, whatever S3 or the network does.
package download

import (
	"context"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/workorder"
)

// operation is the download in Lambda: of the object that the function's environment names, as it says.
type operation struct {
	settings *settings
	bucket   *bucket.Bucket
	wrong    error // why settings or bucket are nil
	runner   *deadline.Runner
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	o := &operation{runner: &deadline.Runner{Operation: "download", Thing: "object"}}
	if o.settings, o.wrong = readSettings(lookup); o.wrong == nil {
		options := bucket.Options{Connections: int(o.settings.Parallel), ReadAheadBytes: 128 << 10}
		o.bucket, o.wrong = bucket.Open(ctx, account.Given{Region: o.settings.Region}, o.settings.Bucket, options)
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
	seen := &observed{}
	order, err := parse(body)
	if err != nil {
		return nil, seen.outcome(o.settings, 0, err)
	}
	err = o.download(ctx, order, until, seen)
	return &order.Order, seen.outcome(o.settings, order.WarmUp, err)
}

// download waits until it may begin, and stops at the deadline: its connections are closed then.
func (o *operation) download(ctx context.Context, order *order, until time.Time, seen *observed) error {
	if o.wrong != nil {
		return o.wrong
	}
	if err := deadline.WaitUntil(ctx, order.StartAtMs, until); err != nil {
		return err
	}
	if err := o.runner.MakeWay(until); err != nil {
		return err
	}
	sink, err := newSink(o.settings, order.Checksum)
	if err != nil {
		return err
	}
	seen.begin()
	t := &transfer{settings: o.settings, bucket: o.bucket, order: order, sink: sink, seen: seen}
	return o.runner.Run(ctx, until, seen.bytes.Load, t.complete)
}
