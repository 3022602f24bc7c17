package s3

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/url"

	"stampede/transfer/internal/failure"
)

// A page has at most 1,000 keys of at most 1,024 bytes, which escaping can make three times as long.
const longestPageBytes = 8 << 20

const listObjects = "ListObjectsV2"

// Listed is one object of a listing.
type Listed struct {
	Key  string `xml:"Key"`
	Size int64  `xml:"Size"`
	ETag string `xml:"ETag"`
}

type page struct {
	Contents              []Listed `xml:"Contents"`
	IsTruncated           bool     `xml:"IsTruncated"`
	NextContinuationToken string   `xml:"NextContinuationToken"`
}

// List calls found for every object whose key begins with prefix, in order of the keys.
func (c *Client) List(ctx context.Context, counted Counted, prefix string, found func(Listed) error) error {
	token := ""
	for {
		var read page
		err := c.Retry.Do(ctx, counted.CountRetry, func() (err error) {
			read, err = c.page(ctx, counted, prefix, token)
			return err
		})
		if err != nil {
			return err
		}
		for _, listed := range read.Contents {
			if err := found(listed); err != nil {
				return err
			}
		}
		if !read.IsTruncated {
			return nil
		}
		if read.NextContinuationToken == "" || read.NextContinuationToken == token {
			return failure.New(failure.S3, "the answer of ListObjectsV2 is truncated but has no continuation token")
		}
		token = read.NextContinuationToken
	}
}

func (c *Client) page(ctx context.Context, counted Counted, prefix, token string) (page, error) {
	// url: XML can't hold every character that a key can.
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}
	if token != "" {
		query.Set("continuation-token", token)
	}
	answer, err := c.send(ctx, counted, call{operation: listObjects, method: http.MethodGet, query: query})
	if err != nil {
		return page{}, err
	}
	if answer.Status >= 300 {
		return page{}, answer.refusal()
	}
	body, err := answer.all(longestPageBytes)
	if err != nil {
		return page{}, err
	}
	var read page
	if err := xml.Unmarshal(body, &read); err != nil {
		return page{}, failure.New(failure.S3, "the answer of ListObjectsV2 isn't a listing: %v", err)
	}
	for i, listed := range read.Contents {
		key, err := url.QueryUnescape(listed.Key)
		if err != nil {
			return page{}, failure.New(failure.S3, "ListObjectsV2 returned the key %q, which isn't URL-encoded as requested", listed.Key)
		}
		read.Contents[i].Key = key
	}
	return read, nil
}
