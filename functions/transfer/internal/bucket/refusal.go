package bucket

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
)

const (
	createSession = "CreateSession"
	headObject    = "HeadObject"
	listObjects   = "ListObjectsV2"
)

// commonAdvice is what the reader can do, where Options say nothing else.
var commonAdvice = map[string]string{
	failure.AccessDenied: "the role may not do this, or the object doesn't exist (without s3:ListBucket S3 answers 403 for a missing " +
		"key too): check the policies of role and bucket, and the key",
	failure.NoSuchKey:        "the object doesn't exist: check the key, or upload the object",
	failure.NoSuchBucket:     "the bucket doesn't exist: check its name and region",
	failure.ObjectChanged:    "the object was replaced while it was read: don't change it during a run",
	failure.ChecksumMismatch: "S3 received different bytes than were sent: try again",
	failure.SlowDown:         "S3 throttled every attempt: lower the concurrency or wait for S3 to scale",
	createSession + " " + failure.AccessDenied: "the role may not open a session with the directory bucket: it needs " +
		"s3express:CreateSession on it, for the requested mode (s3express:SessionMode)",
	createSession + " " + failure.NoSuchBucket: "there is no such directory bucket in this zone: check EXPRESS_BUCKET_NAME, and that " +
		"its zone (the part before --x-s3) is in AWS_REGION",
}

// Refusal is an error that S3 answered. Region is that of the bucket, where S3 says it.
type Refusal struct {
	Operation             string
	Status                int
	Code, Message, Region string
}

var (
	ofStatus = map[int]string{
		http.StatusForbidden: failure.AccessDenied, http.StatusNotFound: failure.NoSuchKey,
		http.StatusPreconditionFailed: failure.ObjectChanged, http.StatusServiceUnavailable: failure.SlowDown,
	}
	ofCode = map[string]string{
		"NoSuchBucket": failure.NoSuchBucket, "BadDigest": failure.ChecksumMismatch,
		"ExpiredToken": failure.NoCredentials, "TokenRefreshRequired": failure.NoCredentials,
		"InvalidAccessKeyId": failure.NoCredentials, "SignatureDoesNotMatch": failure.NoCredentials, "InvalidToken": failure.NoCredentials,
		"RequestTimeTooSkewed": failure.Settings, "AuthorizationHeaderMalformed": failure.Settings,
		"IllegalLocationConstraintException": failure.Settings,
	}
)

func (r Refusal) kind() string {
	ofBucket := r.Operation == createSession || r.Operation == listObjects
	switch kind, ok := ofCode[r.Code]; {
	case ok:
		return kind
	case r.Status == http.StatusMovedPermanently:
		return failure.Settings
	case r.Status == http.StatusNotFound && ofBucket:
		return failure.NoSuchBucket
	}
	if kind, ok := ofStatus[r.Status]; ok {
		return kind
	}
	return failure.S3
}

// Refused names a refusal. Mended says that the same request may succeed when it is signed anew: with renewed credentials, or
// by the clock of S3.
func (b *Bucket) Refused(r Refusal) *failure.Error {
	kind := r.kind()
	advice := r.Message
	for _, key := range []string{kind, r.Operation + " " + kind} {
		if text, ok := b.advice[key]; ok {
			advice = text
		}
	}
	// A HEAD has no body to say it with.
	expired := r.Code == "ExpiredToken" || r.Code == "TokenRefreshRequired" || r.Operation == headObject && r.Status == http.StatusBadRequest
	skewed := r.Code == "RequestTimeTooSkewed"
	switch {
	case skewed:
		advice = "the clock of this machine differs from S3's by more than 15 minutes, and S3 refused the corrected time too: set the clock"
	case kind == failure.Settings && r.Region != "":
		advice = "the bucket " + b.Name + " is in " + r.Region + ": set AWS_REGION (by hand also --region) to that region"
	case kind == failure.Settings:
		advice = "the bucket " + b.Name + " is in another region than AWS_REGION: " + r.Message
	case kind == failure.NoCredentials && expired:
		advice = "the credentials have expired, and so have their replacements"
	case kind == failure.NoCredentials:
		advice = "S3 doesn't accept these credentials: check access key, secret key and session token, and that the endpoint is theirs"
	}
	refused := failure.New(kind, "%s %d%s: %s", r.Operation, r.Status, strings.TrimRight(" "+r.Code, " "), advice)
	refused.Mended = expired || skewed
	// A 408 is for the request before: it came while this one was sent.
	refused.Temporary = refused.Mended || retry.Passing(r.Status, r.Code) || r.Status == http.StatusRequestTimeout
	refused.Throttled = r.Code == failure.SlowDown
	refused.OfAll = kind == failure.Settings || kind == failure.NoCredentials
	return refused
}

// Explain turns an error of the SDK, or of the body of one of its answers, into a failure.Error; nil stays nil.
func (b *Bucket) Explain(ctx context.Context, operation string, err error) error {
	var failed *failure.Error
	var refused *smithyhttp.ResponseError
	var unreadable *smithy.DeserializationError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &refused) && refused.HTTPStatusCode() >= 300:
		answer := Refusal{Operation: operation, Status: refused.HTTPStatusCode(), Region: refused.Response.Header.Get("X-Amz-Bucket-Region")}
		var said smithy.APIError
		if errors.As(err, &said) {
			answer.Code, answer.Message = said.ErrorCode(), said.ErrorMessage()
		}
		return b.Refused(answer)
	case strings.Contains(err.Error(), "checksum did not match"): // the SDK's type isn't exported
		return failure.New(failure.ChecksumMismatch, "%s: the bytes received don't match the checksum that S3 stores: try again", operation)
	case errors.As(err, &unreadable) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrDeadlineExceeded):
		return failure.New(failure.S3, "%s: the answer isn't S3's: %v", operation, unreadable.Err)
	}
	return b.ofNetwork(operation, err)
}

// ofNetwork names what ended a request without an answer.
func (b *Bucket) ofNetwork(operation string, err error) *failure.Error {
	var dialed *net.OpError
	var unknown *net.DNSError
	var sent *smithyhttp.RequestSendError
	if errors.As(err, &sent) {
		err = sent.Err
	}
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound && b.sessions != nil:
		return failure.New(failure.NoConnection, "%s: no host %s: the zone in EXPRESS_BUCKET_NAME must be one of AWS_REGION that has "+
			"S3 Express One Zone", operation, unknown.Name)
	case errors.As(err, &dialed) && (dialed.Op == "dial" || dialed.Op == "proxyconnect"), isTLS(err):
		return failure.Passing(failure.NoConnection, "%s: no connection: %v", operation, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failure.Passing(failure.ReadTimeout, "%s: S3 sent no byte for %g s", operation, b.Transport.silence.Seconds())
	}
	return failure.Passing(failure.ConnectionCut, "%s: the connection ended before the answer did: %v", operation, err)
}

func isTLS(err error) bool {
	text := err.Error()
	return strings.Contains(text, "tls: ") || strings.Contains(text, "x509: ") || strings.Contains(text, "TLS handshake")
}
