package copy

import (
	"context"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/workers"
)

const (
	listObjects   = "ListObjectsV2"
	deleteObjects = "DeleteObjects"
	headObject    = "HeadObject"
	// sourcesAtOnce are asked for at a time. The calls at once have the connections that the machine has file descriptors for,
	// 1,024 in Lambda: a second connection for each of them wouldn't open.
	sourcesAtOnce = 16
	// deletionsAtOnce is the batches of deleted keys under way: S3 counts each key against the 3,500 a second of a prefix.
	deletionsAtOnce = 4
	mostDeleted     = 1000
)

// advice is what the reader can do about a refusal.
var advice = map[string]string{
	copyObject + " " + failure.AccessDenied: "the role may not read the source, write the destination or use their KMS key, or the source " +
		"doesn't exist (without s3:ListBucket S3 answers 403 for a missing key too): check the role's policy and the key",
	copyObject + " " + failure.NoSuchKey:       "the source doesn't exist: check the key, or upload the object",
	copyObject + " " + failure.NoSuchBucket:    "the source or the destination bucket doesn't exist: check the names of both buckets",
	copyObject + " " + failure.SlowDown:        "S3 throttled every attempt: lower parallel_limit, cap calls_per_s, or use the adaptive pace",
	deleteObjects + " " + failure.AccessDenied: "the role may not delete in the destination bucket: it needs s3:DeleteObject there",
	headObject + " " + failure.AccessDenied: "the role may not compare the source with the object at the destination: it needs s3:GetObject on " +
		"both, and kms:Decrypt where they are encrypted with a KMS key",
	headObject + " " + failure.NoSuchKey:     "the source or the copy is gone: don't change either bucket during a run",
	listObjects + " " + failure.AccessDenied: "the role may not list the bucket, or another account owns the bucket: it needs s3:ListBucket",
}

// route is the way from one bucket to another. An error is of the type Settings.
type route struct {
	from, to *bucket.Bucket
	copier   *copier
}

func openRoute(ctx context.Context, from, to account.Given, source, destination string, options bucket.Options) (*route, error) {
	options.Silence, options.Advice = silence, advice
	target, err := bucket.Open(ctx, to, destination, options)
	if err != nil {
		return nil, err
	}
	options.Silence, options.Connections = 0, sourcesAtOnce
	origin, err := bucket.Open(ctx, from, source, options)
	if err != nil {
		return nil, err
	}
	made, err := newCopier(ctx, source, target)
	if err == nil && options.RequesterPays {
		made.header["X-Amz-Request-Payer"] = []string{"requester"}
	}
	return &route{origin, target, made}, err
}

// patiently returns the bucket for what a copy lists and reads besides its copies: as patient with SlowDown as they are.
func (p Policy) patiently(b *bucket.Bucket) *bucket.Bucket {
	if p.Pace == Adaptive {
		return b.Patiently()
	}
	return b
}

// list calls take for every object whose key begins with prefix, in order of the keys.
func list(ctx context.Context, b *bucket.Bucket, seen *observed, prefix string, take func(key string, object types.Object) error) error {
	// url: XML can't hold every character that a key can.
	pages := s3.NewListObjectsV2Paginator(b.Client, &s3.ListObjectsV2Input{Bucket: &b.Name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl})
	for pages.HasMorePages() {
		var page *s3.ListObjectsV2Output
		err := b.Do(ctx, seen, listObjects, func() (err error) {
			page, err = pages.NextPage(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if page.IsTruncated == nil || *page.IsTruncated != pages.HasMorePages() {
			return failure.New(failure.S3, "the answer of ListObjectsV2 isn't a whole listing: it doesn't say whether or where it goes on")
		}
		for _, object := range page.Contents {
			key, err := url.QueryUnescape(aws.ToString(object.Key))
			if err != nil || !strings.HasPrefix(key, prefix) {
				return failure.New(failure.S3, "ListObjectsV2 returned the key %.100q for the prefix %q, or not URL-encoded as requested",
					aws.ToString(object.Key), prefix)
			}
			if err := take(key, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns a small object.
func read(ctx context.Context, b *bucket.Bucket, seen *observed, key string) (text string, err error) {
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

// empty deletes everything below a prefix, and looks whether that is so.
func empty(ctx context.Context, b *bucket.Bucket, seen *observed, prefix string) error {
	began := seen.sinceBegan()
	defer func() { seen.emptying.Store(int64(seen.sinceBegan() - began)) }()
	if err := deleteBelow(ctx, b, seen, prefix); err != nil {
		return err
	}
	return list(ctx, b, seen, prefix, func(key string, _ types.Object) error {
		return failure.New(failure.DestinationNotEmpty, "the destination still has %.100q after it was emptied: another program writes there, or the "+
			"object can't be deleted; stop that program, or use a separate destination", key)
	})
}

// deleteBelow lists and deletes at the same time.
func deleteBelow(ctx context.Context, b *bucket.Bucket, seen *observed, prefix string) error {
	batches := make(chan []string)
	return workers.Run(ctx, 1+deletionsAtOnce, func(ctx context.Context, worker int64) error {
		if worker == 0 {
			defer close(batches)
			return batch(ctx, b, seen, prefix, batches)
		}
		for keys := range batches {
			if err := deleteKeys(ctx, b, seen, keys); err != nil {
				return err
			}
		}
		return nil
	})
}

// batch sends the keys below a prefix, as many at a time as one request deletes.
func batch(ctx context.Context, b *bucket.Bucket, seen *observed, prefix string, batches chan<- []string) error {
	var keys []string
	send := func() error {
		select {
		case batches <- keys:
			keys = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := list(ctx, b, seen, prefix, func(key string, _ types.Object) error {
		if keys = append(keys, key); len(keys) == mostDeleted {
			return send()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send()
}

// deleteKeys deletes one batch; what S3 refuses in passing is tried again, and what it wants slower for as long as it does: several
// batches at once are more than a prefix takes, and no time is taken of it.
func deleteKeys(ctx context.Context, b *bucket.Bucket, seen *observed, keys []string) error {
	for len(keys) > 0 {
		err := b.Do(ctx, seen, deleteObjects, func() (err error) {
			before := len(keys)
			keys, err = deleteOnce(ctx, b, keys)
			seen.emptied.Add(int64(before - len(keys)))
			return err
		})
		if err != nil && !isOf(err, failure.SlowDown) {
			return err
		}
	}
	return nil
}

// deleteOnce returns the keys that S3 refused to delete, with the first refusal as the error; after any other error all.
func deleteOnce(ctx context.Context, b *bucket.Bucket, keys []string) (refused []string, err error) {
	batch := &types.Delete{Quiet: aws.Bool(true)}
	for _, key := range keys {
		batch.Objects = append(batch.Objects, types.ObjectIdentifier{Key: &key})
	}
	answer, err := b.Client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.Name, Delete: batch})
	if err != nil {
		return keys, err
	}
	for _, object := range slices.Backward(answer.Errors) {
		code := aws.ToString(object.Code)
		refused = append(refused, aws.ToString(object.Key))
		err = b.Refused(bucket.Refusal{Operation: deleteObjects, Status: statusBefore[code], Code: code, Message: aws.ToString(object.Message)})
	}
	return refused, err
}
