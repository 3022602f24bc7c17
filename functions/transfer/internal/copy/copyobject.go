package copy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
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
	// While S3 copies a large object it is silent or sends white space: an object of 5 GB takes a
	// minute and more.
	silence = 90 * time.Second
	// More is no answer to a copy.
	longestAnswer = 64 << 10
	// A TLS handshake is mostly arithmetic. A thousand at once on a small share of a processor
	// would all take as long as the thousand, and the last would be given up for lost.
	handshakesAtOnce = 64
)

// longestCall bounds a call whose answer never ends, though it is never silent. A variable for
// tests.
var longestCall = 15 * time.Minute

// errExists says that an object has the destination's key, so nothing was copied.
var errExists = errors.New("CopyObject 412 PreconditionFailed: the destination exists")

// copier makes CopyObject calls with a bucket's connections and credentials. The SDK's own call
// would take three times the CPU.
type copier struct {
	to      *bucket.Bucket
	where   url.URL     // of the empty key
	source  string      // of the empty key
	header  http.Header // of every request
	signer  *v4.Signer
	opening chan struct{} // calls that may not have their connection yet
}

func newCopier(ctx context.Context, from string, to *bucket.Bucket) (*copier, error) {
	options := to.Client.Options()
	endpoint, err := s3.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, s3.EndpointParameters{
		Bucket: &to.Name, Region: &options.Region, Endpoint: options.BaseEndpoint,
		ForcePathStyle: &options.UsePathStyle,
	}.WithDefaults())
	if err != nil {
		return nil, failure.New(failure.Settings,
			"the bucket %s in the region %q has no address: %v", to.Name, options.Region, err)
	}
	where := endpoint.URI
	where.Path, where.RawPath = where.Path+"/", where.EscapedPath()+"/"
	return &copier{
		to: to, where: where, source: "/" + httpbinding.EscapePath(from, true) + "/",
		header: http.Header{"User-Agent": {"stampede-transfer/1"},
			"X-Amz-Content-Sha256": {unsigned}, "If-None-Match": {"*"}},
		signer:  v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		opening: make(chan struct{}, handshakesAtOnce),
	}, nil
}

// call is one CopyObject.
type call struct {
	*http.Request
	credentials aws.Credentials
	requests    int // sent: net/http sends it again where a kept connection turns out to be closed
}

// copy asks S3 once for the copy of a row, unless its destination is taken: then the error is
// errExists. count hears of every request. unknown says that S3 may have made the copy whatever the
// error is, or an earlier request of the same call.
func (c *copier) copy(ctx context.Context, r row, count func()) (unknown bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestCall,
		failure.Passing(failure.ReadTimeout, "S3 hadn't ended its answer to CopyObject after %v",
			longestCall))
	defer cancel()
	sent := &call{Request: c.request(r)}
	if sent.credentials, err = c.to.Identify(ctx); err != nil {
		return false, err
	}
	if err := c.signer.SignHTTP(ctx, sent.credentials, sent.Request, unsigned, "s3", c.to.Region,
		time.Now()); err != nil {
		return false, failure.New(failure.Unexpected, "signing the request: %v", err)
	}
	answer, body, err := c.send(ctx, sent, count)
	if err != nil {
		return sent.requests > 0, c.to.Explain(ctx, copyObject, err)
	}
	err = c.judge(ctx, sent, answer, body)
	var refused *failure.Error
	return sent.requests > 1 || errors.As(err, &refused) && refused.Type == failure.S3 &&
		refused.Temporary, err
}

func (c *copier) request(r row) *http.Request {
	where, header := c.where, maps.Clone(c.header)
	where.Path += r.Destination
	where.RawPath += httpbinding.EscapePath(r.Destination, false)
	header["X-Amz-Copy-Source"] = []string{c.source + httpbinding.EscapePath(r.Source, false)}
	return &http.Request{Method: http.MethodPut, URL: &where, Host: where.Host, Header: header}
}

// send sends a call and reads its answer whole.
func (c *copier) send(ctx context.Context, sent *call, count func()) (*http.Response, []byte,
	error) {
	// Unsent, it lets net/http send the request again when a kept connection ends before the first
	// byte of an answer.
	sent.Header["Idempotency-Key"] = nil
	c.opening <- struct{}{}
	opened := sync.OnceFunc(func() { <-c.opening })
	defer opened()
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			opened()
			if got.Reused && !bucket.IsSilent(got.Conn) {
				_ = got.Conn.Close() // nothing goes out on it, so net/http takes another
				return
			}
			sent.requests++
			count()
		}})
	answer, err := c.to.Transport.Do(sent.WithContext(traced))
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer))
	return answer, body, err
}

// judge trusts no answer that isn't whole: S3 may answer 200 and then an error, or nothing.
func (c *copier) judge(ctx context.Context, sent *call, answer *http.Response, body []byte) error {
	var said struct{ Code, Message, Region string }
	has := func(text string) bool { return bytes.Contains(body, []byte(text)) }
	status := answer.StatusCode
	switch {
	case status >= 300 || has("<Error>"):
		_ = xml.Unmarshal(body, &said) // without a body the status alone says what is known
	case has("</CopyObjectResult>"):
		return nil
	case has("<CopyObjectResult") || len(bytes.TrimSpace(body)) == 0:
		return failure.Passing(failure.S3, "CopyObject %d ended before its result: whether S3 "+
			"made the copy isn't known", status)
	default:
		return failure.New(failure.S3, "CopyObject %d without a result: this server isn't "+
			"compatible with S3", status)
	}
	if status < 300 {
		status = cmp.Or(statusBefore[said.Code], status)
	}
	if status == http.StatusPreconditionFailed {
		return errExists
	}
	refused := c.refused(bucket.Refusal{
		Operation: copyObject, Status: status, Code: said.Code, Message: said.Message,
		Region: cmp.Or(answer.Header.Get("X-Amz-Bucket-Region"), said.Region),
	})
	if refused.Mended {
		c.to.Renew(ctx, sent.credentials)
	}
	return refused
}

// statusBefore is what a code that came behind a 200 means before it.
var statusBefore = map[string]int{
	"PreconditionFailed": 412, "ConditionalRequestConflict": 409, "OperationAborted": 409,
	"InternalError": 500, "AccessDenied": 403,
	"ServiceUnavailable": 503, "SlowDown": 503,
}

// refused names a refusal, and what only a copy can be refused for.
func (c *copier) refused(said bucket.Refusal) *failure.Error {
	refused, kind, advice := c.to.Refused(said), "", ""
	switch {
	case said.Code == "InvalidRequest" &&
		strings.Contains(said.Message, "maximum allowable size for a copy source"):
		kind, advice = failure.ObjectTooLarge, "one CopyObject takes at most 5 GB: copy it in "+
			"parts, as \"aws s3 cp\" does"
	case said.Code == "InvalidObjectState":
		kind, advice = failure.ObjectArchived, "the source is archived: restore it before it is "+
			"copied"
	case said.Status == http.StatusServiceUnavailable && said.Code != failure.SlowDown:
		kind, advice = failure.S3, "this isn't S3's SlowDown: S3, or a proxy before it, "+
			"couldn't answer; try again later"
	case said.Status == http.StatusConflict: // another request for this key was under way
		refused.Temporary = true
	}
	if kind != "" {
		refused.Type, refused.Message = kind, said.Answer()+": "+advice
	}
	return refused
}
