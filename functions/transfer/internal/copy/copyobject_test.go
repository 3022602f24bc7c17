package copy

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/agreed"
	"stampede/transfer/internal/workers"
)

const result = `<?xml version="1.0" encoding="UTF-8"?>` +
	`<CopyObjectResult><ETag>"x"</ETag></CopyObjectResult>`

// renewing gives new credentials each time.
type renewing struct{ retrieved atomic.Int64 }

func (r *renewing) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test",
		SessionToken: fmt.Sprint(r.retrieved.Add(1))}, nil
}

// asking returns a copier whose S3 is a handler.
func asking(t *testing.T, handler http.HandlerFunc) *copier {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s3test.Isolate(t, server.URL)
	return copierTo(t, "", to)
}

func copierTo(t *testing.T, region, name string) *copier {
	t.Helper()
	target, err := bucket.Open(t.Context(), region, name,
		bucket.Options{Silence: 1200 * time.Millisecond, Advice: advice})
	if err != nil {
		t.Fatal(err)
	}
	made, err := newCopier(t.Context(), "from.bucket", target)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ask makes a copy and returns its result: the failure's type, whether the copy is retried, and
// whether S3 may have made it.
func (c *copier) ask(key string) string { return c.askCounting(key, func() {}) }

func (c *copier) askCounting(key string, count func()) string {
	unknown, err := c.copy(context.Background(), row{Source: key, Destination: key}, count)
	said := "done"
	var failed *failure.Error
	if err == errExists {
		said = "exists"
	} else if errors.As(err, &failed) {
		said = failed.Type + map[bool]string{true: " again"}[failed.Temporary]
	}
	return said + map[bool]string{true: " unknown"}[unknown]
}

func TestASourceIsEscapedAsS3Signs(t *testing.T) {
	for key, escaped := range map[string]string{
		"a b+c%/é?&=#":  "/from.bucket/a%20b%2Bc%25/%C3%A9%3F%26%3D%23",
		"%41":           "/from.bucket/%2541",
		"/lead//twice/": "/from.bucket//lead//twice/",
	} {
		c := asking(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || r.URL.Path != "/"+to+"/"+key || r.ContentLength != 0 ||
				r.Header.Get("X-Amz-Copy-Source") != escaped ||
				r.Header.Get("If-None-Match") != "*" || r.Header["Idempotency-Key"] != nil {
				t.Error(r)
			}
			fmt.Fprint(w, result)
		})
		if said := c.ask(key); said != "done" {
			t.Error(said)
		}
	}
}

func TestABucketOnAwsIsInTheHostUnlessItHasDots(t *testing.T) {
	s3test.Isolate(t, "")
	for name, where := range map[string]string{
		"bbb":   "https://bbb.s3.cn-north-1.amazonaws.com.cn/k%20",
		"b.b.c": "https://s3.cn-north-1.amazonaws.com.cn/b.b.c/k%20",
	} {
		request := copierTo(t, "cn-north-1", name).request(row{Destination: "k "})
		if asked := request.URL.String(); asked != where {
			t.Error(asked)
		}
	}
}

func wrong(code, message string) string {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(message))
	return fmt.Sprintf("<?xml version=\"1.0\"?>\n"+
		"<Error><Code>%s</Code><Message>%s</Message></Error>", code, &escaped)
}

type answer struct {
	status int
	body   string
}

// recorded is an answer of S3 to a copy.
func recorded(t *testing.T, id string) answer {
	told := agreed.Recorded(t, id)
	if told.Code != "" {
		return answer{told.Status, wrong(told.Code, told.Message)}
	}
	body := "\n\n<CopyObjectResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
	for name, value := range told.Fields["CopyObjectResult"].(map[string]any) {
		body += fmt.Sprintf("<%s>%v</%s>", name, value, name)
	}
	return answer{told.Status, body + "</CopyObjectResult>"}
}

