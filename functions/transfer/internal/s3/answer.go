package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"

	"stampede/transfer/internal/failure"
)

// Answer is S3's answer to one request, its body still to be read. It implements io.Reader.
type Answer struct {
	Status int
	Header http.Header
	// Left is the bytes of the body that are still to come; -1 for a body without an announced length.
	Left int64

	ctx        context.Context
	pool       *pool
	connection *connection
	response   *http.Response
	stop       func() bool
}

func newAnswer(ctx context.Context, p *pool, c *connection, response *http.Response, stop func() bool) *Answer {
	left := response.ContentLength
	if response.Request.Method == http.MethodHead {
		left = 0
	}
	return &Answer{
		Status: response.StatusCode, Header: response.Header, Left: left,
		ctx: ctx, pool: p, connection: c, response: response, stop: stop,
	}
}

// Close gives the connection back when its answer was read to the end, and closes it otherwise.
func (a *Answer) Close() {
	if a.stop() && a.Left == 0 && !a.response.Close {
		a.pool.put(a.connection)
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
	if a.connection.reader.Buffered() > 0 || a.connection.tcp == nil && len(p) < readerBytes {
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

// AwaitFirstByte waits until the body begins; a body of 0 bytes has begun.
func (a *Answer) AwaitFirstByte() error {
	if a.Left == 0 {
		return nil
	}
	a.connection.extend()
	if _, err := a.connection.reader.Peek(1); err != nil {
		return a.failed(err)
	}
	return nil
}

// CanSplice tells whether the rest of the body can go from the socket to a file within the kernel: no TLS, and nothing of
// it read yet by this process.
func (a *Answer) CanSplice() bool {
	return canSplice && a.connection.tcp != nil && a.connection.reader.Buffered() == 0
}

// Splice moves up to n bytes to the file's current position, and returns how many it moved.
func (a *Answer) Splice(file *os.File, n int64) (int64, error) {
	a.connection.extend()
	limited := &io.LimitedReader{R: a.connection.tcp, N: min(n, a.Left)}
	moved, err := file.ReadFrom(limited)
	a.Left -= moved
	switch {
	case ofDisk(err):
		return moved, failure.OfFile(err)
	case moved > 0:
		return moved, nil // an error comes back at the next call
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return 0, a.failed(err)
}

// ofDisk tells the file's errors from the socket's: splice gives both.
func ofDisk(err error) bool {
	for _, number := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EFBIG, syscall.EROFS, syscall.EBADF} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

func (a *Answer) failed(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return causeOr(a.ctx, ofNetwork(err))
}

// all reads a small body of whatever framing, up to a limit, and closes the answer.
func (a *Answer) all(limitBytes int64) ([]byte, error) {
	defer a.Close()
	if a.response.Request.Method == http.MethodHead {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(a.response.Body, limitBytes+1))
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

var byStatus = map[int]struct{ kind, advice string }{
	403: {failure.AccessDenied, "the role may not read the object, or the object doesn't exist (without s3:ListBucket S3 answers 403 " +
		"for a missing key too): check the role, BUCKET_NAME and the key (FILE_NAME)"},
	404: {failure.NoSuchKey, "the object or its bucket doesn't exist: check BUCKET_NAME and the key (FILE_NAME), or make the object"},
	412: {failure.ObjectChanged, "the object was replaced while it was downloaded: leave it alone during a run"},
	503: {failure.SlowDown, "S3 asked to slow down on every try: lower the concurrency or wait for S3 to scale"},
}

// refusal reads an error answer and names it by its HTTP status: the answer to a HEAD has no body, so no code either.
func (a *Answer) refusal() error {
	method := "GetObject"
	if a.response.Request.URL.Query().Has("list-type") {
		method = "ListObjectsV2"
	}
	body, err := a.all(64 << 10)
	if err != nil {
		return err
	}
	var told struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	_ = xml.Unmarshal(body, &told) // without a body the status alone says what is known
	kind, advice := failure.S3, told.Message
	if known, ok := byStatus[a.Status]; ok {
		kind, advice = known.kind, known.advice
	}
	refused := failure.New(kind, "%s %d%s: %s", method, a.Status, strings.TrimRight(" "+told.Code, " "), advice)
	refused.Temporary = passing(a.Status, told.Code)
	return refused
}
