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
	// sdk in records: the AWS SDK only signs copies.
	sdk = "none"
	// A copy has no body, and plain HTTP is only for loopback: hashing would gain nothing.
	unsigned = "UNSIGNED-PAYLOAD"
	// S3 is silent or sends white space while it copies. 5 GB take more than a minute.
	silence = 90 * time.Second
	// longestAnswer is the most bytes read of an answer to a copy.
	longestAnswer = 64 << 10
	// A TLS handshake is mostly computation. If a thousand shared a small part of a processor, the
	// last ones would time out.
	handshakesAtOnce = 64
)

// longestCall bounds a call whose answer never ends, but is never silent. A variable for tests.
var longestCall = 15 * time.Minute

// errExists: an object already has the destination's key, and nothing was copied.
var errExists = errors.New("CopyObject 412 PreconditionFailed: the destination exists")

// copier makes CopyObject calls with a bucket's connections and credentials. The SDK's own call
// would take three times the CPU.
type copier struct {
	to      *bucket.Bucket
	where   url.URL     // for the empty key
	source  string      // for the empty key
	header  http.Header // of every request
	signer  *v4.Signer
	opening chan struct{} // calls that may still need a connection
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
	requests    int // net/http sends a second one if a kept connection turns out to be closed
}

// copy calls CopyObject once for a row. The error is errExists if the destination is taken. count
// is called for every request. unknown says that this or an earlier request of the call may have
// made the copy whatever the error is.
func (c *copier) copy(ctx context.Context, r row, count func()) (unknown bool, err error) {
	late := failure.Passing(failure.ReadTimeout,
		"S3 hadn't ended its answer to CopyObject after %v", longestCall)
	ctx, cancel := context.WithTimeoutCause(ctx, longestCall, late)
	defer cancel()
	sent := &call{Request: c.request(r)}
	if sent.credentials, err = c.to.Identify(ctx); err != nil {
		return false, err
	}
	err = c.signer.SignHTTP(ctx, sent.credentials, sent.Request, unsigned, "s3", c.to.Region,
		time.Now())
	if err != nil {
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

// send sends a call and reads its whole answer.
func (c *copier) send(ctx context.Context, sent *call,
	count func()) (*http.Response, []byte, error) {
	// This header isn't sent. It lets net/http send the request again if a kept connection ends
	// before the first byte of an answer.
	sent.Header["Idempotency-Key"] = nil
	c.opening <- struct{}{}
	opened := sync.OnceFunc(func() { <-c.opening })
	defer opened()
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			opened()
			if got.Reused && !bucket.IsSilent(got.Conn) {
				_ = got.Conn.Close() // before anything is sent: net/http takes another connection
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

// judge trusts no incomplete answer: S3 may answer 200 and then an error, or nothing.
func (c *copier) judge(ctx context.Context, sent *call, answer *http.Response, body []byte) error {
	var said struct{ Code, Message, Region string }
	has := func(text string) bool { return bytes.Contains(body, []byte(text)) }
	status := answer.StatusCode
	switch {
	case status >= 300 || has("<Error>"):
		_ = xml.Unmarshal(body, &said) // without a body only the status is known
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
	if refused.Expired {
		c.to.Renew(ctx, sent.credentials)
	}
	return refused
}

// statusBefore is the status that belongs to an error code after a 200.
var statusBefore = map[string]int{
	"PreconditionFailed": 412, "ConditionalRequestConflict": 409, "OperationAborted": 409,
	"InternalError": 500, "AccessDenied": 403,
	"ServiceUnavailable": 503, "SlowDown": 503,
}

// refused turns a refusal into a failure, with the reasons that only copies have.
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
	case said.Status == http.StatusConflict: // with another request for this key
		refused.Temporary = true
	}
	if kind != "" {
		refused.Type, refused.Message = kind, said.Answer()+": "+advice
	}
	return refused
}
