package express

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
	"stampede/transfer/internal/s3"
)

// bucket is the SDK's client for one bucket. The SDK makes requests, signs them, and speaks with directory buckets in sessions;
// tries are retry.Policy's, as everywhere in this program.
type bucket struct {
	name      string
	client    *sdk.Client
	transport *s3.Transport
	base      aws.CredentialsProvider // what sessions are made with, and all that a general bucket needs
	sessions  *sessions               // nil for a general bucket
	renewing  sync.Mutex
	retry     retry.Policy
}

// open makes the client of a bucket of a class; mode is that of its sessions. An error is of the type Settings.
func open(ctx context.Context, given account.Given, class, name string, mode types.SessionMode) (*bucket, error) {
	found, err := account.Config(ctx, given)
	if err != nil {
		return nil, err
	}
	if class == oneZone && found.BaseEndpoint == nil { // with an endpoint of its own, a general bucket may stand in for one
		err = checkName(name)
	}
	if err != nil {
		return nil, err
	}
	transport, err := s3.NewTransport(largestParallel)
	if err != nil {
		return nil, err
	}
	b := &bucket{name: name, transport: transport, base: found.Credentials, retry: retry.Policy{FirstPause: retry.FirstPause}}
	if directoryBucket.MatchString(name) {
		b.sessions = newSessions(b, mode)
	}
	b.client = sdk.NewFromConfig(found, func(o *sdk.Options) {
		o.HTTPClient, o.UsePathStyle = transport, found.BaseEndpoint != nil
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.DisableS3ExpressSessionAuth = aws.Bool(false)
		if b.sessions != nil {
			o.ExpressCredentials = b.sessions
		}
		// Every upload brings its checksum along, and every download asks for the one that S3 keeps.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.ContinueHeaderThresholdBytes = -1
		o.ClientLogMode = 0
	})
	return b, nil
}

// do makes one request, as often as it takes. Each try counts. Credentials or a session that S3 calls expired are renewed once.
func (b *bucket) do(ctx context.Context, counted s3.Counted, operation string, once func() error) error {
	return b.signed(ctx, counted, b.signer(), operation, once)
}

func (b *bucket) signed(ctx context.Context, counted s3.Counted, by aws.CredentialsProvider, operation string, once func() error) error {
	renewed := false
	return b.retry.Do(ctx, counted.CountRetry, func() error {
		for {
			used, err := b.identify(ctx, by)
			if err != nil {
				return err
			}
			counted.CountRequest()
			if err = once(); err == nil {
				return nil
			}
			var refused smithy.APIError
			if renewed || !errors.As(err, &refused) || !expired(refused.ErrorCode()) {
				return b.explain(ctx, operation, err)
			}
			renewed = true
			b.renew(ctx, by, used)
			counted.CountRetry()
		}
	})
}

// expired tells whether credentials were good once: new ones may be had where the old ones came from.
func expired(code string) bool { return code == "ExpiredToken" || code == "TokenRefreshRequired" }

// signer is what requests are signed with: credentials, or a session that was made with them.
func (b *bucket) signer() aws.CredentialsProvider {
	if b.sessions != nil {
		return b.sessions.cache
	}
	return b.base
}

// identify asks for what the next request is signed with. The SDK asks again and gets the same; its errors don't say why.
func (b *bucket) identify(ctx context.Context, from aws.CredentialsProvider) (aws.Credentials, error) {
	found, err := from.Retrieve(ctx)
	if err == nil {
		return found, nil
	}
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	var known *failure.Error
	if errors.As(err, &known) {
		return found, known
	}
	return found, failure.New(failure.NoCredentials, "no AWS credentials found: %v", err)
}

// renew makes the next request be signed with something newer than what was refused. Of many that are refused at once one does.
func (b *bucket) renew(ctx context.Context, from aws.CredentialsProvider, refused aws.Credentials) {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	cache, ok := from.(interface{ Invalidate() })
	if !ok {
		return
	}
	if current, err := from.Retrieve(ctx); err == nil && current.SessionToken == refused.SessionToken {
		cache.Invalidate()
		_, _ = from.Retrieve(ctx)
	}
}
