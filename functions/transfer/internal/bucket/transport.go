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

// Most bytes of the head of an answer, and of a body that is read whole: the largest is a page of a
// listing, with at most 1,000 keys of at most 1,024 bytes that escaping can make three times as
// long.
const (
	largestHead = 1 << 20
	largestBody = 8 << 20
	// mostYields are enough for net/http to look for what follows an answer.
	mostYields = 1000
)

// Transport carries the requests of a bucket: over as many connections as there are requests at
// once and not one more, with the environment's proxies (HTTPS_PROXY, NO_PROXY; never to this
// machine itself) and AWS_CA_BUNDLE, as the SDK does it.
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
		Proxy: ofSDK.Proxy, TLSClientConfig: &tls.Config{RootCAs: ofSDK.TLSClientConfig.RootCAs},
		TLSHandshakeTimeout: ReadTimeout,
		DialContext:         dial, MaxConnsPerHost: options.Connections,
		MaxIdleConnsPerHost: options.Connections, MaxResponseHeaderBytes: largestHead,
		DisableCompression: true, ReadBufferSize: options.BufferBytes,
		WriteBufferSize: options.BufferBytes,
	}, silence}
}

// Do sends one request; it follows no redirect. Of an answer that isn't an object no more is read
// than S3 ever sends.
func (t *Transport) Do(request *http.Request) (*http.Response, error) {
	answer, err := t.http.RoundTrip(request)
	isObject := strings.Contains(request.URL.RawQuery, "x-id=GetObject")
	if err == nil && (answer.StatusCode >= 300 || !isObject) {
		answer.Body = http.MaxBytesReader(nil, answer.Body, largestBody)
	}
	return answer, err
}

// CloseIdle closes the connections that are kept for later.
func (t *Transport) CloseIdle() { t.http.CloseIdleConnections() }

// patientConn ends a connection on which nothing has moved for a while, in neither direction: while
// a large body is sent, S3 is silent. An idle one ends so too.
type patientConn struct {
	net.Conn
	reader  io.Reader
	silence time.Duration
	second  atomic.Int64 // in which the deadline was moved last
	waiting atomic.Bool  // for bytes
}

// extend grants the next read or write its time from now; once a second, since it is called for
// each of them.
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

// IsSilent tells whether nothing has come on an idle connection, neither into net/http's buffers
// nor into the kernel's. What did, be it an answer that nobody asked for, a 408 or the end, could
// be taken for the answer to the next request.
func IsSilent(connection net.Conn) bool {
	switch c := connection.(type) {
	case *patientConn:
		return c.isSilent()
	case *tls.Conn:
		return IsSilent(c.NetConn())
	}
	return true
}

// isSilent waits until net/http waits for the next bytes, which it does soon after an answer,
// unless there are more in its buffer; to be told so it needs the processor.
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
