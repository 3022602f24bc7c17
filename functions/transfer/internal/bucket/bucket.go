// Package bucket is the SDK's client for one bucket, with what every operation needs: attempts by
// the agreed policy, all counted, credentials renewed once, a limit on silence, and S3's refusals
// in the words of error_type.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
)

const (
	// SDK names the SDK in records.
	SDK = aws.SDKName + " " + aws.SDKVersion
	// renewBefore is how long before its end a session is replaced. Sessions last five minutes.
	renewBefore = 20 * time.Second
)

// Options configure a bucket.
type Options struct {
	// Connections is the most open connections. All of them are kept for later.
	Connections int
	// BufferBytes is the size of a connection's read and write buffers; 0: 4 KiB.
	BufferBytes int
	// ReadAheadBytes is read at once from a TLS connection, for large bodies: crypto/tls by itself
	// asks the kernel for every record of 16 KiB, often twice, a fifth of a download's CPU.
	ReadAheadBytes int
	// Silence is the longest wait for a byte; 0: ReadTimeout.
	Silence time.Duration
	// RequesterPays accepts the charges of a bucket whose owner doesn't pay for requests.
	RequesterPays bool
	// SessionMode is for sessions with a directory bucket.
	SessionMode types.SessionMode
	// Advice says what to do about a refusal, by operation and error_type ("HeadObject NoSuchKey")
	// or else by error_type.
	Advice map[string]string
}

// Bucket is a client for one bucket. Many goroutines may use it at once.
type Bucket struct {
	Name, Region string
	// Client is for requests within Do. It doesn't retry by itself.
	Client *s3.Client
	// Transport carries Client's requests.
	Transport *Transport
	// Credentials are the account's. Requests to a directory bucket are signed with its session's.
	Credentials aws.CredentialsProvider
	Retry       retry.Policy

	advice   map[string]string
	renewing *sync.Mutex
	session  *session // nil for a general bucket
	mode     types.SessionMode
	counted  SessionCounter
}

// session is a session with a directory bucket. The SDK asks for its credentials at every request.
// If there are none, one goroutine calls CreateSession, however many ask.
type session struct{ *aws.CredentialsCache }

// Retrieve implements the SDK's ExpressCredentialsProvider.
func (s session) Retrieve(ctx context.Context, _ string) (aws.Credentials, error) {
	return s.CredentialsCache.Retrieve(ctx)
}

// Counter counts requests and retries.
type Counter interface {
	CountRequest()
	CountRetry()
}

// SessionCounter also counts requests for sessions, and how long each took.
type SessionCounter interface {
	Counter
	CountSession(took time.Duration)
}

// directoryName is the form of a directory bucket's name: S3 User Guide, "Directory bucket naming
// rules".
var directoryName = regexp.MustCompile(
	`^[a-z0-9][a-z0-9-]*--([a-z0-9]+(?:-[a-z0-9]+)*-az[0-9]+)--x-s3$`)

// IsDirectory reports whether the name is a directory bucket's.
func IsDirectory(name string) bool { return directoryName.MatchString(name) }

// server is the form of a server's address.
var server = regexp.MustCompile(`^https?://[^/?#]+/?$`)

// configure finds credentials, region and endpoint where AWS's own tools find them. A region that
// isn't "" comes first.
func configure(ctx context.Context, region string) (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return loaded, failure.New(failure.Settings,
			"the AWS configuration can't be read (AWS_CA_BUNDLE, AWS_PROFILE): %v", err)
	}
	if loaded.Region = cmp.Or(region, loaded.Region); loaded.Region == "" {
		return loaded, failure.New(failure.Settings, "no AWS region: set AWS_REGION")
	}
	endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), aws.ToString(loaded.BaseEndpoint))
	if loaded.BaseEndpoint = nil; endpoint == "" {
		return loaded, nil
	}
	if !server.MatchString(endpoint) {
		return loaded, failure.New(failure.Settings, "AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL "+
			"must be http://host:port or https://host:port, not %q", endpoint)
	}
	loaded.BaseEndpoint = &endpoint
	return loaded, nil
}

