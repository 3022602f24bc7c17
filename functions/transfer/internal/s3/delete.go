package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
)

const (
	deleteObjects = "DeleteObjects"
	// DeleteKeys is the most keys that one DeleteObjects takes.
	DeleteKeys = 1000
)

// Delete makes one try to delete up to DeleteKeys objects. Keys that S3 refused come back in left, with the first refusal as
// the error; after any other error all of them are left.
func (c *Client) Delete(ctx context.Context, counted Counted, keys []string) (left []string, err error) {
	body := deletion(keys)
	sum := md5.Sum(body) // S3 asks for a sum of this body; it takes CRC32 and SHA too, but every server takes this one
	answer, err := c.send(ctx, counted, call{
		operation: deleteObjects, method: http.MethodPost, query: url.Values{"delete": {""}}, body: body,
		header: http.Header{"Content-Md5": {base64.StdEncoding.EncodeToString(sum[:])}, "Content-Type": {"application/xml"}},
	})
	if err != nil {
		return keys, err
	}
	if answer.Status >= 300 {
		return keys, answer.refusal()
	}
	told, err := answer.all(longestPageBytes)
	if err != nil {
		return keys, err
	}
	return refusedKeys(told, keys)
}

// refusedKeys reads the answer, in which Quiet leaves out whatever was deleted.
func refusedKeys(answer []byte, keys []string) ([]string, error) {
	var read struct {
		XMLName xml.Name                              `xml:"DeleteResult"`
		Errors  []struct{ Key, Code, Message string } `xml:"Error"`
	}
	if err := xml.Unmarshal(answer, &read); err != nil {
		return keys, failure.New(failure.S3, "DeleteObjects returned no result: %v", err)
	}
	var left []string
	var first *failure.Error
	for _, refused := range read.Errors {
		left = append(left, refused.Key)
		if first == nil {
			kind := map[string]string{"AccessDenied": failure.AccessDenied, "SlowDown": failure.SlowDown}[refused.Code]
			if kind == "" {
				kind = failure.S3
			}
			first = failure.New(kind, "DeleteObjects %s of %q: %s", refused.Code, refused.Key, refused.Message)
			first.Temporary = retry.Passing(200, refused.Code) || refused.Code == "InternalError"
		}
	}
	if first == nil {
		return nil, nil
	}
	return left, first
}

// Deletable tells whether XML, and so DeleteObjects, can hold the key: S3 allows control characters in keys, XML 1.0 doesn't.
func Deletable(key string) bool {
	return strings.IndexFunc(key, func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	}) < 0
}

func deletion(keys []string) []byte {
	var b bytes.Buffer
	b.WriteString(`<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>`)
	for _, key := range keys {
		b.WriteString("<Object><Key>")
		_ = xml.EscapeText(&b, []byte(key)) // a buffer takes everything
		b.WriteString("</Key></Object>")
	}
	b.WriteString("</Delete>")
	return b.Bytes()
}

// DeleteOne makes one try to delete one object, whatever its key is made of.
func (c *Client) DeleteOne(ctx context.Context, counted Counted, key string) error {
	answer, err := c.send(ctx, counted, call{operation: "DeleteObject", method: http.MethodDelete, key: key})
	if err != nil {
		return err
	}
	if answer.Status >= 300 {
		return answer.refusal()
	}
	_, err = answer.all(longestErrorBytes)
	return err
}
