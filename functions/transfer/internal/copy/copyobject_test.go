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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/recorded"
)

const result = `<?xml version="1.0" encoding="UTF-8"?><CopyObjectResult><ETag>"x"</ETag></CopyObjectResult>`

// renewing is a source of credentials that are other ones each time.
type renewing struct{ retrieved atomic.Int64 }

func (r *renewing) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test", SessionToken: fmt.Sprint(r.retrieved.Add(1))}, nil
}

// asking makes copies with a server that answers with a handler.
func asking(t *testing.T, handler http.HandlerFunc) *copier {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s3test.Isolate(t, server.URL)
	target, err := bucket.Open(t.Context(), account.Given{}, to, bucket.Options{Silence: 1200 * time.Millisecond, Advice: advice})
	if err != nil {
		t.Fatal(err)
	}
	made, err := newCopier(t.Context(), "from.bucket", target)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (c *copier) ask(key string) (unknown bool, err error) {
	return c.copy(context.Background(), row{Source: key, Destination: key}, func() {})
}

// judged is the failure's type, and whether the copy is tried again.
func judged(err error) string {
	var failed *failure.Error
	switch {
	case err == nil:
		return "done"
	case err == errExists:
		return "exists"
	case errors.As(err, &failed) && failed.Temporary:
		return failed.Type + ", tried again"
	case errors.As(err, &failed):
		return failed.Type
	}
	return fmt.Sprintf("%T", err)
}

func hangUp(w http.ResponseWriter) {
	connection, _, _ := http.NewResponseController(w).Hijack()
	_ = connection.Close()
}

func TestASourceIsEscapedAsS3SignsAndMayHaveAVersion(t *testing.T) {
	for key, escaped := range map[string]string{
		"a b+c%/é?&=#": "/from.bucket/a%20b%2Bc%25/%C3%A9%3F%26%3D%23", "%41": "/from.bucket/%2541", "/lead//twice/": "/from.bucket//lead//twice/",
	} {
		c := asking(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || r.Header.Get("X-Amz-Copy-Source") != escaped+"?versionId=v%2F1" || r.Header.Get("If-None-Match") != "*" ||
				r.ContentLength != 0 || r.URL.Path != "/"+to+"/"+key || r.Header["Idempotency-Key"] != nil {
				t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
			}
			fmt.Fprint(w, result)
		})
		if _, err := c.copy(t.Context(), row{Source: key, Version: "v/1", Destination: key}, func() {}); err != nil {
			t.Error(err)
		}
	}
}

func TestABucketOnAwsIsInTheHostUnlessItHasDots(t *testing.T) {
	for name, where := range map[string]string{
		"bbb": "https://bbb.s3.cn-north-1.amazonaws.com.cn/k%20", "b.b.c": "https://s3.cn-north-1.amazonaws.com.cn/b.b.c/k%20",
	} {
		s3test.Isolate(t, "")
		target, _ := bucket.Open(t.Context(), account.Given{Region: "cn-north-1"}, name, bucket.Options{})
		c, err := newCopier(t.Context(), "from", target)
		if err != nil || c.request(row{Destination: "k "}).URL.String() != where {
			t.Error(err, c.request(row{Destination: "k "}).URL)
		}
	}
}

