package bucket

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Timeouts, the same as in functions/common/s3_client.py (functions/agreed/timeouts.json).
const (
	connectTimeout = 5 * time.Second
	// ReadTimeout is the longest silence on a connection: below the 60 s of the function, and far
	// above any pause seen while the network allowance of a function is used up.
	ReadTimeout = 15 * time.Second
)

const (
	// largestHead is the most bytes of an answer's header.
	largestHead = 1 << 20
	// largestBody is the most bytes of a body that is read whole. The largest is a page of a
	// listing: 1,000 keys of 1,024 bytes, which escaping can make three times as long.
	largestBody = 8 << 20
	// mostYields is enough for net/http to look for what follows an answer.
	mostYields = 1000
)

// Transport carries the requests of a bucket. It opens no more connections than there are requests
// at once, and uses the environment's proxies (HTTPS_PROXY, NO_PROXY; never for this machine) and
// AWS_CA_BUNDLE like the SDK.
type Transport struct {
	http    *http.Transport
	silence time.Duration
}

func newTransport(configured aws.HTTPClient, options Options) *Transport {
	silence := cmp.Or(options.Silence, ReadTimeout)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
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
	client, _ := configured.(*awshttp.BuildableClient)
	ofSDK := cmp.Or(client, awshttp.NewBuildableClient()).GetTransport()
	return &Transport{&http.Transport{
		Proxy: ofSDK.Proxy, DialContext: dial, DisableCompression: true,
		TLSClientConfig:        &tls.Config{RootCAs: ofSDK.TLSClientConfig.RootCAs},
		TLSHandshakeTimeout:    ReadTimeout,
		MaxConnsPerHost:        options.Connections,
		MaxIdleConnsPerHost:    options.Connections,
		MaxResponseHeaderBytes: largestHead,
		ReadBufferSize:         options.BufferBytes,
		WriteBufferSize:        options.BufferBytes,
	}, silence}
}

// Do sends one request and follows no redirect. It limits the body of every answer but an object to
// what S3 ever sends.
func (t *Transport) Do(request *http.Request) (*http.Response, error) {
	answer, err := t.http.RoundTrip(request)
	isObject := strings.Contains(request.URL.RawQuery, "x-id=GetObject")
	if err == nil && (answer.StatusCode >= 300 || !isObject) {
		answer.Body = http.MaxBytesReader(nil, answer.Body, largestBody)
	}
	return answer, err
}

// CloseIdle closes the idle connections.
func (t *Transport) CloseIdle() { t.http.CloseIdleConnections() }

// patientConn ends a connection that was silent for a while in both directions, even an idle one.
// Reads alone don't tell: S3 is silent while it receives a large body.
type patientConn struct {
	net.Conn
	reader  io.Reader
	silence time.Duration
	second  atomic.Int64 // when the deadline was last moved
	waiting atomic.Bool  // for bytes
}

// extend moves the deadline, at most once a second: every read and write calls it.
func (c *patientConn) extend() {
	if now := time.Now(); c.second.Swap(now.Unix()) != now.Unix() {
		_ = c.SetDeadline(now.Add(c.silence))
	}
}

func (c *patientConn) Read(p []byte) (int, error) {
	c.extend()
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	return c.reader.Read(p)
}

func (c *patientConn) Write(p []byte) (int, error) {
	c.extend()
	return c.Conn.Write(p)
}

// IsSilent reports whether nothing has arrived on an idle connection, neither in net/http's buffers
// nor in the kernel's. An unasked answer, a 408 or the end of the connection could pass for the
// answer to the next request.
func IsSilent(connection net.Conn) bool {
	switch c := connection.(type) {
	case *patientConn:
		return c.isSilent()
	case *tls.Conn:
		return IsSilent(c.NetConn())
	}
	return true
}

// isSilent yields the processor until net/http waits for the next bytes, soon after an answer,
// unless its buffer holds more.
func (c *patientConn) isSilent() (silent bool) {
	for range mostYields {
		if c.waiting.Load() {
			raw, err := c.Conn.(*net.TCPConn).SyscallConn()
			if err == nil {
				_ = raw.Control(func(number uintptr) {
					_, _, waiting := syscall.Recvfrom(int(number), make([]byte, 1),
						syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
					silent = waiting == syscall.EAGAIN
				})
			}
			return silent
		}
		runtime.Gosched()
	}
	return false
}
