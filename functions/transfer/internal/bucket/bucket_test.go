package bucket

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/observed"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/agreed"
	"stampede/transfer/internal/s3test/recorded"
)

// TestMain sets a proxy: net/http reads the environment once in a process, and never uses one for loopback.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { send(w, "proxied "+r.URL.Host) }))
	_ = os.Setenv("HTTP_PROXY", proxy.URL)
	_ = os.Setenv("http_proxy", proxy.URL)
	os.Exit(m.Run())
}

// open makes the client of a bucket on a server, with short pauses and credentials that can't come from anywhere else.
func open(t *testing.T, url string, options Options) *Bucket {
	t.Helper()
	s3test.Isolate(t, url)
	if os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
	}
	b, err := Open(t.Context(), account.Given{}, "data", options)
	if err != nil {
		t.Fatal(err)
	}
	b.Retry.FirstPause = time.Millisecond
	return b
}

func answering(t *testing.T, options Options, answer http.HandlerFunc) *Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return open(t, server.URL, options)
}

func send(w http.ResponseWriter, body string) {
	w.Header().Set("Etag", `"e"`)
	_, _ = io.WriteString(w, body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Said by S3.</Message></Error>", code)
}

var whole = Span{Key: "k", Last: Whole}

// read gets a span, and says what the failure is called and how many requests that took.
func (b *Bucket) read(span Span) (body, kind string, requests int64, err error) {
	counted := &observed.Work{}
	err = b.Do(context.Background(), counted, "GetObject", func() error {
		stream, _, err := b.Get(context.Background(), span)
		if err != nil {
			return err
		}
		defer stream.Close()
		bytes, err := io.ReadAll(stream)
		body = string(bytes)
		return err
	})
	if err != nil {
		kind, _ = failure.Describe(err)
	}
	if counted.Retries.Load() != counted.Requests.Load()-1 {
		kind += " with wrong counts"
	}
	return body, kind, counted.Requests.Load(), err
}

func TestTheTimeoutsAreThoseThatBothLanguagesAgreedOn(t *testing.T) {
	var timeouts map[string]float64
	agreed.Read(t, "timeouts.json", &timeouts)
	if timeouts["connect_s"] != connectTimeout.Seconds() || timeouts["read_s"] != ReadTimeout.Seconds() {
		t.Errorf("%v: the timeouts are %v and %v", timeouts, connectTimeout, ReadTimeout)
	}
}

func TestWhatS3RefusesHasItsWordAndIsTriedAgainWhereItMayPass(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, kind string
		requests   int64
		said       string
	}{
		{403, "AccessDenied", failure.AccessDenied, 1, "GetObject 403 AccessDenied: the role may not"},
		{404, "NoSuchKey", failure.NoSuchKey, 1, "own advice"},
		{412, "PreconditionFailed", failure.ObjectChanged, 1, "replaced"},
		{429, "TooManyRequests", failure.S3, 1, ""},
		{503, "SlowDown", failure.SlowDown, 4, "(after all retries)"},
		{408, "", failure.S3, 4, ""},
		{400, "RequestTimeout", failure.S3, 4, ""},
		{400, "BadDigest", failure.ChecksumMismatch, 1, ""},
		{403, "SignatureDoesNotMatch", failure.NoCredentials, 1, "doesn't accept"},
		{400, "ExpiredToken", failure.NoCredentials, 2, "have expired"},
		{403, "RequestTimeTooSkewed", failure.Settings, 2, "clock"},
		{301, "PermanentRedirect", failure.Settings, 1, "eu-north-1"},
		{307, "TemporaryRedirect", failure.S3, 1, ""}, // which isn't followed
	} {
		b := answering(t, Options{Advice: map[string]string{"GetObject NoSuchKey": "own advice"}}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
			w.Header().Set("Location", "/elsewhere")
			refuse(w, c.status, c.code)
		})
		if _, kind, requests, err := b.read(whole); kind != c.kind || requests != c.requests || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%d %s: %s after %d requests: %v", c.status, c.code, kind, requests, err)
		}
	}
}

