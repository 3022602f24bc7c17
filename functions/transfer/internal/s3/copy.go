package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"stampede/transfer/internal/failure"
)

const (
	copyObject = "CopyObject"
	// LargestCopyBytes is the most that one CopyObject takes: 5 GB in the words of its documentation, this in S3's error.
	LargestCopyBytes = 5 << 30
	// TooLargeAdvice is the fix for a larger object.
	TooLargeAdvice = "one CopyObject takes at most 5 GB: copy it in parts (UploadPartCopy), as \"aws s3 cp\" does; copies by S3 " +
		"Batch Operations have the same limit"
)

// passingBehind200 are the codes of a copy that failed after its 200 and may succeed when it is made again; before it, their
// status says so.
var passingBehind200 = []string{"InternalError", "ServiceUnavailable", "ConditionalRequestConflict", "OperationAborted"}

// ErrExists says that an object has the destination's key, so nothing was copied.
var ErrExists = errors.New("CopyObject 412 PreconditionFailed: the destination exists")

// Copy makes one try to copy an object of a bucket to a key of this one, server-side, unless the key is taken: then the error
// is ErrExists. S3 may also answer 200 and then an error; that is an error. resent says that the request went out a second time,
// on a fresh connection: whatever the second was answered, S3 may have carried out the first.
func (c *Client) Copy(ctx context.Context, counted Counted, sourceBucket, sourceKey, key string) (resent bool, err error) {
	header := http.Header{
		"X-Amz-Copy-Source": {"/" + escape(sourceBucket, false) + "/" + escape(sourceKey, true)},
		"If-None-Match":     {"*"},
	}
	if c.StorageClass != "" {
		header.Set("X-Amz-Storage-Class", c.StorageClass)
	}
	answer, err := c.send(ctx, counted, call{operation: copyObject, method: http.MethodPut, key: key, header: header})
	if err != nil {
		return false, err
	}
	body, err := answer.all(longestErrorBytes)
	switch {
	case err != nil:
	case answer.Status == http.StatusPreconditionFailed, answer.Status < 300 && bytes.Contains(body, []byte("<Code>PreconditionFailed</Code>")):
		err = ErrExists
	case answer.Status >= 300 || bytes.Contains(body, []byte("<Error>")):
		err = answer.refused(body)
	case bytes.Contains(body, []byte("</CopyObjectResult>")):
	case len(bytes.TrimSpace(body)) == 0 || bytes.Contains(body, []byte("<CopyObjectResult")):
		err = failure.Passing(failure.S3, "CopyObject %d ended before its result: whether S3 made the copy isn't known", answer.Status)
	default:
		err = failure.New(failure.S3, "CopyObject %d without a result: this server isn't compatible with S3", answer.Status)
	}
	return answer.resent, err
}

// refusedCopy names what only a copy can be refused for.
func refusedCopy(refused *failure.Error, status int, said told) {
	switch {
	case said.Code == "NoSuchBucket":
		refused.Type, refused.Message = failure.NoSuchBucket, "CopyObject 404 NoSuchBucket: the source or the destination bucket doesn't exist: "+
			"check the names of both buckets"
	case said.Code == "InvalidRequest" && strings.Contains(said.Message, "maximum allowable size for a copy source"):
		refused.Type, refused.Message = failure.ObjectTooLarge, "CopyObject 400 InvalidRequest: "+TooLargeAdvice
	case said.Code == "InvalidObjectState":
		refused.Type, refused.Message = failure.ObjectArchived, "CopyObject 403 InvalidObjectState: the source is archived (S3 Glacier, Deep Archive "+
			"or an archive tier): restore it before it is copied"
	case status == http.StatusServiceUnavailable && said.Code != failure.SlowDown: // of S3 in trouble, or of a proxy
		refused.Type = failure.S3
		refused.Message = fmt.Sprintf("CopyObject %s, which isn't S3's SlowDown: S3, or a proxy before it, couldn't answer; try again later",
			strings.TrimSpace("503 "+said.Code))
	case status == http.StatusConflict: // ConditionalRequestConflict, OperationAborted: another request for this key was under way
		refused.Temporary = true
	case status == http.StatusOK: // the error came after the 200
		refused.Temporary = refused.Temporary || slices.Contains(passingBehind200, said.Code)
		if said.Code == "SlowDown" {
			refused.Type, refused.Message = failure.SlowDown, byOperation[copyObject][503].advice
		}
	}
}

// OutcomeUnknown tells whether S3 may have done what this error says nothing about.
func OutcomeUnknown(err error) bool {
	var known *failure.Error
	if !errors.As(err, &known) {
		return false
	}
	return known.Type == failure.ConnectionCut || known.Type == failure.ReadTimeout || known.Type == failure.S3 && known.Temporary
}
