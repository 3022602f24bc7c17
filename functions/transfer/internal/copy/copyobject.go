package copy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
)

const (
	copyObject = "CopyObject"
	// The AWS SDK signs copies and does no more: what records say of them.
	sdk = "none"
	// A copy has no body, and plain HTTP is for loopback: nothing is gained by hashing.
	unsigned = "UNSIGNED-PAYLOAD"
	// While S3 copies a large object it is silent or sends white space: an object of 5 GB takes a minute and more.
	silence = 90 * time.Second
	// More is no answer to a copy.
	longestAnswer = 64 << 10
	// A TLS handshake is mostly arithmetic. A thousand at once on a small share of a processor would all take as long as the
	// thousand, and the last would be given up for lost.
	handshakesAtOnce = 64
	// mostYields are enough for net/http to look for what follows an answer.
	mostYields = 1000
	// LargestCopyBytes is the most that one CopyObject takes: 5 GB in its documentation, this in S3's error.
	largestCopyBytes = 5 << 30
	tooLargeAdvice   = "one CopyObject takes at most 5 GB: copy it in parts (UploadPartCopy), as \"aws s3 cp\" does; copies by S3 " +
		"Batch Operations have the same limit"
)

// longestCall bounds a call whose answer never ends, though it is never silent. A variable for tests.
var longestCall = 15 * time.Minute

// errExists says that an object has the destination's key, so nothing was copied.
var errExists = errors.New("CopyObject 412 PreconditionFailed: the destination exists")

// copier makes CopyObject calls with a bucket's connections and credentials. The SDK's own call would take three times the CPU.
type copier struct {
	to      *bucket.Bucket
	where   url.URL     // of the empty key
	source  string      // of the empty key
	header  http.Header // of every request
	signer  *v4.Signer
	clock   atomic.Int64  // ns by which S3's time is ahead of this machine's
	opening chan struct{} // calls that may not have their connection yet
}

func newCopier(ctx context.Context, from string, to *bucket.Bucket) (*copier, error) {
	options := to.Client.Options()
	found, err := s3.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, s3.EndpointParameters{
		Bucket: &to.Name, Region: &options.Region, Endpoint: options.BaseEndpoint, ForcePathStyle: &options.UsePathStyle,
	}.WithDefaults())
	if err != nil {
		return nil, failure.New(failure.Settings, "the bucket %s in the region %q has no address: %v", to.Name, options.Region, err)
	}
	found.URI.Path, found.URI.RawPath = found.URI.Path+"/", found.URI.EscapedPath()+"/"
	return &copier{
		to: to, where: found.URI, source: "/" + httpbinding.EscapePath(from, true) + "/",
		header:  http.Header{"User-Agent": {"stampede-transfer/1"}, "X-Amz-Content-Sha256": {unsigned}, "If-None-Match": {"*"}},
		signer:  v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		opening: make(chan struct{}, handshakesAtOnce),
	}, nil
}

// copy asks S3 once for the copy of a row, unless its destination is taken: then the error is errExists. unknown says that S3
// may have made the copy whatever the error is, or that an earlier request may have whose connection turned out to be closed:
// net/http sends it again on a fresh one.
func (c *copier) copy(ctx context.Context, r row, count func()) (unknown bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestCall,
		failure.Passing(failure.ReadTimeout, "S3 hadn't ended its answer to CopyObject after %v", longestCall))
	defer cancel()
	credentials, err := c.to.Credentials.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = failure.New(failure.NoCredentials, "no AWS credentials found: %v", err)
	}
	if err != nil {
		return false, c.to.Explain(ctx, copyObject, err)
	}
	requests := 0
	answer, body, err := c.send(ctx, c.request(r), credentials, func() { requests++; count() })
	if err != nil {
		return requests > 0, c.to.Explain(ctx, copyObject, err)
	}
	err = c.judge(ctx, answer, body, credentials)
	var refused *failure.Error
	return requests > 1 || errors.As(err, &refused) && refused.Type == failure.S3 && refused.Temporary, err
}

func (c *copier) request(r row) *http.Request {
	where := c.where
	where.Path += r.Destination
	where.RawPath += httpbinding.EscapePath(r.Destination, false)
	source := c.source + httpbinding.EscapePath(r.Source, false)
	if r.Version != "" {
		source += "?versionId=" + httpbinding.EscapePath(r.Version, true)
	}
	header := maps.Clone(c.header)
	header["X-Amz-Copy-Source"] = []string{source}
	return &http.Request{Method: http.MethodPut, URL: &where, Host: where.Host, Header: header}
}

// send signs a request and reads its answer whole; counted hears of every connection that the request goes to.
func (c *copier) send(ctx context.Context, request *http.Request, credentials aws.Credentials, counted func()) (*http.Response, []byte, error) {
	now := time.Now().Add(time.Duration(c.clock.Load()))
	if err := c.signer.SignHTTP(ctx, credentials, request, unsigned, "s3", c.to.Region, now); err != nil {
		return nil, nil, failure.New(failure.Unexpected, "signing the request: %v", err)
	}
	// Unsent, it lets net/http send the request again when a kept connection ends before the first byte of an answer.
	request.Header["Idempotency-Key"] = nil
	c.opening <- struct{}{}
	connected := sync.OnceFunc(func() { <-c.opening })
	defer connected()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		connected()
		if got.Reused && !isSilent(got.Conn) {
			_ = got.Conn.Close() // nothing goes out on it, so net/http takes another
			return
		}
		counted()
	}})
	answer, err := c.to.Transport.Do(request.WithContext(traced))
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer))
	return answer, body, err
}

