package bucket

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/failure"
)

// renewBefore is how long before its end (five minutes after its beginning) a session isn't used any more.
const renewBefore = 20 * time.Second

// SessionCounter is told about the requests for sessions too, and how long each session took to get, tries included.
type SessionCounter interface {
	Counter
	CountSession()
	SessionTook(time.Duration)
}

// sessions are those with one directory bucket, one after the other: the SDK asks for the session's credentials at every
// request, CreateSession is called when there is none, and by one goroutine however many ask.
type sessions struct {
	bucket  *Bucket
	mode    types.SessionMode
	cache   *aws.CredentialsCache
	counted atomic.Value // SessionCounter
}

func newSessions(b *Bucket, mode types.SessionMode) *sessions {
	made := &sessions{bucket: b, mode: mode}
	provider := aws.CredentialsProviderFunc(made.create)
	made.cache = aws.NewCredentialsCache(provider, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewBefore })
	return made
}

// Prime makes a new session with a directory bucket, so that the requests that follow find one; counted is told of it and of
// those after it. A general bucket needs none. It must come before every other request.
func (b *Bucket) Prime(ctx context.Context, counted SessionCounter) error {
	if b.sessions == nil {
		return nil
	}
	b.sessions.counted.Store(counted)
	b.sessions.cache.Invalidate()
	_, err := b.identify(ctx, b.sessions.cache)
	return err
}

// Retrieve implements the SDK's ExpressCredentialsProvider.
func (s *sessions) Retrieve(ctx context.Context, _ string) (aws.Credentials, error) {
	return s.cache.Retrieve(ctx)
}

func (s *sessions) create(ctx context.Context) (aws.Credentials, error) {
	counted := s.counted.Load().(SessionCounter)
	defer func(began time.Time) { counted.SessionTook(time.Since(began)) }(time.Now())
	var answer *s3.CreateSessionOutput
	err := s.bucket.signed(ctx, counted, s.bucket.Credentials, createSession, func() bool { return false }, func() (err error) {
		counted.CountSession()
		answer, err = s.bucket.Client.CreateSession(ctx, &s3.CreateSessionInput{Bucket: &s.bucket.Name, SessionMode: s.mode})
		return err
	})
	if err != nil {
		return aws.Credentials{}, err
	}
	made := answer.Credentials
	if made == nil || made.AccessKeyId == nil || made.SecretAccessKey == nil || made.SessionToken == nil || made.Expiration == nil {
		return aws.Credentials{}, failure.New(failure.S3, "CreateSession returned no credentials: this server has no directory buckets")
	}
	return aws.Credentials{
		AccessKeyID: *made.AccessKeyId, SecretAccessKey: *made.SecretAccessKey, SessionToken: *made.SessionToken, CanExpire: true,
		Expires: *made.Expiration,
	}, nil
}
