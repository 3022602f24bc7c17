package s3

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"stampede/transfer/internal/failure"
)

// What arrives together with the header of an answer: a small object comes in one read.
const readerBytes = 64 << 10

// The same for a connection that gets small answers only: its header and a few hundred bytes of XML.
const smallReaderBytes = 4 << 10

// How many connections a pool makes at once. A handshake is mostly arithmetic: a thousand at once on a small share of a processor
// would all take as long as the thousand, 2 to 7 s, and those that came last would be given up for lost.
const handshakesAtOnce = 64

// What is read at once from a connection with TLS.
const readAheadBytes = 128 << 10

// connection is one kept-alive connection. Its own client instead of net/http's, which hides the socket: without it the
// kernel can't move a body from the socket to a file by itself (splice), and every body would be copied once more.
type connection struct {
	net.Conn
	reader     *bufio.Reader
	socket     syscall.RawConn
	tcp        *net.TCPConn // nil under TLS
	used       bool         // answered at least once
	extendedAt time.Time
	silence    time.Duration
}

// readAhead reads from the socket in large pieces. crypto/tls alone asks the kernel for every record of 16 KiB, and often
// twice.
type readAhead struct {
	net.Conn
	ahead *bufio.Reader
}

func (r *readAhead) Read(p []byte) (int, error) { return r.ahead.Read(p) }

// extend grants the next read its time from now; at most once a second, since it is called for every read.
func (c *connection) extend() {
	if now := time.Now(); now.Sub(c.extendedAt) > time.Second {
		c.extendedAt = now
		_ = c.SetDeadline(now.Add(c.silence))
	}
}

// exchange sends a request and reads the header of its answer.
func (c *connection) exchange(request *http.Request) (*http.Response, error) {
	c.extendedAt = time.Time{}
	c.extend()
	if err := request.Write(c.Conn); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.reader, request)
}

// pool keeps idle connections, the last used first. All go to one endpoint.
type pool struct {
	endpoint    endpoint
	tls         *tls.Config
	readerBytes int
	silence     time.Duration // the longest wait for a byte
	handshakes  chan struct{} // full while handshakesAtOnce are under way
	mutex       sync.Mutex
	idle        []*connection
}

func newPool(where endpoint, secured *tls.Config, readerBytes int, silence time.Duration) *pool {
	return &pool{
		endpoint: where, tls: secured, readerBytes: readerBytes, silence: silence, handshakes: make(chan struct{}, handshakesAtOnce),
	}
}

// take returns an idle connection, or a new one when there's none or it must be fresh.
func (p *pool) take(ctx context.Context, fresh bool) (*connection, error) {
	if !fresh {
		p.mutex.Lock()
		for last := len(p.idle) - 1; last >= 0; last-- {
			c := p.idle[last]
			p.idle = p.idle[:last]
			if c.silent() {
				p.mutex.Unlock()
				return c, nil
			}
			_ = c.Close()
		}
		p.mutex.Unlock()
	}
	return p.dial(ctx)
}

// silent tells whether nothing has come on an idle connection: what did, be it an answer twice, a 408 or the end, would be taken
// for the answer to the next request. What TLS itself says between two answers is no answer, and is read.
func (c *connection) silent() bool {
	if c.tcp == nil {
		_ = c.SetReadDeadline(past) // only what has been read from the socket already
		_, _ = c.reader.Peek(1)
	}
	waiting, one := false, [1]byte{}
	err := c.socket.Control(func(socket uintptr) {
		_, _, none := syscall.Recvfrom(int(socket), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		waiting = none != syscall.EAGAIN
	})
	return err == nil && !waiting && c.reader.Buffered() == 0
}

var past = time.Unix(1, 0)

func (p *pool) put(c *connection) {
	c.used = true
	p.mutex.Lock()
	p.idle = append(p.idle, c)
	p.mutex.Unlock()
}

// dial makes a connection. The time that it waits for its turn counts only against ctx.
func (p *pool) dial(ctx context.Context) (*connection, error) {
	select {
	case p.handshakes <- struct{}{}:
		defer func() { <-p.handshakes }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout+ReadTimeout)
	defer cancel()
	plain, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "tcp", p.endpoint.dial)
	if err != nil {
		return nil, failure.Passing(failure.NoConnection, "no connection to %s: %v", p.endpoint.dial, err)
	}
	c := &connection{Conn: plain, silence: p.silence}
	if c.socket, err = plain.(*net.TCPConn).SyscallConn(); err != nil {
		_ = plain.Close()
		return nil, failure.New(failure.Unexpected, "the socket of %s: %v", p.endpoint.dial, err)
	}
	if p.endpoint.scheme == "https" {
		secured := tls.Client(&readAhead{plain, bufio.NewReaderSize(plain, min(readAheadBytes, 2*p.readerBytes))}, p.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, failure.Passing(failure.NoConnection, "TLS with %s failed: %v", p.endpoint.dial, err)
		}
		c.Conn = secured
	} else {
		c.tcp, _ = plain.(*net.TCPConn)
	}
	c.reader = bufio.NewReaderSize(c.Conn, p.readerBytes)
	return c, nil
}

// ofNetwork names what ended the connection.
func (c *connection) ofNetwork(err error) *failure.Error {
	var known *failure.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failure.Passing(failure.ReadTimeout, "S3 sent no byte for %g s: %v", c.silence.Seconds(), err)
	default:
		return failure.Passing(failure.ConnectionCut, "the connection ended before the answer did: %v", err)
	}
}
