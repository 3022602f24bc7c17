package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/failure"
)

const (
	connectTimeout = 5 * time.Second
	// ReadTimeout is the longest silence on a connection.
	ReadTimeout = 15 * time.Second
)

// Transport is what another S3 client of this program, the SDK's, connects through: directly, with the timeouts of this one,
// with as many connections as it has requests at once and not one more, and keeping them.
type Transport struct{ http *http.Transport }

// What a connection reads ahead and collects before it writes: a small object with its header.
const smallObjectBytes = 16 << 10

// NewTransport makes one with up to so many connections to a host. An error is of the type Settings.
func NewTransport(connections int) (*Transport, error) {
	secured, err := secure("")
	if err != nil {
		return nil, err
	}
	return &Transport{&http.Transport{
		DialContext: dialPatient, TLSClientConfig: secured, TLSHandshakeTimeout: ReadTimeout,
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
		DisableCompression: true, ReadBufferSize: smallObjectBytes, WriteBufferSize: smallObjectBytes,
	}}, nil
}

// Do sends one request; it follows no redirect.
func (t *Transport) Do(request *http.Request) (*http.Response, error) {
	return t.http.RoundTrip(request)
}

// CloseIdle closes the connections that are kept for later.
func (t *Transport) CloseIdle() { t.http.CloseIdleConnections() }

// secure is how TLS is spoken with a server, with the certificates of AWS_CA_BUNDLE where it names some.
func secure(server string) (*tls.Config, error) {
	secured := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12}
	if path := os.Getenv("AWS_CA_BUNDLE"); path != "" {
		pem, err := os.ReadFile(path)
		secured.RootCAs = x509.NewCertPool()
		if err != nil || !secured.RootCAs.AppendCertsFromPEM(pem) {
			return nil, failure.New(failure.Settings, "AWS_CA_BUNDLE %q contains no readable certificate", path)
		}
	}
	return secured, nil
}

func dialPatient(ctx context.Context, network, address string) (net.Conn, error) {
	plain, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: plain}, nil
}

// patientConn ends a connection on which nothing has moved for the read timeout, in neither direction: while a large body is
// sent, S3 is silent. An idle one ends so too.
type patientConn struct {
	net.Conn
	extendedAt atomic.Int64 // ns
}

func (c *patientConn) extend() {
	now := time.Now()
	if last := c.extendedAt.Load(); now.UnixNano()-last > int64(time.Second) && c.extendedAt.CompareAndSwap(last, now.UnixNano()) {
		_ = c.SetDeadline(now.Add(ReadTimeout))
	}
}

func (c *patientConn) Read(p []byte) (int, error) {
	c.extend()
	return c.Conn.Read(p)
}

func (c *patientConn) Write(p []byte) (int, error) {
	c.extend()
	return c.Conn.Write(p)
}
