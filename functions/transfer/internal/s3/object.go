package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"stampede/transfer/internal/failure"
)

// Whole is the Last of a GET without a range.
const Whole = -1

// Get asks for an object or for its bytes First to Last. IfMatch is the ETag that the object must still have ("" for
// any).
type Get struct {
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
var ErrNoBytes = errors.New("the object is empty, so it has no ranges")

// Get makes one try. The answer's body is the bytes asked for, or fewer where the object ends before Last.
func (c *Client) Get(ctx context.Context, counted Counted, get Get) (*Answer, Object, error) {
	header := http.Header{"Accept-Encoding": {"identity"}}
	if get.IfMatch != "" {
		header.Set("If-Match", get.IfMatch)
	}
	wanted := http.StatusOK
	if get.Last != Whole {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", get.First, get.Last))
		wanted = http.StatusPartialContent
	}
	answer, err := c.send(ctx, counted, call{operation: "GetObject", method: http.MethodGet, key: get.Key, header: header})
	if err != nil {
		return nil, Object{}, err
	}
	if answer.Status >= 300 {
		return nil, Object{}, answer.refusalOf(get)
	}
	object, err := objectOf(answer, get, wanted)
	if err != nil {
		answer.Close()
		return nil, Object{}, err
	}
	return answer, object, nil
}

// refusalOf tells the empty object from what else S3 may refuse.
func (a *Answer) refusalOf(get Get) error {
	err := a.refusal()
	if a.Status == http.StatusRequestedRangeNotSatisfiable && get.First == 0 {
		return ErrNoBytes
	}
	return err
}

// objectOf checks that the answer is the one asked for: a server that ignores Range or If-Match would otherwise give a
// file of the right size and the wrong bytes.
func objectOf(answer *Answer, get Get, wanted int) (Object, error) {
	object := Object{ETag: answer.Header.Get("Etag"), Bytes: answer.Left}
	if answer.Status != wanted || answer.Left < 0 || object.ETag == "" {
		return object, failure.New(failure.S3, "GetObject %d with length %d and ETag %q instead of %d with both: this server isn't compatible with S3",
			answer.Status, answer.Left, object.ETag, wanted)
	}
	if get.IfMatch != "" && object.ETag != get.IfMatch {
		return object, failure.New(failure.ObjectChanged, "%s", byStatus[412].advice)
	}
	if wanted == http.StatusOK {
		return object, nil
	}
	first, total, ok := contentRange(answer.Header.Get("Content-Range"))
	if !ok || first != get.First || answer.Left != min(get.Last+1, total)-first {
		return object, failure.New(failure.SizeMismatch, "requested bytes %d-%d, but S3 announced %d bytes as %q",
			get.First, get.Last, answer.Left, answer.Header.Get("Content-Range"))
	}
	object.Bytes = total
	return object, nil
}

// contentRange reads "bytes 0-99/1000".
func contentRange(text string) (first, total int64, ok bool) {
	span, size, found := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	start, _, dashed := strings.Cut(span, "-")
	first, errFirst := strconv.ParseInt(start, 10, 64)
	total, errTotal := strconv.ParseInt(size, 10, 64)
	return first, total, found && dashed && errFirst == nil && errTotal == nil && first >= 0
}
