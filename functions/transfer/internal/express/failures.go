package express

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
	"stampede/transfer/internal/s3"
)

type known struct{ kind, advice string }

const createSession = "CreateSession"

// byStatus is what the reader can do, by the HTTP status of a request that S3 refused; byCode, by its error code, comes first.
var (
	byStatus = map[int]known{
		http.StatusForbidden: {failure.AccessDenied, "the role may not do this, or an object to download doesn't exist (without s3:ListBucket " +
			"S3 answers 403 for that too): seed the set (stampede dataset), or check the policies of role and bucket and the mode of the role's sessions"},
		http.StatusNotFound:           {failure.NoSuchKey, "the object doesn't exist: seed the set first (stampede dataset)"},
		http.StatusPreconditionFailed: {failure.ObjectChanged, "the object was replaced while it was read: don't change it during a run"},
		http.StatusServiceUnavailable: {failure.SlowDown, "S3 throttled every attempt: lower parallel_limit or the concurrency"},
	}
	byCode = map[string]known{
		"NoSuchBucket": {failure.NoSuchBucket, "the bucket doesn't exist in this region: check BUCKET_NAME or EXPRESS_BUCKET_NAME, and that " +
			"AWS_REGION is the bucket's region"},
		"BadDigest": {failure.ChecksumMismatch, "S3 received different bytes than were sent: try again"},
	}
	ofSession = map[int]known{
		http.StatusForbidden: {failure.AccessDenied, "the role may not open a session with the directory bucket: it needs s3express:CreateSession " +
			"on it, for the requested mode (s3express:SessionMode)"},
		http.StatusNotFound: {failure.NoSuchBucket, "there is no such directory bucket in this zone: check EXPRESS_BUCKET_NAME, and that its zone " +
			"(the part before --x-s3) is in AWS_REGION"},
	}
)

// explain turns an error of the SDK into one of ours.
func (b *bucket) explain(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ours *failure.Error
	var refused *smithyhttp.ResponseError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &refused) && refused.HTTPStatusCode() >= 300:
		return refusal(operation, refused.HTTPStatusCode(), err)
	case strings.Contains(err.Error(), "checksum did not match"): // the SDK's type isn't exported
		return failure.New(failure.ChecksumMismatch, "%s: the bytes received don't match the checksum that S3 stores: try again", operation)
	}
	var unreadable *smithy.DeserializationError
	if errors.As(err, &unreadable) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return failure.New(failure.S3, "%s: the answer isn't S3's: %v", operation, unreadable.Err)
	}
	return b.ofNetwork(operation, err)
}

func refusal(operation string, status int, err error) *failure.Error {
	var said smithy.APIError
	code, message := "", ""
	if errors.As(err, &said) {
		code, message = said.ErrorCode(), said.ErrorMessage()
	}
	named, ok := ofSession[status]
	if ok = ok && operation == createSession; !ok {
		named, ok = byCode[code]
	}
	if !ok {
		named, ok = byStatus[status]
	}
	switch {
	case expired(code):
		named = known{failure.NoCredentials, "the credentials have expired, and so have their replacements"}
	case status == http.StatusMovedPermanently || code == "AuthorizationHeaderMalformed" || code == "IllegalLocationConstraintException":
		named = known{failure.Settings, "the bucket is in another region than AWS_REGION: " + message}
	case !ok:
		named = known{failure.S3, message}
	}
	refused := failure.New(named.kind, "%s %d%s: %s", operation, status, strings.TrimRight(" "+code, " "), named.advice)
	refused.Temporary = retry.Passing(status, code) && named.kind != failure.Settings
	return refused
}

// ofNetwork names what ended a request without an answer.
func (b *bucket) ofNetwork(operation string, err error) *failure.Error {
	var dialing *net.OpError
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound && b.sessions != nil:
		return failure.New(failure.NoConnection, "%s: no host %s: the zone in EXPRESS_BUCKET_NAME must be one of AWS_REGION that has S3 Express "+
			"One Zone", operation, unknown.Name)
	case errors.As(err, &dialing) && dialing.Op == "dial", isTLS(err):
		return failure.Passing(failure.NoConnection, "%s: no connection: %v", operation, inner(err))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failure.Passing(failure.ReadTimeout, "%s: S3 sent no byte for %g s", operation, s3.ReadTimeout.Seconds())
	}
	return failure.Passing(failure.ConnectionCut, "%s: the connection ended before the answer did: %v", operation, inner(err))
}

func isTLS(err error) bool {
	return strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ") || strings.Contains(err.Error(), "TLS handshake")
}

// inner is the error that the SDK's layers wrap.
func inner(err error) error {
	var sent *smithyhttp.RequestSendError
	if errors.As(err, &sent) {
		return sent.Err
	}
	return err
}
