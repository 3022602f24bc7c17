package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
)

const (
	createSession = "CreateSession"
	expired       = "ExpiredToken"
	refresh       = "TokenRefreshRequired"
	skewed        = "RequestTimeTooSkewed"
)

// commonAdvice says what to do about a refusal, unless Options do.
var commonAdvice = map[string]string{
	failure.AccessDenied: "the role may not do this, or the object doesn't exist: check the " +
		"role's policy and the key, or seed the data (stampede dataset)",
	failure.NoSuchKey: "the object doesn't exist: check the key, or seed the data first " +
		"(stampede dataset)",
	failure.NoSuchBucket: "the bucket doesn't exist: check its name, and that AWS_REGION is " +
		"its region",
	failure.ObjectChanged: "the object was replaced while it was read: don't change it " +
		"during a run",
	failure.ChecksumMismatch: "S3 received different bytes than were sent: try again",
	failure.SlowDown: "S3 throttled every attempt: lower parallel_limit or the " +
		"concurrency, or use an adaptive pace",
	failure.NoCredentials: "S3 doesn't accept these credentials: check access key, secret " +
		"key, session token and endpoint",
	skewed:  "S3 refused the time of the request: set the clock of this machine",
	expired: "the credentials have expired, and so have their replacements",
	createSession + " " + failure.AccessDenied: "the role may not open a session with the " +
		"directory bucket: it needs s3express:CreateSession for the mode",
	createSession + " " + failure.NoSuchBucket: "there is no such directory bucket: check " +
		"EXPRESS_BUCKET_NAME and AWS_REGION",
}

// Refusal is an error that S3 answered. Region is the bucket's, if S3 names it.
type Refusal struct {
	Operation             string
	Status                int
	Code, Message, Region string
}

// Answer is the refusal without its message.
func (r Refusal) Answer() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", r.Operation, r.Status, r.Code))
}

var (
	ofStatus = map[int]string{
		301: failure.Settings, 403: failure.AccessDenied, 404: failure.NoSuchKey,
		412: failure.ObjectChanged, 503: failure.SlowDown,
	}
	ofCode = map[string]string{
		"NoSuchBucket": failure.NoSuchBucket, "BadDigest": failure.ChecksumMismatch,
		expired: failure.NoCredentials, refresh: failure.NoCredentials,
		"InvalidToken":       failure.NoCredentials,
		"InvalidAccessKeyId": failure.NoCredentials, "SignatureDoesNotMatch": failure.NoCredentials,
		skewed:                               failure.Settings,
		"AuthorizationHeaderMalformed":       failure.Settings,
		"IllegalLocationConstraintException": failure.Settings,
	}
	renewable = []string{expired, refresh}
)

// Refused turns a refusal into a failure. A 400 for a HEAD, which has no body, may mean that the
// credentials have expired.
func (b *Bucket) Refused(r Refusal) *failure.Error {
	kind, advice := cmp.Or(ofCode[r.Code], ofStatus[r.Status], failure.S3), r.Message
	if kind == failure.Settings {
		advice = fmt.Sprintf("the bucket %s is in %s: set AWS_REGION: %s", b.Name,
			cmp.Or(r.Region, "another region"), r.Message)
	}
	advice = cmp.Or(b.advice[r.Operation+" "+kind], b.advice[r.Code], b.advice[kind], advice)
	old := slices.Contains(renewable, r.Code) || strings.HasPrefix(r.Answer(), "HeadObject 400")
	return &failure.Error{
		Type: kind, Message: r.Answer() + ": " + advice, Expired: old,
		// A 408 answers the request before: it came while this one was sent.
		Temporary: old || retry.Passing(r.Status, r.Code) ||
			r.Status == http.StatusRequestTimeout,
		Throttled: r.Code == failure.SlowDown,
	}
}

// Explain turns an error of the SDK, or of an answer's body, into a failure.Error. nil stays nil.
func (b *Bucket) Explain(ctx context.Context, operation string, err error) error {
	var failed *failure.Error
	var refused *smithyhttp.ResponseError
	var said smithy.APIError
	var unreadable *smithy.DeserializationError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &refused) && refused.HTTPStatusCode() >= 300:
		answer := Refusal{Operation: operation, Status: refused.HTTPStatusCode(),
			Region: refused.Response.Header.Get("X-Amz-Bucket-Region")}
		if errors.As(err, &said) {
			answer.Code, answer.Message = said.ErrorCode(), said.ErrorMessage()
		}
		return b.Refused(answer)
	case strings.Contains(err.Error(), "checksum did not match"): // the SDK's type isn't exported
		return failure.New(failure.ChecksumMismatch,
			"%s: the bytes received don't match the checksum that S3 stores: try again", operation)
	case errors.As(err, &unreadable) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.Is(err, os.ErrDeadlineExceeded):
		return failure.New(failure.S3, "%s: the answer isn't S3's: %v", operation, unreadable.Err)
	}
	return b.ofNetwork(operation, err)
}

// ofNetwork turns a network error, which ended a request without an answer, into a failure.
func (b *Bucket) ofNetwork(operation string, err error) *failure.Error {
	var sent *smithyhttp.RequestSendError
	if errors.As(err, &sent) {
		err = sent.Err
	}
	switch {
	case slices.ContainsFunc(connecting,
		func(word string) bool { return strings.Contains(err.Error(), word) }):
		return failure.Passing(failure.NoConnection, "%s: no connection: %v", operation, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failure.Passing(failure.ReadTimeout, "%s: S3 sent no byte for %g s", operation,
			b.Transport.silence.Seconds())
	}
	return failure.Passing(failure.ConnectionCut,
		"%s: the connection ended before the answer did: %v", operation, err)
}

// connecting are words in the errors of failed connects. net/http has no type for most of them.
var connecting = []string{"dial tcp", "proxyconnect", "tls: ", "x509: ", "TLS handshake"}
