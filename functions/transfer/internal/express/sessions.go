package express

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/failure"
)

// renewBefore is how long before its end (five minutes after its beginning) a session isn't used any more.
const renewBefore = 20 * time.Second

// sessions are those with one directory bucket, one after the other: the SDK asks for the session's credentials at every
// request, CreateSession is called when there is none, and by one goroutine however many ask.
type sessions struct {
	bucket *bucket
	mode   types.SessionMode
	cache  *aws.CredentialsCache
	seen   atomic.Pointer[observed] // counts them
}

func newSessions(b *bucket, mode types.SessionMode) *sessions {
	made := &sessions{bucket: b, mode: mode}
	made.cache = aws.NewCredentialsCache(aws.CredentialsProviderFunc(made.create), func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewBefore })
	return made
}

// Retrieve implements the SDK's ExpressCredentialsProvider.
func (s *sessions) Retrieve(ctx context.Context, _ string) (aws.Credentials, error) {
	return s.cache.Retrieve(ctx)
}

// prime makes a new session, so that the requests that follow find one; seen counts it and those after it.
func (s *sessions) prime(ctx context.Context, seen *observed) error {
	s.seen.Store(seen)
	s.cache.Invalidate()
	_, err := s.bucket.identify(ctx, s.cache)
	return err
}

func (s *sessions) create(ctx context.Context) (aws.Credentials, error) {
	began, seen := time.Now(), s.seen.Load()
	defer func() { seen.sessionNs.Add(int64(time.Since(began))) }()
	var answer *sdk.CreateSessionOutput
	err := s.bucket.signed(ctx, seen, s.bucket.base, createSession, func() (err error) {
		seen.sessions.Add(1)
		answer, err = s.bucket.client.CreateSession(ctx, &sdk.CreateSessionInput{Bucket: &s.bucket.name, SessionMode: s.mode})
		return err
	})
	if err != nil {
		return aws.Credentials{}, err
	}
	given := answer.Credentials
	if given == nil || given.AccessKeyId == nil || given.SecretAccessKey == nil || given.SessionToken == nil || given.Expiration == nil {
		return aws.Credentials{}, failure.New(failure.S3, "CreateSession returned no credentials: this server has no directory buckets")
	}
	return aws.Credentials{
		AccessKeyID: *given.AccessKeyId, SecretAccessKey: *given.SecretAccessKey, SessionToken: *given.SessionToken, CanExpire: true,
		Expires: *given.Expiration,
	}, nil
}
