package bucket

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Timeouts, the same as in functions/common/s3_client.py (functions/agreed/timeouts.json).
const (
	connectTimeout = 5 * time.Second
	// ReadTimeout is the longest silence on a connection: below the 60 s of the function, and far above any pause seen while the
	// network allowance of a function is used up.
	ReadTimeout = 15 * time.Second
)

// Most bytes of an answer that is read whole: its head; the body of an error; a page of a listing, which has at most 1,000 keys
// of at most 1,024 bytes that escaping can make three times as long.
const (
	largestHead  = 1 << 20
	largestError = 64 << 10
	largestPage  = 8 << 20
)

// Transport carries the requests of a bucket: over as many connections as there are requests at once and not one more, with
// the environment's proxies (HTTPS_PROXY, NO_PROXY; never to this machine itself) and AWS_CA_BUNDLE, as the SDK does it.
type Transport struct {
	http    *http.Transport
	silence time.Duration
}

func newTransport(configured aws.HTTPClient, options Options) *Transport {
	made := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: ReadTimeout,
		MaxConnsPerHost: options.Connections, MaxIdleConnsPerHost: options.Connections, MaxResponseHeaderBytes: largestHead,
		DisableCompression: true, ReadBufferSize: options.BufferBytes, WriteBufferSize: options.BufferBytes,
	}
	if client, ok := configured.(*awshttp.BuildableClient); ok {
		made.TLSClientConfig.RootCAs = client.GetTransport().TLSClientConfig.RootCAs
	}
	silence := cmp.Or(options.Silence, ReadTimeout)
	made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		plain, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		patient := &patientConn{Conn: plain, reader: plain, silence: silence}
		if options.ReadAheadBytes > 0 {
			patient.reader = bufio.NewReaderSize(plain, options.ReadAheadBytes)
		}
		return patient, nil
	}
	return &Transport{made, silence}
}

// Do sends one request; it follows no redirect. Of an answer that isn't an object no more is read than S3 ever sends.
func (t *Transport) Do(request *http.Request) (*http.Response, error) {
	answer, err := t.http.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	largest := int64(largestPage)
	if answer.StatusCode >= 300 {
		largest = largestError
	} else if strings.Contains(request.URL.RawQuery, "x-id=GetObject") {
		return answer, nil
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, largest), answer.Body}
	return answer, nil
}

// CloseIdle closes the connections that are kept for later.
func (t *Transport) CloseIdle() { t.http.CloseIdleConnections() }

// patientConn ends a connection on which nothing has moved for a while, in neither direction: while a large body is sent, S3 is
// silent. An idle one ends so too.
type patientConn struct {
	net.Conn
	reader     io.Reader
	silence    time.Duration
	extendedAt atomic.Int64 // ns
	waiting    atomic.Bool  // for bytes
}

// extend grants the next read or write its time from now; at most once a second, since it is called for each of them.
func (c *patientConn) extend() {
	now := time.Now()
	last := c.extendedAt.Load()
	if now.UnixNano()-last > int64(time.Second) && c.extendedAt.CompareAndSwap(last, now.UnixNano()) {
		_ = c.SetDeadline(now.Add(c.silence))
	}
}

func (c *patientConn) Read(p []byte) (int, error) {
	c.extend()
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	return c.reader.Read(p)
}

// IsWaiting tells whether somebody waits for bytes: then none that came before are in a buffer above this connection.
func (c *patientConn) IsWaiting() bool { return c.waiting.Load() }

func (c *patientConn) Write(p []byte) (int, error) {
	c.extend()
	return c.Conn.Write(p)
}

// NetConn is the connection beneath, as that of a tls.Conn.
func (c *patientConn) NetConn() net.Conn { return c.Conn }