func TestAnAnswerIsTrustedOnlyWhenWhole(t *testing.T) {
	const unknown = failure.S3 + " again unknown"
	tooLarge := "larger than the maximum allowable size for a copy source: 5368709120"
	for given, want := range map[answer]string{
		{200, result}: "done", {200, "  \n" + result}: "done", {412, ""}: "exists",
		{307, ""}:                                 failure.S3,
		{404, wrong("NoSuchBucket", "")}:          failure.NoSuchBucket,
		{403, wrong("InvalidObjectState", "")}:    failure.ObjectArchived,
		{400, wrong("InvalidRequest", tooLarge)}:  failure.ObjectTooLarge,
		{503, wrong("SlowDown", "")}:              failure.SlowDown + " again",
		{503, "<html>Service Unavailable</html>"}: unknown,
		{500, wrong("InternalError", "")}:         unknown,
		// behind a 200
		{200, wrong("InternalError", "")}:      unknown,
		{200, " \n" + wrong("SlowDown", "")}:   failure.SlowDown + " again",
		{200, wrong("PreconditionFailed", "")}: "exists",
		{200, wrong("AccessDenied", "")}:       failure.AccessDenied,
		// no whole result
		{200, ""}: unknown, {200, "<CopyObjectResult><ETag>"}: unknown,
		{200, "<html></html>"}:                               failure.S3,
		{200, strings.Repeat("x", 2*longestAnswer) + result}: failure.S3,
		// what AWS was recorded to answer
		recorded(t, "s3-97"): failure.S3, recorded(t, "s3-98"): "done",
		recorded(t, "s3-100"): failure.NoSuchKey, recorded(t, "s3-102"): "done",
		recorded(t, "s3-103"): failure.S3, recorded(t, "s3p-104"): "exists",
		recorded(t, "s3-107"): "done", recorded(t, "s3-108"): "done",
		recorded(t, "s3a-113"): "exists", recorded(t, "s3-none-match"): "exists",
		recorded(t, "s3-conflict"): unknown,
	} {
		c := asking(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(given.status)
			fmt.Fprint(w, given.body)
		})
		if said := c.ask("k"); said != want {
			t.Error(given, said)
		}
	}
}

func TestAnAnswerThatIsMissingOrEndlessHasAnUnknownOutcomeAndASlowOneIsWaitedFor(t *testing.T) {
	usual := longestCall
	longestCall = 2 * time.Second
	defer func() { longestCall = usual }()
	// span is longer than the silence that ends a call
	spaces := func(span time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for end := time.Now().Add(span); r.Context().Err() == nil && time.Now().Before(end); {
				fmt.Fprint(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
			fmt.Fprint(w, result)
		}
	}
	none := func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, s3test.HangUp, "") }
	copiers := []*copier{asking(t, none), asking(t, spaces(time.Minute)),
		asking(t, spaces(1600*time.Millisecond))}
	_ = workers.Run(t.Context(), 3, func(_ context.Context, i int64) error {
		wants := []string{"ConnectionCut again unknown", "ReadTimeout again unknown", "done"}
		if said := copiers[i].ask("k"); said != wants[i] {
			t.Error(said, wants[i])
		}
		return nil
	})
}

func TestAKeptConnectionThatEndsCostsNoTryAndLeavesTheOutcomeUnknown(t *testing.T) {
	for status, want := range map[int]string{412: "exists unknown",
		503: failure.S3 + " again unknown"} {
		asked, counted := 0, 0
		c := asking(t, func(w http.ResponseWriter, _ *http.Request) {
			switch asked++; asked {
			case 1:
				fmt.Fprint(w, result)
			case 2: // it makes the copy and hangs up
				s3test.Refuse(w, s3test.HangUp, "")
			default:
				w.WriteHeader(status)
			}
		})
		count := func() { counted++ }
		first, second := c.askCounting("k", count), c.askCounting("k", count)
		if first != "done" || second != want || asked != 3 || counted != 3 {
			t.Error(first, second, asked, counted)
		}
	}
}

func TestAnAnswerThatNobodyAskedForHarmsNobody(t *testing.T) {
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(result), result)
	for _, unasked := range []string{answer,
		"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"nonsense"} {
		var asked atomic.Int64
		c := asking(t, func(w http.ResponseWriter, r *http.Request) {
			connection, buffer, _ := http.NewResponseController(w).Hijack()
			defer connection.Close()
			for ; r != nil; r, _ = http.ReadRequest(buffer.Reader) {
				text := answer
				// the answer to another request would pass for a copy
				if strings.HasSuffix(r.URL.Path, "missing") {
					text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
				}
				_, _ = io.WriteString(connection,
					text+map[bool]string{true: unasked}[asked.Add(1)%3 == 0])
			}
		})
		_ = workers.Run(t.Context(), 4, func(_ context.Context, worker int64) error {
			key := []string{"there", "missing"}[worker%2]
			want := []string{"done", failure.NoSuchKey}[worker%2]
			for range 1000 { // an unasked answer seldom comes between two calls
				said := c.ask(key)
				// the connection ended: the call is made again
				for strings.HasPrefix(said, failure.ConnectionCut) {
					said = c.ask(key)
				}
				if strings.TrimSuffix(said, " unknown") != want {
					t.Error(unasked, said)
				}
			}
			return nil
		})
	}
}
