package bucket

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/observed"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/agreed"
	"stampede/transfer/internal/workers"
)

// TestMain sets a proxy: net/http reads the environment once, and uses no proxy for loopback.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send(w, "proxied "+r.URL.Host)
	}))
	_ = os.Setenv("HTTP_PROXY", proxy.URL)
	_ = os.Setenv("http_proxy", proxy.URL)
	os.Exit(m.Run())
}

// open makes the client of a bucket on a server, with short pauses and isolated credentials.
func open(t *testing.T, url string, options Options) *Bucket {
	t.Helper()
	s3test.Isolate(t, url)
	if os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
	}
	b, err := Open(t.Context(), "", "data", options)
	if err != nil {
		t.Fatal(err)
	}
	b.Retry.FirstPause = time.Millisecond
	return b
}

// asked is a bucket whose server is a handler.
func asked(t *testing.T, options Options, answer http.HandlerFunc) *Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return open(t, server.URL, options)
}

func send(w http.ResponseWriter, body string) {
	w.Header().Set("Etag", `"e"`)
	_, _ = io.WriteString(w, body)
}

var whole = Span{Key: "k", Last: Whole}

// read gets a span. became is the failure's type and the number of requests: "S3Error 4".
func (b *Bucket) read(span Span) (body, became string, err error) {
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
		became, _ = failure.Describe(err)
	}
	requests := counted.Requests.Load()
	if counted.Retries.Load() != requests-1 {
		became = "wrongly counted"
	}
	return body, fmt.Sprint(became, " ", requests), err
}

func TestTheTimeoutsAreThoseThatBothLanguagesAgreedOn(t *testing.T) {
	agreed.Timeouts(t, map[string]time.Duration{"connect_s": connectTimeout, "read_s": ReadTimeout})
}

func TestARefusalHasItsErrorTypeAndIsRetriedIfItMayPass(t *testing.T) {
	for _, c := range []struct {
		status             int
		code, became, said string
	}{
		{403, "AccessDenied", "AccessDenied 1", "GetObject 403 AccessDenied: the role may not"},
		{404, "NoSuchKey", "NoSuchKey 1", "own advice"},
		{412, "PreconditionFailed", "ObjectChanged 1", "replaced"},
		{429, "TooManyRequests", "S3Error 1", ""},
		{503, "SlowDown", "SlowDown 4", "(after all retries)"},
		{408, "", "S3Error 4", ""},
		{400, "RequestTimeout", "S3Error 4", ""},
		{400, "BadDigest", "ChecksumMismatch 1", ""},
		{403, "SignatureDoesNotMatch", "NoCredentials 1", "doesn't accept"},
		{400, "ExpiredToken", "NoCredentials 2", "have expired"},
		{403, "RequestTimeTooSkewed", "SettingsError 1", "clock"},
		{301, "PermanentRedirect", "SettingsError 1", "eu-north-1"},
		{307, "TemporaryRedirect", "S3Error 1", ""}, // not followed
	} {
		b := asked(t, Options{Advice: map[string]string{"GetObject NoSuchKey": "own advice"}},
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
				w.Header().Set("Location", "/elsewhere")
				s3test.Refuse(w, c.status, c.code)
			})
		_, became, err := b.read(whole)
		if became != c.became || !strings.Contains(err.Error(), c.said) {
			t.Error(c, became, err)
		}
	}
	for id, want := range map[string]string{
		"s3-116": "S3Error 1", "s3-119": "ObjectChanged 1",
		"s3-120": "S3Error 1", "s3-123": "S3Error 1",
	} {
		recorded := agreed.Recorded(t, id)
		b := asked(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			s3test.Refuse(w, recorded.Status, recorded.Code)
		})
		for _, first := range []int64{1024, 0} {
			_, became, err := b.read(Span{Key: "k", First: first, Last: 4096})
			if became != want || (err == ErrNoBytes) != (first == 0 && id == "s3-116") {
				t.Error(id, first, became, err)
			}
		}
	}
}

func TestExpiredCredentialsAreRenewedOnceWithinTheLimitOfConnections(t *testing.T) {
	var made, under, most atomic.Int64
	// Like Lambda's container: token1, token2, ...
	roles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		fmt.Fprintf(w, `{"AccessKeyId": "test", "SecretAccessKey": "s", "Token": "token%d", `+
			`"Expiration": %q}`, made.Add(1), end)
	}))
	t.Cleanup(roles.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", roles.URL)
	b := asked(t, Options{Connections: 15}, func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		if time.Sleep(20 * time.Millisecond); r.Header.Get("X-Amz-Security-Token") == "token1" {
			s3test.Refuse(w, 400, "ExpiredToken")
			return
		}
		send(w, "bytes")
	})
	_ = workers.Run(t.Context(), 20, func(context.Context, int64) error {
		if body, became, err := b.read(whole); body != "bytes" || became != " 2" {
			t.Error(body, became, err)
		}
		return nil
	})
	if made.Load() != 2 || most.Load() > 15 {
		t.Error(made.Load(), most.Load())
	}
}

func TestAnAnswerThatIsCutSilentEndlessOrNotS3sIsAFailure(t *testing.T) {
	const head, silence = "HTTP/1.1 200 OK\r\nEtag: \"e\"\r\n", "..."
	const cut, late = "ConnectionCut 4", "ReadTimeout 4"
	nine := head + "Content-Length: 9\r\n\r\n"
	// then is repeated until the client hangs up
	for name, c := range map[string]struct{ text, then, became string }{
		"none":            {"", "", cut},
		"a cut body":      {nine + "bytes", "", cut},
		"a silent head":   {"", silence, late},
		"a silent body":   {nine + "b", silence, late},
		"an endless head": {head, "X-More: " + strings.Repeat("x", 1000) + "\r\n", cut},
		"an endless reason": {"HTTP/1.1 500 No\r\n\r\n<Error>",
			strings.Repeat("<Code>x</Code>", 1000), "S3Error 4"},
		"no length": {head + "\r\nbytes", "", "S3Error 1"},
		"no ETag":   {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbytes", "", "S3Error 1"},
		"an unasked range": {head + "Content-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nbytes",
			"", "S3Error 1"},
	} {
		longest := 300 * time.Millisecond
		if c.then != silence {
			longest = time.Minute
		}
		b := asked(t, Options{Silence: longest}, func(w http.ResponseWriter, r *http.Request) {
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
		_, became, err := b.read(whole)
		if became != c.became || time.Since(began) > 10*time.Second {
			t.Error(name, became, err, time.Since(began))
		}
	}
}

func TestTheEnvironmentsProxyIsUsedExceptForLoopback(t *testing.T) {
	b := open(t, "http://s3.example.test", Options{})
	if body, _, err := b.read(whole); body != "proxied s3.example.test" {
		t.Error(body, err)
	}
}
