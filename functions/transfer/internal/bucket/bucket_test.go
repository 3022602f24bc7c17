package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/recorded"
)

// proxied counts what a proxy was asked for: net/http reads the environment once in a process, and never for loopback.
var proxied atomic.Int64

func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "s3.example.test" {
			proxied.Add(1)
		}
		object(w, "proxied")
	}))
	_ = os.Setenv("HTTP_PROXY", proxy.URL)
	_ = os.Setenv("http_proxy", proxy.URL)
	os.Exit(m.Run())
}

type counter struct{ requests, retries atomic.Int64 }

func (c *counter) CountRequest() { c.requests.Add(1) }
func (c *counter) CountRetry()   { c.retries.Add(1) }

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

// object answers with an object.
func object(w http.ResponseWriter, body string) {
	w.Header().Set("Etag", `"e"`)
	_, _ = io.WriteString(w, body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Said by S3.</Message></Error>", code)
}

// read gets the whole object.
func (b *Bucket) read(counted Counter, span Span) (body string, err error) {
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
	return body, err
}

var whole = Span{Key: "k", Last: Whole}

func TestWhatS3RefusesHasItsWordAndIsTriedAgainWhereItMayPass(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, kind string
		requests   int64
		said       string
	}{
		{403, "AccessDenied", failure.AccessDenied, 1, "GetObject 403 AccessDenied: the role may not"},
		{404, "NoSuchKey", failure.NoSuchKey, 1, "own advice"},
		{404, "NoSuchBucket", failure.NoSuchBucket, 1, "check its name"},
		{412, "PreconditionFailed", failure.ObjectChanged, 1, "replaced"},
		{400, "InvalidArgument", failure.S3, 1, "Said by S3."},
		{429, "TooManyRequests", failure.S3, 1, ""},
		{503, "SlowDown", failure.SlowDown, 4, "(after all retries)"},
		{500, "InternalError", failure.S3, 4, ""},
		{408, "", failure.S3, 4, ""},
		{400, "RequestTimeout", failure.S3, 4, ""},
		{400, "BadDigest", failure.ChecksumMismatch, 1, ""},
		{403, "SignatureDoesNotMatch", failure.NoCredentials, 1, "doesn't accept"},
		{400, "ExpiredToken", failure.NoCredentials, 2, "have expired"},
		{403, "RequestTimeTooSkewed", failure.Settings, 2, "clock"},
		{301, "PermanentRedirect", failure.Settings, 1, "eu-north-1"},
		{400, "AuthorizationHeaderMalformed", failure.Settings, 1, "eu-north-1"},
		{307, "TemporaryRedirect", failure.S3, 1, ""},
	} {
		b := answering(t, Options{Advice: map[string]string{"GetObject NoSuchKey": "own advice"}}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
			w.Header().Set("Location", "/elsewhere")
			refuse(w, c.status, c.code)
		})
		seen := &counter{}
		_, err := b.read(seen, whole)
		kind, said := failure.Describe(err)
		if kind != c.kind || seen.requests.Load() != c.requests || seen.retries.Load() != c.requests-1 || !strings.Contains(said, c.said) {
			t.Errorf("%d %s: %s after %d requests: %s", c.status, c.code, kind, seen.requests.Load(), said)
		}
	}
}

func TestWhatS3WasRecordedToAnswerIsWhatAReadTakesItFor(t *testing.T) {
	for id, kind := range map[string]string{"s3-116": failure.S3, "s3-119": failure.ObjectChanged, "s3-120": failure.S3, "s3-123": failure.S3} {
		row := recorded.Answer(t, id).Answer
		b := answering(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			if w.WriteHeader(row.Status); row.Status != http.StatusNotModified {
				fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", row.Code)
			}
		})
		for _, first := range []int64{1024, 0} {
			_, err := b.read(&counter{}, Span{Key: "k", First: first, Last: 4096})
			if got, _ := failure.Describe(err); got != kind || (err == ErrNoBytes) != (first == 0 && id == "s3-116") {
				t.Errorf("%s from %d: %v", id, first, err)
			}
		}
	}
}

// roles hands out credentials as Lambda's container does: test1, test2, ...
func roles(t *testing.T) *atomic.Int64 {
	made := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		number := fmt.Sprint(made.Add(1))
		_ = json.NewEncoder(w).Encode(map[string]string{"AccessKeyId": "test" + number, "SecretAccessKey": "s", "Token": "token" + number,
			"Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL)
	return made
}

func TestExpiredCredentialsAreRenewedOnceForAllRequestsUnderWay(t *testing.T) {
	made := roles(t)
	b := answering(t, Options{Connections: 20}, func(w http.ResponseWriter, r *http.Request) {
		if time.Sleep(20 * time.Millisecond); r.Header.Get("X-Amz-Security-Token") == "token1" {
			refuse(w, 400, "ExpiredToken")
			return
		}
		object(w, "bytes")
	})
	seen := &counter{}
	var readers sync.WaitGroup
	for range 20 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			if body, err := b.read(seen, whole); err != nil || body != "bytes" {
				t.Error(body, err)
			}
		}()
	}
	readers.Wait()
	if made.Load() != 2 || seen.requests.Load() != 40 || seen.retries.Load() != 20 {
		t.Errorf("%d credentials, %d requests, %d retries", made.Load(), seen.requests.Load(), seen.retries.Load())
	}
}

