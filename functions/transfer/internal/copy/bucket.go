package copy

import (
	"context"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/workers"
)

const (
	deleteObjects = "DeleteObjects"
	headObject    = "HeadObject"
	// sourcesAtOnce is the most requests for sources at once. The copies already use nearly all
	// file descriptors, of which Lambda has 1,024.
	sourcesAtOnce = 16
	// deletionsAtOnce is the most batches of deletions at once: each key counts against the 3,500
	// requests a second of a prefix.
	deletionsAtOnce = 4
)

// advice says what to do about a refusal.
var advice = map[string]string{
	copyObject + " " + failure.AccessDenied: "the role may not read the source, write the " +
		"destination or use their KMS key, or the source doesn't exist: check the role's policy " +
		"and the key",
	copyObject + " " + failure.NoSuchBucket: "the source or the destination bucket " +
		"doesn't exist: check the names of both buckets",
	deleteObjects + " " + failure.AccessDenied: "the role needs s3:DeleteObject in the " +
		"destination bucket",
	headObject + " " + failure.AccessDenied: "to compare, the role needs s3:GetObject " +
		"on source and destination, and kms:Decrypt for their keys",
	bucket.ListObjects + " " + failure.AccessDenied: "the role needs s3:ListBucket, or another " +
		"account owns the bucket",
}

// route leads from one bucket to another.
type route struct {
	from, to *bucket.Bucket
	copier   *copier
}

// openRoute makes the clients. Errors are of the type Settings.
func openRoute(ctx context.Context, region, source, destination string,
	parallel int64) (*route, error) {
	target, err := bucket.Open(ctx, region, destination, bucket.Options{
		Connections: int(parallel), Silence: silence, Advice: advice})
	if err != nil {
		return nil, err
	}
	origin, err := bucket.Open(ctx, region, source, bucket.Options{Connections: sourcesAtOnce,
		Advice: advice})
	if err != nil {
		return nil, err
	}
	made, err := newCopier(ctx, source, target)
	return &route{origin, target, made}, err
}

// patiently returns the bucket for listing and reading, as patient with SlowDown as the copies are.
func (p Policy) patiently(b *bucket.Bucket) *bucket.Bucket {
	made := *b
	made.Retry.Patient = p.Pace == Adaptive
	return &made
}

// read returns a small object.
func read(ctx context.Context, b *bucket.Bucket, seen *observed, key string) (text string,
	err error) {
	err = b.Do(ctx, seen, "GetObject", func() error {
		body, _, err := b.Get(ctx, bucket.Span{Key: key, Last: bucket.Whole})
		if err != nil {
			return err
		}
		defer body.Close()
		whole, err := io.ReadAll(body)
		text = string(whole)
		return err
	})
	return text, err
}

// empty deletes everything below the destination's prefix, page by page of the listing, and checks
// that nothing is left.
func (j *job) empty(ctx context.Context) error {
	began, to := time.Now(), j.patiently(j.to)
	defer func() { j.seen.emptying.Store(int64(time.Since(began))) }()
	pages := func(ctx context.Context, give func([]types.Object) error) error {
		return to.List(ctx, j.seen, j.prefix, give)
	}
	if err := workers.Share(ctx, deletionsAtOnce, pages, j.delete); err != nil {
		return err
	}
	return pages(ctx, func(objects []types.Object) error {
		return failure.New(failure.DestinationNotEmpty,
			"the destination still has %.100q after it was emptied: stop what writes there, or "+
				"use a separate destination", *objects[0].Key)
	})
}

// delete deletes the objects of a page. It retries temporary errors, and SlowDown without a limit:
// several batches at once exceed a prefix's rate, and emptying isn't timed.
func (j *job) delete(ctx context.Context, objects []types.Object) error {
	keys := []types.ObjectIdentifier{}
	for _, object := range objects {
		keys = append(keys, types.ObjectIdentifier{Key: object.Key})
	}
	for len(keys) > 0 {
		err := j.to.Do(ctx, j.seen, deleteObjects, func() error {
			batch := &types.Delete{Quiet: aws.Bool(true), Objects: keys}
			answer, err := j.to.Client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &j.to.Name,
				Delete: batch})
			if err != nil {
				return err
			}
			j.seen.emptied.Add(int64(len(keys) - len(answer.Errors)))
			keys = nil
			for _, refused := range answer.Errors {
				code := aws.ToString(refused.Code)
				keys = append(keys, types.ObjectIdentifier{Key: refused.Key})
				err = j.to.Refused(bucket.Refusal{
					Operation: deleteObjects, Status: statusBefore[code], Code: code,
					Message: aws.ToString(refused.Message),
				})
			}
			return err
		})
		if err != nil && !isOf(err, failure.SlowDown) {
			return err
		}
	}
	return nil
}
