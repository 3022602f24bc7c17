package download

import (
	"context"
	"path/filepath"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/workfolder"
	"stampede/transfer/internal/workorder"
)

// operation is the download in Lambda: of the object that the function's environment names, as it says.
type operation struct {
	settings *settings
	client   *s3.Client
	wrong    error // why settings or client are nil
	runner   *deadline.Runner
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	o := &operation{runner: newRunner()}
	if o.settings, o.wrong = readSettings(lookup); o.wrong == nil {
		o.client, o.wrong = s3.Open(ctx, account.Given{Region: o.settings.Region}, o.settings.Bucket)
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
	var variant *Variant
	if o.settings != nil {
		variant = &o.settings.Variant
	}
	order, err := parse(body)
	if err != nil {
		return nil, NotStarted(err).said(variant, 0)
	}
	return &order.Order, o.download(ctx, order, until).said(variant, order.WarmUp)
}

func (o *operation) download(ctx context.Context, order *order, until time.Time) Outcome {
	if o.wrong != nil {
		return NotStarted(o.wrong)
	}
	variant := o.settings.Variant
	if err := variant.Check(order.Checksum); err != nil {
		return NotStarted(err)
	}
	if err := deadline.WaitUntil(ctx, order.StartAtMs, until); err != nil {
		return NotStarted(err)
	}
	job := Job{Client: o.client, Key: o.settings.Key, ObjectBytes: order.ObjectBytes, Checksum: order.Checksum}
	if variant.Sink == Tmp {
		folder, err := workfolder.New()
		if err != nil {
			return NotStarted(failure.OfFile(err))
		}
		defer folder.Close()
		job.File = filepath.Join(folder.Path, "object")
	}
	return timed(ctx, o.runner, variant, job, until)
}
