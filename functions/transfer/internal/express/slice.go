package express

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/tempfile"
	"stampede/transfer/internal/workers"
)

// bufferBytes is the most that is read before it is written.
const bufferBytes = 128 << 10

// slice is the objects of an order, to upload or download.
type slice struct {
	*order
	bucket *bucket.Bucket
	seen   *seen
	there  []bool // by object: exists and isn't uploaded again; nil without a listing
}

func (s *slice) workers() int64 { return min(s.Parallel, s.Objects) }

// each moves every object of the slice with several workers, numbered from 0. prepare returns the
// timed attempt.
func (s *slice) each(
	ctx context.Context, operation string,
	prepare func(ctx context.Context, worker, object int64) (once func() error),
) error {
	var next atomic.Int64
	s.seen.Begin()
	defer s.seen.End()
	return workers.Run(ctx, s.workers(), func(ctx context.Context, worker int64) error {
		for i := next.Add(1) - 1; i < s.Objects && ctx.Err() == nil; i = next.Add(1) - 1 {
			if s.there != nil && s.there[s.FirstObject+i] {
				continue
			}
			once, began := prepare(ctx, worker, s.FirstObject+i), time.Now()
			if err := s.bucket.Do(ctx, s.seen, operation, once); err != nil {
				return err
			}
			s.seen.done(time.Since(began), s.objectBytes)
		}
		return nil
	})
}

// upload puts every object of the slice, one request each.
func (s *slice) upload(ctx context.Context) error {
	return s.each(ctx, "PutObject", func(ctx context.Context, _, object int64) func() error {
		key, sum := s.key(object), binary.BigEndian.AppendUint32(nil, checksum(s.content(object)))
		text := base64.StdEncoding.EncodeToString(sum)
		return func() error {
			body := s.content(object)
			_, err := s.bucket.Client.PutObject(ctx, &s3.PutObjectInput{
				Bucket: &s.bucket.Name, Key: &key, Body: &body, ContentLength: &s.objectBytes,
				ChecksumCRC32: &text,
			}, unsignedBody)
			return err
		}
	})
}

// unsignedBody leaves the SHA-256 of the body out of the signature, as the SDK does with TLS. The
// CRC-32, which S3 checks, is in a signed header.
func unsignedBody(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}

// list marks the objects of the set that exist with the right size. The keys may come in any order,
// as from directory buckets.
func (s *slice) list(ctx context.Context) error {
	s.there = make([]bool, s.objectCount)
	return s.bucket.List(ctx, s.seen, s.prefix(), func(objects []types.Object) error {
		for _, object := range objects {
			var number uint64
			_, _ = fmt.Sscanf(*object.Key, s.prefix()+"%d.json", &number)
			if number < uint64(s.objectCount) && s.key(int64(number)) == *object.Key &&
				aws.ToInt64(object.Size) == s.objectBytes {
				s.there[number] = true
			}
		}
		return nil
	})
}

// download gets every object of the slice into one temporary file, in which each worker overwrites
// its own place: besides the connections, a sandbox has few file descriptors.
func (s *slice) download(ctx context.Context) error {
	file, err := tempfile.New()
	if err != nil {
		return failure.OfFile(err)
	}
	defer file.Close() // WriteAt has reported every error
	if free, err := tempfile.Room(file); err != nil || free/s.workers() < s.objectBytes {
		return failure.New(failure.NoSpace, "%d objects of %d bytes at a time don't fit into "+
			"the %d bytes left in the temporary folder: raise ephemeral_storage_mb or lower "+
			"parallel_limit", s.workers(), s.objectBytes, free)
	}
	buffers := make([][]byte, s.workers())
	for i := range buffers {
		buffers[i] = make([]byte, min(bufferBytes, s.objectBytes))
	}
	return s.each(ctx, "GetObject", func(ctx context.Context, worker, object int64) func() error {
		key, sum := s.key(object), checksum(s.content(object))
		return func() error {
			return s.get(ctx, key, sum, io.NewOffsetWriter(file, worker*s.objectBytes),
				buffers[worker])
		}
	})
}

// get writes an object to its place. It reads to the end, where the SDK compares S3's checksum.
func (s *slice) get(
	ctx context.Context, key string, sum uint32, place io.Writer, buffer []byte,
) error {
	answer, err := s.bucket.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket.Name,
		Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	digest := crc32.NewIEEE()
	received, err := io.CopyBuffer(io.MultiWriter(place, digest), answer.Body, buffer)
	switch {
	case errors.As(err, new(*fs.PathError)):
		return failure.OfFile(err)
	case err != nil:
		return err
	case received != s.objectBytes:
		return failure.New(failure.SizeMismatch, "%s has %d bytes instead of %d: seed the set "+
			"again", key, received, s.objectBytes)
	case digest.Sum32() != sum:
		return failure.New(failure.ObjectChanged,
			"%s isn't what was uploaded: delete it, seed the set again, and don't change it "+
				"during a run", key)
	}
	return nil
}
