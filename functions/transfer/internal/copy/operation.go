package copy

import (
	"context"
	"os"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/workorder"
)

// operation is the copy in Lambda or by a host's worker: between the buckets that the environment names.
type operation struct {
	settings *settings
	from, to *s3.Client
	wrong    error // why settings or clients are nil
	runner   *deadline.Runner
	finished *finished // of the message that wasn't done
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	process.UseOneProcessor()
	o := &operation{runner: &deadline.Runner{Operation: "copy", Thing: "slice"}}
	if o.settings, o.wrong = readSettings(lookup); o.wrong != nil {
		return o
	}
	given := account.Given{Region: o.settings.Region}
	if o.from, o.wrong = s3.Open(ctx, given, o.settings.Source); o.wrong != nil {
		return o
	}
	if o.to, o.wrong = s3.Open(ctx, given, o.settings.Destination); o.wrong == nil {
		o.to = o.to.ForManySmallAnswers(silence)
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

// Do implements sandbox.Operation. Rows that failed go to the log that the context names, before the record.
func (o *operation) Do(ctx context.Context, body string, until time.Time) (*workorder.Order, record.Outcome) {
	seen := observe()
	order, err := parse(body)
	if err != nil {
		return nil, seen.outcome(nil, o.settings, err)
	}
	if err = o.wrong; err == nil {
		err = o.begin(ctx, order, until)
	}
	if err == nil {
		seen = observe() // the wait for the common start is no part of it
		job := o.job(ctx, order, seen, until)
		bounded, cancel := deadline.Outlasting(ctx, callsGrace)
		defer cancel()
		err = o.runner.Run(bounded, until, seen.bytes.Load, func(calls context.Context) error { return job.run(calls, ctx, seen) })
		if o.finished = job.finished; err == nil {
			o.finished = nil
		}
	}
	return &order.Order, seen.outcome(order, o.settings, err)
}

// begin waits until the copy may begin; an error is why it may not.
func (o *operation) begin(ctx context.Context, order *order, until time.Time) error {
	if order.EmptyFirst {
		if err := o.settings.mayEmpty(order.Manifest); err != nil {
			return err
		}
	}
	if order.Manifest == "" && o.settings.SourcePrefix == "" {
		return failure.New(failure.WorkOrder, "the message lacks the key manifest: without SOURCE_PREFIX there is nothing to list")
	}
	if err := deadline.WaitUntil(ctx, order.StartAtMs, until); err != nil {
		return err
	}
	return o.runner.MakeWay(until)
}

func (o *operation) job(ctx context.Context, order *order, seen *observed, until time.Time) *job {
	from := o.settings
	attempt, log := record.DeliveryOf(ctx)
	j := &job{
		Policy: order.Policy, from: o.from, to: o.to, sourceBucket: from.Source, sameBucket: from.Source == from.Destination,
		prefix: from.DestinationPrefix, emptyFirst: order.EmptyFirst, until: until,
		failures: newFailures(log, order.RunID, order.Cell, order.Seq, attempt), notices: os.Stderr,
	}
	switch {
	case order.Manifest == "":
		j.rows = listed(order.lister(o.from), seen, from.SourcePrefix, from.DestinationPrefix)
	case order.Slices > 0:
		j.finished, j.lookFirst = finishedOf(o.finished, order), attempt > 1
		j.rows = sliced(order.lister(o.from), seen, order.Manifest, order.FirstSlice, order.Slices)
	}
	return j
}
