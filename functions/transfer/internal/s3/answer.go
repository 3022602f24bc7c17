package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"stampede/transfer/internal/failure"
)

// Answer is S3's answer to one request, its body still to be read. It implements io.Reader.
type Answer struct {
	Status int
	Header http.Header
	// Left is the bytes of the body that are still to come; -1 for a body without an announced length.
	Left int64

	operation  string // S3's name for the request
	resent     bool   // after a try on a connection that turned out to be closed: S3 may have done it twice
	ctx        context.Context
	client     *Client
	connection *connection
	response   *http.Response
	stop       func() bool
}

func newAnswer(ctx context.Context, client *Client, c *connection, response *http.Response, stop func() bool) *Answer {
	left := response.ContentLength
	if response.Request.Method == http.MethodHead {
		left = 0
	}
	return &Answer{
		Status: response.StatusCode, Header: response.Header, Left: left,
		ctx: ctx, client: client, connection: c, response: response, stop: stop,
	}
}

// Close gives the connection back when its answer was read to the end, and closes it otherwise.
func (a *Answer) Close() {
	if a.stop() && a.Left == 0 && !a.response.Close {
		a.client.pool.put(a.connection)
		return
	}
	_ = a.connection.Close()
}

// Read reads from a body of announced length; io.EOF comes only after all of it.
func (a *Answer) Read(p []byte) (int, error) {
	if a.Left <= 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > a.Left {
		p = p[:a.Left]
	}
	a.connection.extend()
	var n int
	var err error
	if a.connection.reader.Buffered() > 0 || a.connection.tcp == nil && len(p) < a.client.pool.readerBytes {
		n, err = a.connection.reader.Read(p)
	} else {
		n, err = a.connection.Conn.Read(p)
	}
	a.Left -= int64(n)
	if n > 0 || err == nil {
		return n, nil // an error comes back at the next read
	}
	return 0, a.failed(err)
}

func (a *Answer) failed(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return causeOr(a.ctx, a.connection.ofNetwork(err))
}

// longestBody bounds a small body: while S3 copies a large object it sends white space, so there is no silence to be seen. A copy of 5
// GB takes a minute or a few. A variable for tests.
var longestBody = 15 * time.Minute

// patient reads a body of whatever framing and grants each read its time.
type patient struct {
	*Answer
	began time.Time
}

func (p patient) Read(buffer []byte) (int, error) {
	if time.Since(p.began) > longestBody {
		return 0, failure.Passing(failure.ReadTimeout, "S3 hadn't ended its answer to %s after %v", p.operation, longestBody)
	}
	p.connection.extend()
	return p.response.Body.Read(buffer)
}

// all reads a small body of whatever framing, up to a limit, and closes the answer.
func (a *Answer) all(limitBytes int64) ([]byte, error) {
	defer a.Close()
	if a.response.Request.Method == http.MethodHead {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(patient{a, time.Now()}, limitBytes+1))
	if err != nil {
		return nil, a.failed(err)
	}
	if int64(len(body)) > limitBytes {
		a.Left = -1 // the rest stays unread, so the connection can't be used again
		return body[:limitBytes], nil
	}
	a.Left = 0
	return body, nil
}