// isSilent tells whether nothing has come on an idle connection, neither into net/http's buffers nor into the kernel's. What did, be
// it an answer that nobody asked for, a 408 or the end, could be taken for the answer to the next request.
func isSilent(connection net.Conn) bool {
	for {
		if reader, ok := connection.(interface{ IsWaiting() bool }); ok && !waits(reader.IsWaiting) {
			return false
		}
		wrapped, ok := connection.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		connection = wrapped.NetConn()
	}
	socket, ok := connection.(syscall.Conn)
	if !ok {
		return true
	}
	silent, first := true, [1]byte{}
	raw, err := socket.SyscallConn()
	if err == nil {
		err = raw.Control(func(number uintptr) {
			_, _, waiting := syscall.Recvfrom(int(number), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			silent = waiting == syscall.EAGAIN
		})
	}
	return err == nil && silent
}

// waits tells whether net/http waits for the next bytes of a connection. It does so soon after an answer, unless there are more in
// its buffer; to be told so it needs the processor.
func waits(isWaiting func() bool) bool {
	for range mostYields {
		if isWaiting() {
			return true
		}
		runtime.Gosched()
	}
	return false
}

// judge trusts no answer that isn't whole: S3 may answer 200 and then an error, or nothing.
func (c *copier) judge(ctx context.Context, answer *http.Response, body []byte, credentials aws.Credentials) error {
	var said struct{ Code, Message, Region string }
	status, has := answer.StatusCode, func(text string) bool { return bytes.Contains(body, []byte(text)) }
	switch {
	case status >= 300 || has("<Error>"):
		_ = xml.Unmarshal(body, &said) // without a body the status alone says what is known
	case has("</CopyObjectResult>"):
		return nil
	case has("<CopyObjectResult") || len(bytes.TrimSpace(body)) == 0:
		return failure.Passing(failure.S3, "CopyObject %d ended before its result: whether S3 made the copy isn't known", status)
	default:
		return failure.New(failure.S3, "CopyObject %d without a result: this server isn't compatible with S3", status)
	}
	refusal := bucket.Refusal{
		Operation: copyObject, Status: status, Code: said.Code, Message: said.Message,
		Region: cmp.Or(answer.Header.Get("X-Amz-Bucket-Region"), said.Region),
	}
	if status < 300 {
		refusal.Status = cmp.Or(statusBefore[said.Code], status)
	}
	if refusal.Status == http.StatusPreconditionFailed {
		return errExists
	}
	refused := c.to.Refused(refusal)
	refusedCopy(refused, refusal)
	if refused.Mended && refused.Type == failure.NoCredentials {
		c.to.Renew(ctx, credentials)
	} else if refused.Mended {
		refused.Mended = c.correctClock(answer)
		refused.Temporary = refused.Mended
	}
	return refused
}

// statusBefore is what a code that came behind a 200 means before it.
var statusBefore = map[string]int{
	"PreconditionFailed": http.StatusPreconditionFailed, "ConditionalRequestConflict": http.StatusConflict, "OperationAborted": http.StatusConflict,
	"InternalError": http.StatusInternalServerError, "AccessDenied": http.StatusForbidden, "ServiceUnavailable": http.StatusServiceUnavailable, "SlowDown": http.StatusServiceUnavailable,
}

// refusedCopy names what only a copy can be refused for.
func refusedCopy(refused *failure.Error, said bucket.Refusal) {
	rename := func(kind, advice string) {
		refused.Type = kind
		refused.Message = strings.TrimRight(fmt.Sprintf("CopyObject %d %s", said.Status, said.Code), " ") + ": " + advice
	}
	switch {
	case said.Code == "InvalidRequest" && strings.Contains(said.Message, "maximum allowable size for a copy source"):
		rename(failure.ObjectTooLarge, tooLargeAdvice)
	case said.Code == "InvalidObjectState":
		rename(failure.ObjectArchived, "the source is archived (S3 Glacier, Deep Archive or an archive tier): restore it before it is copied")
	case said.Status == http.StatusServiceUnavailable && said.Code != failure.SlowDown:
		rename(failure.S3, "this isn't S3's SlowDown: S3, or a proxy before it, couldn't answer; try again later")
	case said.Status == http.StatusConflict: // another request for this key was under way
		refused.Temporary = true
	}
}

// correctClock sets the clock by S3's; false where the request was signed at that time already, so that another would fail too.
func (c *copier) correctClock(answer *http.Response) bool {
	told, err := http.ParseTime(answer.Header.Get("Date"))
	signed, wrong := time.Parse("20060102T150405Z", answer.Request.Header.Get("X-Amz-Date"))
	if err != nil || wrong != nil || told.Sub(signed).Abs() < time.Minute {
		return false
	}
	c.clock.Store(int64(time.Until(told)))
	return true
}