func TestWhatS3WasRecordedToAnswerIsWhatAReadTakesItFor(t *testing.T) {
	for id, wanted := range map[string]string{"s3-116": failure.S3, "s3-119": failure.ObjectChanged, "s3-120": failure.S3, "s3-123": failure.S3} {
		row := recorded.Answer(t, id).Answer
		b := answering(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			if w.WriteHeader(row.Status); row.Status != http.StatusNotModified {
				fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", row.Code)
			}
		})
		for _, first := range []int64{1024, 0} {
			_, kind, _, err := b.read(Span{Key: "k", First: first, Last: 4096})
			if kind != wanted || (err == ErrNoBytes) != (first == 0 && id == "s3-116") {
				t.Errorf("%s from %d: %v", id, first, err)
			}
		}
	}
}

// roles hands out credentials as Lambda's container does, and counts them: token1, token2, ...
func roles(t *testing.T) *atomic.Int64 {
	made := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"AccessKeyId": "test", "SecretAccessKey": "s", "Token": fmt.Sprint("token", made.Add(1)),
			"Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL)
	return made
}

func TestExpiredCredentialsAreRenewedOnceForAllRequestsUnderWayOverNoMoreConnectionsThanAllowed(t *testing.T) {
	made := roles(t)
	var under, most atomic.Int64
	b := answering(t, Options{Connections: 15}, func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		if time.Sleep(20 * time.Millisecond); r.Header.Get("X-Amz-Security-Token") == "token1" {
			refuse(w, 400, "ExpiredToken")
			return
		}
		send(w, "bytes")
	})
	var readers sync.WaitGroup
	var all atomic.Int64
	for range 20 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			body, kind, requests, _ := b.read(whole)
			if all.Add(requests); body != "bytes" || kind != "" {
				t.Error(body, kind)
			}
		}()
	}
	readers.Wait()
	if made.Load() != 2 || all.Load() != 40 || most.Load() > 15 {
		t.Errorf("%d credentials, %d requests, %d at once", made.Load(), all.Load(), most.Load())
	}
}

const head = "HTTP/1.1 200 OK\r\nEtag: \"e\"\r\n"

func TestAnAnswerThatIsCutSilentEndlessOrNotS3sIsAFailure(t *testing.T) {
	nine, silence := head+"Content-Length: 9\r\n\r\n", "..."
	for name, c := range map[string]struct {
		text, then, kind string // then comes again and again
		requests         int64
	}{
		"none":              {"", "", failure.ConnectionCut, 4},
		"a cut body":        {nine + "bytes", "", failure.ConnectionCut, 4},
		"a silent head":     {"", silence, failure.ReadTimeout, 4},
		"a silent body":     {nine + "b", silence, failure.ReadTimeout, 4},
		"an endless head":   {head, "X-More: " + strings.Repeat("x", 1000) + "\r\n", failure.ConnectionCut, 4},
		"an endless reason": {"HTTP/1.1 500 No\r\n\r\n<Error>", strings.Repeat("<Code>x</Code>", 1000), failure.S3, 4},
		"no length":         {head + "\r\nbytes", "", failure.S3, 1},
		"no ETag":           {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbytes", "", failure.S3, 1},
		"an unasked range":  {head + "Content-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nbytes", "", failure.S3, 1},
	} {
		longest := 300 * time.Millisecond
		if c.then != silence {
			longest = time.Minute
		}
		b := answering(t, Options{Silence: longest}, func(w http.ResponseWriter, r *http.Request) {
			connection, _, _ := http.NewResponseController(w).Hijack()
			defer connection.Close()
			_, err := io.WriteString(connection, c.text)
			for c.then != "" && err == nil {
				if c.then == silence {
					_, err = connection.Read(make([]byte, 1)) // until the client gives up
				} else {
					_, err = io.WriteString(connection, c.then)
				}
			}
		})
		began := time.Now()
		if _, kind, requests, err := b.read(whole); kind != c.kind || requests != c.requests || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %d requests and %v", name, err, requests, time.Since(began))
		}
	}
}

func TestTheProxyOfTheEnvironmentIsAskedButForLoopback(t *testing.T) {
	if body, _, _, err := open(t, "http://s3.example.test", Options{}).read(whole); err != nil || body != "proxied s3.example.test" {
		t.Error(body, err)
	}
}
