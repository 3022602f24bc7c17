// Package s3 is a small S3 client for few kinds of request and many bytes: it signs, retries, keeps connections, checks
// what S3 answered, and hands out bodies whose bytes the kernel can move to a file without a copy through this process.
//
// It connects directly: proxies named in the environment aren't used.
package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"stampede/transfer/internal/failure"
)

const (
	userAgent = "stampede-transfer/1"
	// Bodies of requests are empty, and plain HTTP is for loopback, so nothing is gained by hashing them.
	unsigned = "UNSIGNED-PAYLOAD"
)

// Client speaks with one bucket.
type Client struct {
	Retry       Retry
	region      string
	endpoint    endpoint
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	pool        *pool
}

// Counted is what a client tells its caller about: requests sent, and requests sent again.
type Counted interface {
	CountRequest()
	CountRetry()
}

// NewClient makes a client; endpointURL is empty for AWS itself. An error is of the type Settings.
func NewClient(endpointURL, region, bucket string, credentials aws.CredentialsProvider) (*Client, error) {
	where, err := endpointOf(endpointURL, region, bucket)
	if err != nil {
		return nil, err
	}
	secured := &tls.Config{ServerName: where.server, MinVersion: tls.VersionTLS12}
	if path := os.Getenv("AWS_CA_BUNDLE"); path != "" {
		pem, err := os.ReadFile(path)
		secured.RootCAs = x509.NewCertPool()
		if err != nil || !secured.RootCAs.AppendCertsFromPEM(pem) {
			return nil, failure.New(failure.Settings, "AWS_CA_BUNDLE %q holds no certificate that can be read", path)
		}
	}
	return &Client{
		Retry:       Retry{FirstPause: firstPause},
		region:      region,
		endpoint:    where,
		credentials: credentials,
		signer:      v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		pool:        &pool{endpoint: where, tls: secured},
	}, nil
}

// send makes one try of one request. The answer has any status; its connection goes back or ends with Answer.Close.
func (c *Client) send(ctx context.Context, counted Counted, method, key string, query url.Values, header http.Header) (*Answer, error) {
	for fresh := false; ; fresh = true {
		request, err := c.signed(ctx, method, key, query, header)
		if err != nil {
			return nil, err
		}
		connection, err := c.pool.take(ctx, fresh)
		if err != nil {
			return nil, causeOr(ctx, err)
		}
		// Closing it is what ends a blocked read, whatever the read is in.
		stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
		counted.CountRequest()
		response, err := connection.exchange(request)
		if err == nil {
			return newAnswer(ctx, c.pool, connection, response, stop), nil
		}
		stop()
		_ = connection.Close()
		failed := causeOr(ctx, ofNetwork(err))
		// S3 closes idle connections: that says nothing about this request, and a fresh one tells.
		if !connection.used || ctx.Err() != nil || failed.(*failure.Error).Type != failure.ConnectionCut {
			return nil, failed
		}
	}
}

func (c *Client) signed(ctx context.Context, method, key string, query url.Values, header http.Header) (*http.Request, error) {
	where := c.endpoint.url(key, query)
	request := (&http.Request{
		Method: method, URL: where, Host: where.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("X-Amz-Content-Sha256", unsigned)
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return nil, causeOr(ctx, failure.New(failure.NoCredentials, "no AWS credentials found: %v", err))
	}
	if err := c.signer.SignHTTP(ctx, credentials, request, unsigned, "s3", c.region, time.Now()); err != nil {
		return nil, failure.New(failure.Unexpected, "signing the request: %v", err)
	}
	return request, nil
}

// causeOr returns why the context ended, if it did, because that is then the reason for everything else.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