// Open makes the client of a bucket. Errors are of the type Settings. Missing credentials fail the
// first request.
func Open(ctx context.Context, region, name string, options Options) (*Bucket, error) {
	config, err := configure(ctx, region)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(aws.ToString(config.BaseEndpoint), "http:") {
		options.ReadAheadBytes = 0
	}
	b := &Bucket{
		Name: name, Region: config.Region, Credentials: config.Credentials,
		Transport: newTransport(config.HTTPClient, options),
		Retry:     retry.Policy{FirstPause: retry.FirstPause},
		advice:    maps.Clone(commonAdvice), renewing: &sync.Mutex{},
	}
	maps.Copy(b.advice, options.Advice)
	if IsDirectory(name) {
		b.mode = options.SessionMode
		create := aws.CredentialsProviderFunc(b.create)
		early := func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewBefore }
		b.session = &session{aws.NewCredentialsCache(create, early)}
	}
	b.Client = s3.NewFromConfig(config, func(o *s3.Options) {
		o.HTTPClient, o.UsePathStyle = b.Transport, config.BaseEndpoint != nil
		o.Retryer = aws.NopRetryer{}
		o.DisableS3ExpressSessionAuth = aws.Bool(false)
		if b.session != nil {
			o.ExpressCredentials = b.session
		}
		if options.RequesterPays {
			payer := smithyhttp.SetHeaderValue("X-Amz-Request-Payer", "requester")
			o.APIOptions = append(o.APIOptions, payer)
		}
		// Callers that want a checksum send it, or ask for S3's.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.ContinueHeaderThresholdBytes = -1
	})
	return b, nil
}

// Do makes one request by calling once, with retries. It counts every attempt, turns errors of the
// SDK, or of a body that once reads, into a failure.Error, and renews expired credentials once.
func (b *Bucket) Do(
	ctx context.Context, counted Counter, operation string, once func() error,
) error {
	return b.DoOn(ctx, counted, operation, func() bool { return false }, once)
}

// DoOn is Do for work that resumes where the last attempt ended: a failed attempt that made
// progress counts as the first again.
func (b *Bucket) DoOn(
	ctx context.Context, counted Counter, operation string, progressed func() bool,
	once func() error,
) error {
	renewed := false
	return b.Retry.DoOn(ctx, counted.CountRetry, progressed, func() error {
		used, err := b.Identify(ctx)
		if err != nil {
			return err
		}
		counted.CountRequest()
		err = b.Explain(ctx, operation, once())
		var failed *failure.Error
		if errors.As(err, &failed) && failed.Expired {
			if failed.Temporary = !renewed; failed.Temporary {
				b.Renew(ctx, used)
			}
			renewed = true
		}
		return err
	})
}

// signer returns what signs requests: the account's credentials or the session's.
func (b *Bucket) signer() aws.CredentialsProvider {
	if b.session != nil {
		return b.session.CredentialsCache
	}
	return b.Credentials
}

// Identify returns the credentials that sign the next request. The SDK gets the same ones, but its
// errors don't say why there are none.
func (b *Bucket) Identify(ctx context.Context) (aws.Credentials, error) {
	credentials, err := b.signer().Retrieve(ctx)
	if err != nil && !errors.As(err, new(*failure.Error)) {
		err = failure.New(failure.NoCredentials, "no AWS credentials found: %v", err)
	}
	return credentials, b.Explain(ctx, createSession, err)
}

// Renew replaces the refused credentials before the next request. If many requests are refused at
// once, only the first call does so.
func (b *Bucket) Renew(ctx context.Context, refused aws.Credentials) {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	cache, ok := b.signer().(interface{ Invalidate() })
	if current, err := b.signer().Retrieve(ctx); ok && err == nil &&
		current.SessionToken == refused.SessionToken {
		cache.Invalidate()
		_, _ = b.signer().Retrieve(ctx)
	}
}

// Prime opens a new session with a directory bucket before the first request, and counts it and all
// later ones. A general bucket needs none.
func (b *Bucket) Prime(ctx context.Context, counted SessionCounter) error {
	if b.session == nil {
		return nil
	}
	b.counted = counted
	b.session.Invalidate()
	_, err := b.Identify(ctx)
	return err
}

// create makes a session with a request that the account's credentials sign.
func (b *Bucket) create(ctx context.Context) (credentials aws.Credentials, err error) {
	account, input := *b, s3.CreateSessionInput{Bucket: &b.Name, SessionMode: b.mode}
	account.session = nil
	err = account.Do(ctx, b.counted, createSession, func() error {
		began := time.Now()
		answer, err := b.Client.CreateSession(ctx, &input)
		b.counted.CountSession(time.Since(began))
		if err != nil {
			return err
		}
		session := answer.Credentials
		if session == nil || session.SessionToken == nil || session.Expiration == nil {
			return failure.New(failure.S3, "CreateSession returned no credentials: this server "+
				"has no directory buckets")
		}
		credentials = aws.Credentials{
			AccessKeyID:     aws.ToString(session.AccessKeyId),
			SecretAccessKey: aws.ToString(session.SecretAccessKey),
			SessionToken:    *session.SessionToken, CanExpire: true, Expires: *session.Expiration,
		}
		return nil
	})
	return credentials, err
}

