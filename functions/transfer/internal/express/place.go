package express

import (
	"context"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"stampede/transfer/internal/failure"
)

// presence tells which objects of a set are in the bucket, with the right size: a bit each.
type presence struct{ bits []uint64 }

func (p *presence) has(object int64) bool {
	return p != nil && p.bits[object/64]&(1<<(object%64)) != 0
}

// list finds out what is there of the slice's set. It relies on no order of the keys: directory buckets list in none, and give
// pages that are empty.
func (s *slice) list(ctx context.Context) (*presence, error) {
	found, prefix := &presence{make([]uint64, (s.objectCount+63)/64)}, s.prefix()
	var token *string
	for {
		var page *sdk.ListObjectsV2Output
		err := s.bucket.do(ctx, s.seen, "ListObjectsV2", func() (err error) {
			page, err = s.bucket.client.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &s.bucket.name, Prefix: &prefix, ContinuationToken: token})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, one := range page.Contents {
			if one.Key == nil || one.Size == nil || *one.Size != s.objectBytes {
				continue
			}
			number, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(*one.Key, prefix), ".json"), 10, 64)
			if err == nil && number >= 0 && number < s.objectCount && s.key(number) == *one.Key {
				found.bits[number/64] |= 1 << (number % 64)
			}
		}
		if page.IsTruncated == nil || !*page.IsTruncated {
			return found, nil
		}
		if page.NextContinuationToken == nil || token != nil && *token == *page.NextContinuationToken {
			return nil, failure.New(failure.S3, "the answer of ListObjectsV2 is truncated but has no continuation token")
		}
		token = page.NextContinuationToken
	}
}
