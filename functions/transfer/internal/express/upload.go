package express

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// upload puts every object of the slice, by one request each, or only those that aren't there.
func (s *slice) upload(ctx context.Context, onlyMissing bool) error {
	there := make([]bool, s.objectCount)
	if onlyMissing {
		if err := s.list(ctx, there); err != nil {
			return err
		}
	}
	return s.each(ctx, func(ctx context.Context, _, object int64) error {
		if there[object] {
			return nil
		}
		key, sum := s.key(object), binary.BigEndian.AppendUint32(nil, s.content(object).crc32())
		checksum := base64.StdEncoding.EncodeToString(sum)
		return s.timed(ctx, "PutObject", func() error {
			_, err := s.bucket.Client.PutObject(ctx, &s3.PutObjectInput{
				Bucket: &s.bucket.Name, Key: &key, Body: s.content(object), ContentLength: &s.objectBytes, ChecksumCRC32: &checksum,
			}, unsignedBody)
			return err
		})
	})
}

// unsignedBody leaves the SHA-256 of the body out of the signature, as the SDK does with TLS: the CRC-32 that S3 checks is among
// the signed headers.
func unsignedBody(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}

// list marks what is there of the slice's set, with the right size. It relies on no order of the keys: directory buckets list in
// none, and give pages that are empty.
func (s *slice) list(ctx context.Context, there []bool) error {
	prefix := s.prefix()
	pages := s3.NewListObjectsV2Paginator(s.bucket.Client, &s3.ListObjectsV2Input{Bucket: &s.bucket.Name, Prefix: &prefix})
	for pages.HasMorePages() {
		var page *s3.ListObjectsV2Output
		err := s.bucket.Do(ctx, s.seen, "ListObjectsV2", func() (err error) {
			page, err = pages.NextPage(ctx)
			return err
		})
		if err != nil {
			return err
		}
		for _, listed := range page.Contents {
			if listed.Key == nil || listed.Size == nil || *listed.Size != s.objectBytes {
				continue
			}
			number, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(*listed.Key, prefix), ".json"), 10, 64)
			if err == nil && number >= 0 && number < s.objectCount && s.key(number) == *listed.Key {
				there[number] = true
			}
		}
	}
	return nil
}
