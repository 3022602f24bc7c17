// Package bucket is the SDK's client for one bucket, with what every operation on it needs: tries by the agreed policy, each
// of them counted, credentials renewed once, silence bounded, and S3's refusals in the words of error_type.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
)

// SDK is what records say of the requests that a Bucket makes.
const SDK = aws.SDKName + " " + aws.SDKVersion

// Options are what the user of a bucket wants of it.
type Options struct {
	// Connections is the most that are open at once; all of them are kept for later.
	Connections int
	// BufferBytes is what a connection reads ahead, and collects before it writes; 0: net/http's 4 KiB.
	BufferBytes int
	// ReadAheadBytes is read at once from a connection with TLS, for large bodies: crypto/tls alone asks the kernel for every record of
	// 16 KiB, and often twice, which is a fifth of a download's CPU.
	ReadAheadBytes int
	// Silence is the longest wait for a byte; 0: ReadTimeout.
	Silence time.Duration
	// RequesterPays accepts the charges of a bucket whose owner doesn't pay for requests.
	RequesterPays bool
	// SessionMode is that of the sessions with a directory bucket.
	SessionMode types.SessionMode
	// Advice is what the reader can do about a refusal, by its error_type, or by operation and error_type ("HeadObject
	// NoSuchKey"), which comes first.
	Advice map[string]string
}

// Bucket speaks with one bucket through the SDK. It may be used by many goroutines at once.
type Bucket struct {
	Name, Region string
	// Client is for requests within Do: by itself it doesn't try again.
	Client *s3.Client
	// Transport is what Client's requests go through.
	Transport *Transport
	// Credentials are the account's. A directory bucket's requests are signed with those of its session.
	Credentials aws.CredentialsProvider
	Retry       retry.Policy

	advice   map[string]string
	sessions *sessions // nil for a general bucket
	renewing *sync.Mutex
}

// Counter is told about requests sent, and requests sent again.
type Counter interface {
	CountRequest()
	CountRetry()
}

// directoryName is the form of a directory bucket's name: S3 User Guide, "Directory bucket naming rules".
var directoryName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*--([a-z0-9]+(?:-[a-z0-9]+)*-az[0-9]+)--x-s3$`)

// IsDirectory tells whether the name is a directory bucket's.
func IsDirectory(name string) bool { return directoryName.MatchString(name) }

// Open makes the client of a bucket; an error is of the type Settings. Missing credentials show at the first request.
func Open(ctx context.Context, where account.Given, name string, options Options) (*Bucket, error) {
	config, err := account.Config(ctx, where)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(cmp.Or(aws.ToString(config.BaseEndpoint), "https:"), "https:") {
		options.ReadAheadBytes = 0
	}
	b := &Bucket{
		Name: name, Region: config.Region, Transport: newTransport(config.HTTPClient, options), Credentials: config.Credentials,
		Retry: retry.Policy{FirstPause: retry.FirstPause}, advice: maps.Clone(commonAdvice), renewing: &sync.Mutex{},
	}
	maps.Copy(b.advice, options.Advice)
	if IsDirectory(name) {
		b.sessions = newSessions(b, options.SessionMode)
	}
	b.Client = s3.NewFromConfig(config, func(o *s3.Options) {
		o.HTTPClient, o.UsePathStyle = b.Transport, config.BaseEndpoint != nil
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.DisableS3ExpressSessionAuth = aws.Bool(false)
		if b.sessions != nil {
			o.ExpressCredentials = b.sessions
		}
		if options.RequesterPays {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Amz-Request-Payer", "requester"))
		}
		// Whoever wants a checksum sends it along, or asks for the one that S3 keeps.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.ContinueHeaderThresholdBytes = -1
		o.ClientLogMode = 0
	})
	return b, nil
}

// Patiently returns the same bucket with tries that go on as long as S3 throttles them.
func (b *Bucket) Patiently() *Bucket {
	made := *b
	made.Retry.Patient = true
	return &made
}

// Do makes one request, once, as often as it takes. Each try counts, and an error of the SDK, or of a body that is read within
// once, becomes a failure.Error. What is called expired is renewed once; a wrong clock the SDK itself corrects.
func (b *Bucket) Do(ctx context.Context, counted Counter, operation string, once func() error) error {
	return b.DoOn(ctx, counted, operation, func() bool { return false }, once)
}

// DoOn is Do for work that goes on where the last try ended: a failed try that brought it on is the first again.
func (b *Bucket) DoOn(ctx context.Context, counted Counter, operation string, broughtOn func() bool, once func() error) error {
	mended := false
	return b.Retry.DoOn(ctx, counted.CountRetry, broughtOn, func() error {
		used, err := b.identify(ctx)
		if err != nil {
			return err
		}
		counted.CountRequest()
		err = b.Explain(ctx, operation, once())
		var failed *failure.Error
		if errors.As(err, &failed) && failed.Mended {
			if failed.Temporary, failed.Mended = !mended, !mended; !mended {
				b.Renew(ctx, used)
			}
			mended = true
		}
		return err
	})
}

// signer is what requests are signed with: credentials, or a session that was made with them.
func (b *Bucket) signer() aws.CredentialsProvider {
	if b.sessions != nil {
		return b.sessions.cache
	}
	return b.Credentials
}

// identify asks for what the next request is signed with. The SDK asks again and gets the same; its errors don't say why.
func (b *Bucket) identify(ctx context.Context) (aws.Credentials, error) {
	credentials, err := b.signer().Retrieve(ctx)
	var failed *failure.Error
	switch {
	case err == nil:
		return credentials, nil
	case ctx.Err() != nil:
		return credentials, context.Cause(ctx)
	case errors.As(err, &failed):
		return credentials, failed
	}
	return credentials, failure.New(failure.NoCredentials, "no AWS credentials found: %v", err)
}

// Renew makes the next request be signed with something newer than what was refused. Of many that are refused at once one does.
func (b *Bucket) Renew(ctx context.Context, refused aws.Credentials) {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	cache, ok := b.signer().(interface{ Invalidate() })
	if current, err := b.signer().Retrieve(ctx); ok && err == nil && current.SessionToken == refused.SessionToken {
		cache.Invalidate()
		_, _ = b.signer().Retrieve(ctx)
	}
}
