// Package s3 is a small S3 client for few kinds of request and many bytes: it signs, retries, keeps connections, checks
// what S3 answered, and hands out bodies whose bytes the kernel can move to a file without a copy through this process.
//
// It connects directly: proxies named in the environment aren't used.
package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
)

const (
	userAgent = "stampede-transfer/1"
	// SDK is what records say of requests that this client makes: the AWS SDK signs them and does no more.
	SDK = "none"
	// Bodies of requests are empty or carry an MD5 sum, and plain HTTP is for loopback: nothing is gained by hashing them.
	unsigned = "UNSIGNED-PAYLOAD"
)

// Client speaks with one bucket.
type Client struct {
	Retry retry.Policy
	// StorageClass is that of copies; "" for S3's own choice.
	StorageClass string
	// RequesterPays accepts the charges of a bucket whose owner doesn't pay for requests.
	RequesterPays bool

	bucket      string
	region      string
	endpoint    endpoint
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	clock       *clock
	pool        *pool
}

// Counted is what a client tells its caller about: requests sent, and requests sent again.
type Counted interface {
	CountRequest()
	CountRetry()
}

// Open makes the client for a bucket. An error is of the type Settings; missing credentials show at the first request.
func Open(ctx context.Context, given account.Given, bucket string) (*Client, error) {
	found, err := account.Config(ctx, given)
	if err != nil {
		return nil, err
	}
	return NewClient(aws.ToString(found.BaseEndpoint), found.Region, bucket, found.Credentials)
}

// NewClient makes a client; endpointURL is empty for AWS itself. An error is of the type Settings.
func NewClient(endpointURL, region, bucket string, credentials aws.CredentialsProvider) (*Client, error) {
	where, err := endpointOf(endpointURL, region, bucket)
	if err != nil {
		return nil, err
	}
	secured, err := secure(where.server)
	if err != nil {
		return nil, err
	}
	return &Client{
		Retry:       retry.Policy{FirstPause: retry.FirstPause},
		bucket:      bucket,
		region:      region,
		endpoint:    where,
		credentials: credentials,
		signer:      v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		clock:       &clock{},
		pool:        newPool(where, secured, readerBytes, ReadTimeout),
	}, nil
}

// ForManySmallAnswers returns a client with connections of its own, for thousands of calls at once whose answers are small
// but may be long in coming: silence is the longest wait for a byte.
func (c *Client) ForManySmallAnswers(silence time.Duration) *Client {
	made := *c
	made.pool = newPool(c.endpoint, c.pool.tls, smallReaderBytes, silence)
	return &made
}

// Patiently returns the client with a Patient Retry.
func (c *Client) Patiently() *Client {
	made := *c
	made.Retry.Patient = true
	return &made
}

// call is one request: what S3 calls it, the HTTP method, and what goes with it. Its body is small.
type call struct {
	operation   string
	method, key string
	query       url.Values
	header      http.Header
	body        []byte
}

// send makes one try of one request. The answer has any status; its connection goes back or ends with Answer.Close.
func (c *Client) send(ctx context.Context, counted Counted, one call) (*Answer, error) {
	var cut error // how a first try ended
	for resent := false; ; resent = true {
		request, err := c.signed(ctx, one)
		if err != nil {
			return nil, err
		}
		connection, err := c.pool.take(ctx, resent)
		if err != nil && resent {
			err = failure.Passing(failure.ConnectionCut, "%v; then %v", cut, err) // S3 may have done what was asked first
		}
		if err != nil {
			return nil, causeOr(ctx, err)
		}
		// Closing it is what ends a blocked read, whatever the read is in.
		stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
		counted.CountRequest()
		response, err := connection.exchange(request)
		if err == nil && response.StatusCode == http.StatusRequestTimeout && connection.used && !resent {
			err = errors.New("S3 answered 408: the connection had been idle for too long")
		}
		if err == nil {
			answer := newAnswer(ctx, c, connection, response, stop)
			answer.operation, answer.resent = one.operation, resent
			return answer, nil
		}
		stop()
		_ = connection.Close()
		failed := causeOr(ctx, connection.ofNetwork(err))
		// S3 closes idle connections: that says nothing about this request, and a fresh one tells.
		if !connection.used || ctx.Err() != nil || failed.(*failure.Error).Type != failure.ConnectionCut {
			return nil, failed
		}
		cut = failed
	}
}

func (c *Client) signed(ctx context.Context, one call) (*http.Request, error) {
	where := c.endpoint.url(one.key, one.query)
	request := (&http.Request{
		Method: one.method, URL: where, Host: where.Host, Header: make(http.Header, len(one.header)+6),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	for name, values := range one.header {
		request.Header[name] = values
	}
	if len(one.body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(one.body)), int64(len(one.body))
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("X-Amz-Content-Sha256", unsigned)
	if c.RequesterPays {
		request.Header.Set("X-Amz-Request-Payer", "requester")
	}
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return nil, causeOr(ctx, failure.New(failure.NoCredentials, "no AWS credentials found: %v", err))
	}
	if err := c.signer.SignHTTP(ctx, credentials, request, unsigned, "s3", c.region, c.clock.now()); err != nil {
		return nil, failure.New(failure.Unexpected, "signing the request: %v", err)
	}
	return request, nil
}

// renewCredentials makes the next request ask for new credentials, unless another request has already: token is that of the
// refused one.
func (c *Client) renewCredentials(ctx context.Context, token string) {
	cache, ok := c.credentials.(interface{ Invalidate() })
	if !ok {
		return
	}
	if current, err := c.credentials.Retrieve(ctx); err == nil && current.SessionToken == token {
		cache.Invalidate()
	}
}

// causeOr returns why the context ended, if it did, because that is then the reason for everything else.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