// Whole as a Span's Last stands for the whole object.
const Whole = -1

// Span is an object, or its bytes First to Last. IfMatch is the ETag that it must have; "": any.
type Span struct {
	Key         string
	First, Last int64
	IfMatch     string
}

// Object is what an answer says of its object. Bytes is the size of the whole object.
type Object struct {
	ETag  string
	Bytes int64
}

// ErrNoBytes is the error for a range of an empty object.
var ErrNoBytes = failure.New(failure.S3, "the object is empty, so it has no ranges")

// Get requests a span once, within Do. The body, which the caller must close, holds the requested
// bytes, or fewer if the object ends before Last. It ends with io.EOF only if it is whole. An
// answer to another request is an error: a server that ignores Range or If-Match would otherwise
// send the right size and the wrong bytes.
func (b *Bucket) Get(ctx context.Context, span Span) (io.ReadCloser, Object, error) {
	input := &s3.GetObjectInput{Bucket: &b.Name, Key: &span.Key}
	if span.IfMatch != "" {
		input.IfMatch = &span.IfMatch
	}
	if span.Last != Whole {
		input.Range = aws.String(fmt.Sprintf("bytes=%d-%d", span.First, span.Last))
	}
	answer, err := b.Client.GetObject(ctx, input)
	if err == nil {
		object, err := b.check(span, answer)
		if err != nil {
			_ = answer.Body.Close()
		}
		return answer.Body, object, err
	}
	var refused *smithyhttp.ResponseError
	if errors.As(err, &refused) &&
		refused.HTTPStatusCode() == http.StatusRequestedRangeNotSatisfiable && span.First == 0 {
		err = ErrNoBytes
	}
	return nil, Object{}, err
}

// check returns what an answer says of its object, and an error unless it answers the span.
func (b *Bucket) check(span Span, answer *s3.GetObjectOutput) (Object, error) {
	length, ranged := aws.ToInt64(answer.ContentLength), aws.ToString(answer.ContentRange)
	first, last, object := int64(0), length-1, Object{aws.ToString(answer.ETag), length}
	_, _ = fmt.Sscanf(ranged, "bytes %d-%d/%d", &first, &last, &object.Bytes)
	switch {
	case answer.ContentLength == nil || object.ETag == "" || (ranged != "") != (span.Last != Whole):
		return object, failure.New(failure.S3, "GetObject returned the length %d, the ETag %q "+
			"and the range %q: this server isn't compatible with S3", length, object.ETag, ranged)
	case span.IfMatch != "" && object.ETag != span.IfMatch:
		return object, failure.New(failure.ObjectChanged, "%s", b.advice[failure.ObjectChanged])
	case span.Last != Whole && (first != span.First || last != min(span.Last, object.Bytes-1) ||
		length != last-first+1):
		return object, failure.New(failure.SizeMismatch,
			"requested bytes %d-%d, but S3 announced %d bytes as %q",
			span.First, span.Last, length, ranged)
	}
	return object, nil
}

// ListObjects is List's operation.
const ListObjects = "ListObjectsV2"

// List calls take for every page of objects whose keys begin with prefix. The keys are sorted,
// except in a directory bucket.
func (b *Bucket) List(ctx context.Context, counted Counter, prefix string,
	take func([]types.Object) error) error {
	// Keys are URL-encoded: XML can't hold every character of a key.
	pages := s3.NewListObjectsV2Paginator(b.Client, &s3.ListObjectsV2Input{
		Bucket: &b.Name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl,
	})
	for pages.HasMorePages() {
		var page *s3.ListObjectsV2Output
		err := b.Do(ctx, counted, ListObjects, func() (err error) {
			page, err = pages.NextPage(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if page.IsTruncated == nil || *page.IsTruncated != pages.HasMorePages() {
			return failure.New(failure.S3, "the answer to ListObjectsV2 doesn't say whether or "+
				"where the listing continues")
		}
		for i, object := range page.Contents {
			key, err := url.QueryUnescape(aws.ToString(object.Key))
			if err != nil || !strings.HasPrefix(key, prefix) {
				return failure.New(failure.S3, "ListObjectsV2 returned the key %.100q for the "+
					"prefix %q, or not URL-encoded", aws.ToString(object.Key), prefix)
			}
			page.Contents[i].Key = &key
		}
		if len(page.Contents) > 0 {
			if err := take(page.Contents); err != nil {
				return err
			}
		}
	}
	return nil
}