func TestAnAnswerIsTrustedOnlyWhenWhole(t *testing.T) {
	const again = ", tried again"
	wrong := func(code, message string) string {
		return fmt.Sprintf("<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
	for _, c := range []struct {
		status     int
		body, want string
		unknown    bool
	}{
		{200, result, "done", false}, {200, "  \n" + result, "done", false}, {412, "", "exists", false},
		{404, wrong("NoSuchBucket", "no"), failure.NoSuchBucket, false}, {409, wrong("ConditionalRequestConflict", ""), failure.S3 + again, true},
		{400, wrong("InvalidRequest", "larger than the maximum allowable size for a copy source: 5368709120"), failure.ObjectTooLarge, false},
		{403, wrong("InvalidObjectState", "no"), failure.ObjectArchived, false},
		{503, wrong("SlowDown", "slow"), failure.SlowDown + again, false},
		{503, "<html>Service Unavailable</html>", failure.S3 + again, true}, {500, wrong("InternalError", "oh"), failure.S3 + again, true},
		{307, "", failure.S3, false},
		// behind a 200
		{200, wrong("InternalError", "oh"), failure.S3 + again, true}, {200, " \n" + wrong("SlowDown", ""), failure.SlowDown + again, false},
		{200, wrong("PreconditionFailed", ""), "exists", false},
		{200, wrong("AccessDenied", "no"), failure.AccessDenied, false},
		// no whole result
		{200, "", failure.S3 + again, true}, {200, "<CopyObjectResult><ETag>", failure.S3 + again, true},
		{200, "<html></html>", failure.S3, false}, {200, strings.Repeat("x", 2*longestAnswer) + result, failure.S3, false},
	} {
		asked := asking(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		if unknown, err := asked.ask("k"); judged(err) != c.want || unknown != c.unknown {
			t.Errorf("%d %.60q: %s, unknown %v: %v", c.status, c.body, judged(err), unknown, err)
		}
	}
}

func TestWhatS3WasRecordedToAnswerIsWhatACopyTakesItFor(t *testing.T) {
	for id, wanted := range map[string]string{
		"s3-97": failure.S3, "s3-98": "done", "s3-100": failure.NoSuchKey, "s3-102": "done", "s3-103": failure.S3, "s3p-104": "exists",
		"s3-107": "done", "s3-108": "done", "s3a-113": "exists", "s3-none-match": "exists", "s3-conflict": failure.S3 + ", tried again",
	} {
		told := recorded.Answer(t, id).Answer
		c := asking(t, func(w http.ResponseWriter, _ *http.Request) {
			if told.Code != "" {
				w.WriteHeader(told.Status)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>", told.Code)
				_ = xml.EscapeText(w, []byte(told.Message))
				fmt.Fprint(w, "</Message></Error>")
				return
			}
			fmt.Fprint(w, "\n\n<CopyObjectResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">")
			for name, value := range told.Fields["CopyObjectResult"].(map[string]any) {
				fmt.Fprintf(w, "<%s>%v</%s>", name, value, name)
			}
			fmt.Fprint(w, "</CopyObjectResult>")
		})
		_, err := c.ask("k")
		if judged(err) != wanted || wanted == failure.S3 && !strings.Contains(err.Error(), told.Message) {
			t.Errorf("%s: %v instead of %s", id, err, wanted)
		}
	}
}

func TestAnAnswerThatIsMissingOrEndlessHasAnUnknownOutcomeAndASlowOneIsWaitedFor(t *testing.T) {
	usual := longestCall
	longestCall = 2 * time.Second
	defer func() { longestCall = usual }()
	trickle := func(w http.ResponseWriter, r *http.Request, seconds float64) {
		for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); r.Context().Err() == nil && time.Now().Before(end); {
			fmt.Fprint(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}
	var running sync.WaitGroup
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"no answer":               {func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }, failure.ConnectionCut},
		"white space without end": {func(w http.ResponseWriter, r *http.Request) { trickle(w, r, 60) }, failure.ReadTimeout},
		"white space while S3 copies": {func(w http.ResponseWriter, r *http.Request) { // longer than the silence that is too long
			trickle(w, r, 1.6)
			fmt.Fprint(w, result)
		}, ""},
	} {
		asked := asking(t, c.answer)
		running.Add(1)
		go func() {
			defer running.Done()
			want := map[bool]string{true: "done", false: c.want + ", tried again"}[c.want == ""]
			if unknown, err := asked.ask("k"); judged(err) != want || unknown != (c.want != "") {
				t.Errorf("%s: unknown %v, %v", name, unknown, err)
			}
		}()
	}
	running.Wait()
}

func TestAKeptConnectionThatEndsCostsNoTryAndLeavesTheOutcomeUnknown(t *testing.T) {
	for _, status := range []int{412, 503} {
		asked, counted := 0, 0
		c := asking(t, func(w http.ResponseWriter, _ *http.Request) {
			switch asked++; asked {
			case 2: // it makes the copy and hangs up
				hangUp(w)
			case 3:
				w.WriteHeader(status)
			default:
				fmt.Fprint(w, result)
			}
		})
		for _, second := range []bool{false, true} {
			unknown, err := c.copy(t.Context(), row{Source: "k", Destination: "k"}, func() { counted++ })
			if unknown != second || (err == nil) == second || second && (err == errExists) != (status == 412) {
				t.Errorf("%d: unknown %v, %v", status, unknown, err)
			}
		}
		if asked != counted {
			t.Errorf("%d requests, %d counted", asked, counted)
		}
	}
}

func TestAnAnswerThatNobodyAskedForHarmsNobody(t *testing.T) {
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(result), result)
	for _, unasked := range []string{answer, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "nonsense"} {
		var asked atomic.Int64
		c := asking(t, func(w http.ResponseWriter, r *http.Request) {
			connection, buffer, _ := http.NewResponseController(w).Hijack()
			defer connection.Close()
			for ; r != nil; r, _ = http.ReadRequest(buffer.Reader) {
				text := answer
				if strings.HasSuffix(r.URL.Path, "missing") { // who gets another's answer takes this for a copy
					text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
				}
				_, _ = io.WriteString(connection, text+map[bool]string{true: unasked}[asked.Add(1)%3 == 0])
			}
		})
		var workers sync.WaitGroup
		for worker := range 4 {
			workers.Add(1)
			go func() {
				defer workers.Done()
				for range 1000 { // seldom does one come between two calls
					key := []string{"there", "missing"}[worker%2]
					_, err := c.ask(key)
					for !isAnswer(err) { // a call on a connection that ended, which is made again
						_, err = c.ask(key)
					}
					if isOf(err, failure.NoSuchKey) != (worker%2 == 1) {
						t.Errorf("%.20q: %v", unasked, err)
					}
				}
			}()
		}
		workers.Wait()
	}
}

func TestAWrongClockIsCorrectedOnceAndATimeThatS3RefusesAlthoughItIsItsOwnIsForEveryRow(t *testing.T) {
	c := asking(t, func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Add(2 * time.Hour)
		signed, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		if now.Sub(signed).Abs() > 15*time.Minute || strings.HasSuffix(r.URL.Path, "never") {
			w.WriteHeader(403)
			fmt.Fprint(w, "<Error><Code>RequestTimeTooSkewed</Code></Error>")
			return
		}
		fmt.Fprint(w, result)
	})
	for i, want := range []string{failure.Settings + ", tried again", "done", failure.Settings} {
		if _, err := c.ask([]string{"k", "k", "never"}[i]); judged(err) != want {
			t.Errorf("call %d: %+v", i, err)
		}
	}
}
