package copy

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
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
	noSourceAdvice  = "the source doesn't exist: check the key, or upload the object"
)

// advice is what the reader can do about a refusal.
var advice = map[string]string{
	copyObject + " " + failure.AccessDenied: "the role may not read the source, write the destination or use their KMS key, or the source " +
		"doesn't exist (without s3:ListBucket S3 answers 403 for a missing key too): check the role's policy and the key",
	copyObject + " " + failure.NoSuchKey:       noSourceAdvice,
	copyObject + " " + failure.NoSuchBucket:    "the source or the destination bucket doesn't exist: check the names of both buckets",
	copyObject + " " + failure.SlowDown:        "S3 throttled every attempt: lower parallel_limit, cap calls_per_s, or use the adaptive pace",
	deleteObjects + " " + failure.AccessDenied: "the role may not delete in the destination bucket: it needs s3:DeleteObject there",
	headObject + " " + failure.S3: "a HEAD gets no reason from S3: the credentials have expired, or the object is encrypted with a " +
		"customer-provided key (SSE-C)",
	headObject + " " + failure.AccessDenied: "the role may not compare the source with the object at the destination: it needs s3:GetObject on " +
		"both, and kms:Decrypt where they are encrypted with a KMS key",
	headObject + " " + failure.NoSuchKey:     "the object was deleted while it was compared: don't change either bucket during a run",
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
	options.Advice = maps.Clone(advice)
	options.Advice[headObject+" "+failure.NoSuchKey] = noSourceAdvice
	origin, err := bucket.Open(ctx, from, source, options)
	if err != nil {
		return nil, err
	}
	made, err := newCopier(ctx, source, target)
	if err != nil {
		return nil, err
	}
	made.requesterPays = options.RequesterPays
	return &route{origin, target, made}, nil
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
	asked := &s3.ListObjectsV2Input{Bucket: &b.Name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	for {
		var page *s3.ListObjectsV2Output
		err := b.Do(ctx, seen, listObjects, func() (err error) {
			page, err = b.Client.ListObjectsV2(ctx, asked)
			return err
		})
		if err != nil {
			return err
		}
		token, more := aws.ToString(page.NextContinuationToken), aws.ToBool(page.IsTruncated)
		if page.IsTruncated == nil || more && (token == "" || token == aws.ToString(asked.ContinuationToken)) {
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
		if !more {
			return nil
		}
		asked.ContinuationToken = &token
	}
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
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var deletions sync.WaitGroup
	turns := make(chan struct{}, deletionsAtOnce)
	remove := func(keys []string) {
		turns <- struct{}{}
		deletions.Add(1)
		go func() {
			defer deletions.Done()
			defer func() { <-turns }()
			if err := deleteKeys(ctx, b, seen, keys); err != nil {
				stop(err)
			}
		}()
	}
	var keys []string
	err := list(ctx, b, seen, prefix, func(key string, _ types.Object) error {
		if strings.ContainsFunc(key, notInXML) {
			remove([]string{key})
		} else if keys = append(keys, key); len(keys) == mostDeleted {
			remove(keys)
			keys = nil
		}
		return context.Cause(ctx)
	})
	if err == nil {
		remove(keys)
	}
	deletions.Wait()
	return cmp.Or(context.Cause(ctx), err)
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

// notInXML are the control characters, which S3 allows in keys and XML changes or forbids.
func notInXML(r rune) bool { return r < ' ' || r == 0xFFFE || r == 0xFFFF }

// deleteOnce returns the keys that S3 refused to delete, with the first refusal as the error; after any other error all.
func deleteOnce(ctx context.Context, b *bucket.Bucket, keys []string) (refused []string, err error) {
	if strings.ContainsFunc(keys[0], notInXML) { // it is alone
		if _, err := b.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Name, Key: &keys[0]}); err != nil {
			return keys, err
		}
		return nil, nil
	}
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
