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

// SessionCounter is told about requests for sessions too, and how long each took.
type SessionCounter interface {
	Counter
	CountSession(took time.Duration)
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
	_, err := b.identify(ctx)
	return err
}

// Retrieve implements the SDK's ExpressCredentialsProvider.
func (s *sessions) Retrieve(ctx context.Context, _ string) (aws.Credentials, error) {
	return s.cache.Retrieve(ctx)
}

func (s *sessions) create(ctx context.Context) (aws.Credentials, error) {
	counted := s.counted.Load().(SessionCounter)
	account := *s.bucket
	account.sessions = nil // this request is signed with the account's credentials
	var answer *s3.CreateSessionOutput
	err := account.Do(ctx, counted, createSession, func() (err error) {
		defer func(began time.Time) { counted.CountSession(time.Since(began)) }(time.Now())
		answer, err = s.bucket.Client.CreateSession(ctx, &s3.CreateSessionInput{Bucket: &s.bucket.Name, SessionMode: s.mode})
		return err
	})
	if err != nil {
		return aws.Credentials{}, err
	}
	made := answer.Credentials
	if made == nil || made.SessionToken == nil || made.Expiration == nil {
		return aws.Credentials{}, failure.New(failure.S3, "CreateSession returned no credentials: this server has no directory buckets")
	}
	return aws.Credentials{
		AccessKeyID: aws.ToString(made.AccessKeyId), SecretAccessKey: aws.ToString(made.SecretAccessKey), SessionToken: *made.SessionToken,
		CanExpire: true, Expires: *made.Expiration,
	}, nil
}
