package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"stampede/transfer/internal/failure"
)

// Whole is the Last of a Span without an end: the whole object.
const Whole = -1

// Span is an object, or its bytes First to Last. IfMatch is the ETag that the object must still have, "" for any.
type Span struct {
	Key         string
	First, Last int64
	IfMatch     string
}

// Object is what an answer says of its object; Bytes is the size of the whole.
type Object struct {
	ETag  string
	Bytes int64
}

// ErrNoBytes says that a range was asked of an empty object.
var ErrNoBytes = failure.New(failure.S3, "the object is empty, so it has no ranges")

// Get asks for a span once, within Do. The body is the bytes asked for, or fewer where the object ends before Last; it ends with io.EOF
// only when it was whole, and must be closed. An answer that isn't the one asked for is an error: a server that ignores Range or
// If-Match would otherwise give the right size and the wrong bytes.
func (b *Bucket) Get(ctx context.Context, span Span) (io.ReadCloser, Object, error) {
	input := &s3.GetObjectInput{Bucket: &b.Name, Key: &span.Key}
	if span.IfMatch != "" {
		input.IfMatch = &span.IfMatch
	}
	if span.Last != Whole {
		input.Range = aws.String(fmt.Sprintf("bytes=%d-%d", span.First, span.Last))
	}
	answer, err := b.Client.GetObject(ctx, input)
	var refused *smithyhttp.ResponseError
	if errors.As(err, &refused) && refused.HTTPStatusCode() == http.StatusRequestedRangeNotSatisfiable && span.First == 0 {
		return nil, Object{}, ErrNoBytes
	}
	if err != nil {
		return nil, Object{}, err
	}
	object, err := b.check(span, answer)
	if err != nil {
		_ = answer.Body.Close()
	}
	return answer.Body, object, err
}

func (b *Bucket) check(s Span, answer *s3.GetObjectOutput) (Object, error) {
	object, ranged := Object{aws.ToString(answer.ETag), aws.ToInt64(answer.ContentLength)}, aws.ToString(answer.ContentRange)
	if answer.ContentLength == nil || object.ETag == "" || (ranged != "") != (s.Last != Whole) {
		return object, failure.New(failure.S3, "GetObject of bytes %d to %d returned the length %d, the ETag %q and the range %q: this server isn't "+
			"compatible with S3", s.First, s.Last, object.Bytes, object.ETag, ranged)
	}
	if s.IfMatch != "" && object.ETag != s.IfMatch {
		return object, failure.New(failure.ObjectChanged, "%s", b.advice[failure.ObjectChanged])
	}
	if s.Last == Whole {
		return object, nil
	}
	length := object.Bytes
	_, size, _ := strings.Cut(ranged, "/")
	object.Bytes, _ = strconv.ParseInt(size, 10, 64)
	last := min(s.Last, object.Bytes-1)
	if ranged != fmt.Sprintf("bytes %d-%d/%d", s.First, last, object.Bytes) || length != last-s.First+1 {
		return object, failure.New(failure.SizeMismatch, "requested bytes %d-%d, but S3 announced %d bytes as %q", s.First, s.Last, length, ranged)
	}
	return object, nil
}