func TestAWrongClockIsCorrectedOnce(t *testing.T) {
	b := answering(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Add(3 * time.Hour)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		signed, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if now.Sub(signed).Abs() > 15*time.Minute {
			refuse(w, 403, "RequestTimeTooSkewed")
			return
		}
		object(w, "bytes")
	})
	for _, requests := range []int64{2, 1} {
		seen := &counter{}
		if _, err := b.read(seen, whole); err != nil || seen.requests.Load() != requests {
			t.Error(err, seen.requests.Load())
		}
	}
}

// raw answers the requests of every connection with bytes, and closes it after the last of them.
func raw(t *testing.T, answer func(w net.Conn, request int) (more bool)) *Bucket {
	t.Helper()
	return answering(t, Options{Silence: 300 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		connection, buffer, _ := http.NewResponseController(w).Hijack()
		defer connection.Close()
		for number := 1; r != nil && answer(connection, number); number++ {
			r, _ = http.ReadRequest(buffer.Reader)
		}
	})
}

const head = "HTTP/1.1 200 OK\r\nEtag: \"e\"\r\n"

func TestAnAnswerThatIsCutSilentOrEndlessIsAFailureOfTheNetworkAndTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		answer func(w io.Writer)
	}{
		"none":          {failure.ConnectionCut, func(io.Writer) {}},
		"no HTTP":       {failure.ConnectionCut, func(w io.Writer) { _, _ = io.WriteString(w, "nonsense\r\n\r\n") }},
		"a cut head":    {failure.ConnectionCut, func(w io.Writer) { _, _ = io.WriteString(w, head) }},
		"a cut body":    {failure.ConnectionCut, func(w io.Writer) { _, _ = io.WriteString(w, head+"Content-Length: 9\r\n\r\nbytes") }},
		"a silent head": {failure.ReadTimeout, func(io.Writer) { time.Sleep(time.Second) }},
		"a silent body": {failure.ReadTimeout, func(w io.Writer) {
			_, _ = io.WriteString(w, head+"Content-Length: 9\r\n\r\nb")
			time.Sleep(time.Second)
		}},
		"an endless head": {failure.ConnectionCut, func(w io.Writer) {
			_, _ = io.WriteString(w, head)
			endless(w, "X-More: "+strings.Repeat("x", 1000)+"\r\n")
		}},
		"endless interims": {failure.ConnectionCut, func(w io.Writer) { endless(w, "HTTP/1.1 102 Processing\r\nX-More: 1\r\n\r\n") }},
		"an endless reason": {failure.S3, func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 500 No\r\n\r\n<Error>")
			endless(w, "<Code>x</Code>")
		}},
	} {
		b, seen := raw(t, func(w net.Conn, _ int) bool { c.answer(w); return false }), &counter{}
		began := time.Now()
		_, err := b.read(seen, whole)
		if kind, _ := failure.Describe(err); kind != c.kind || seen.requests.Load() != 4 || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %d requests and %v", name, err, seen.requests.Load(), time.Since(began))
		}
	}
}

func endless(w io.Writer, line string) {
	for {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

func TestAnAnswerThatIsNotS3sIsRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"no length":        head + "\r\nbytes",
		"no ETag":          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbytes",
		"an unasked range": head + "Content-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nbytes",
	} {
		b, seen := raw(t, func(w net.Conn, _ int) bool { _, _ = io.WriteString(w, answer); return false }), &counter{}
		_, err := b.read(seen, whole)
		if kind, said := failure.Describe(err); kind != failure.S3 || seen.requests.Load() != 1 || !strings.Contains(said, "compatible") {
			t.Errorf("%s: %v after %d requests", name, err, seen.requests.Load())
		}
	}
}

func TestAnAnswerThatNobodyAskedForIsNotTakenForTheNextOne(t *testing.T) {
	var asked atomic.Int64
	b := raw(t, func(w net.Conn, request int) bool {
		body := fmt.Sprintf("%05d", asked.Add(1))
		answer := head + "Content-Length: 5\r\n\r\n"
		_, _ = io.WriteString(w, answer+body+answer+"wrong")
		return true
	})
	for number := range 20 {
		if body, err := b.read(&counter{}, whole); err != nil || body == "wrong" {
			t.Errorf("%d: %q, %v", number, body, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestABodyThatComesSlowlyIsNoSilence(t *testing.T) {
	b := answering(t, Options{Silence: 1500 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", `"e"`)
		w.Header().Set("Content-Length", "20")
		for range 20 {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(120 * time.Millisecond)
		}
	})
	if body, err := b.read(&counter{}, whole); err != nil || len(body) != 20 {
		t.Error(body, err)
	}
}

func TestAStopEndsARequestAndIsTheReason(t *testing.T) {
	b := answering(t, Options{}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	stopped := failure.New(failure.DeadlineExceeded, "stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { stop(stopped) })
	err := b.Do(ctx, &counter{}, "GetObject", func() error {
		_, _, err := b.Get(ctx, whole)
		return err
	})
	if !errors.Is(err, stopped) {
		t.Error(err)
	}
}

func TestTheProxyOfTheEnvironmentIsAskedButForLoopback(t *testing.T) {
	if body, err := open(t, "http://s3.example.test", Options{}).read(&counter{}, whole); err != nil || body != "proxied" || proxied.Load() != 1 {
		t.Error(body, err, proxied.Load())
	}
}

func TestARequesterPaysAndSaysSo(t *testing.T) {
	b := answering(t, Options{RequesterPays: true}, func(w http.ResponseWriter, r *http.Request) {
		object(w, r.Header.Get("X-Amz-Request-Payer")+fmt.Sprint(strings.Contains(r.Header.Get("Authorization"), "x-amz-request-payer")))
	})
	if body, err := b.read(&counter{}, whole); err != nil || body != "requestertrue" {
		t.Error(body, err)
	}
}
