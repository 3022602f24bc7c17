package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/failure"
)

// counter counts nothing.
type counter struct{}

func (counter) CountRequest() {}
func (counter) CountRetry()   {}

// rotating is a source of credentials that are other ones at every call.
type rotating struct{ retrieved atomic.Int64 }

func (r *rotating) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test", SessionToken: fmt.Sprintf("token-%d", r.retrieved.Add(1))}, nil
}

// answering is a client of a server that answers every request with a handler.
func answering(t *testing.T, credentials aws.CredentialsProvider, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := NewClient(server.URL, "us-east-1", "to-bucket", credentials)
	if err != nil {
		t.Fatal(err)
	}
	client.Retry.FirstPause = time.Millisecond
	return client.ForManySmallAnswers(2 * time.Second)
}

const result = `<?xml version="1.0" encoding="UTF-8"?><CopyObjectResult><ETag>"x"</ETag></CopyObjectResult>`

func TestTheSourceOfACopyIsEscapedAsS3Signs(t *testing.T) {
	for key, escaped := range map[string]string{
		"a b+c%/é?&=#": "/from.bucket/a%20b%2Bc%25/%C3%A9%3F%26%3D%23", "%41": "/from.bucket/%2541", "/lead//twice/": "/from.bucket//lead//twice/",
	} {
		client := answering(t, &rotating{}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || r.Header.Get("X-Amz-Copy-Source") != escaped || r.Header.Get("If-None-Match") != "*" || r.ContentLength != 0 ||
				r.URL.Path != "/to-bucket/"+key {
				t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
			}
			fmt.Fprint(w, result)
		})
		if _, err := client.Copy(context.Background(), counter{}, "from.bucket", key, key); err != nil {
			t.Error(err)
		}
	}
}

func TestARefusedCopyIsNamedWithItsWayOut(t *testing.T) {
	wrong := func(code, message string) string {
		return fmt.Sprintf("<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
	for name, c := range map[string]struct {
		status    int
		body      string
		kind      string
		temporary bool
	}{
		"403":               {403, wrong("AccessDenied", "no"), failure.AccessDenied, false},
		"404":               {404, wrong("NoSuchKey", "no"), failure.NoSuchKey, false},
		"no bucket":         {404, wrong("NoSuchBucket", "no"), failure.NoSuchBucket, false},
		"409":               {409, wrong("ConditionalRequestConflict", "again"), failure.S3, true},
		"too large":         {400, wrong("InvalidRequest", "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120"), failure.ObjectTooLarge, false},
		"invalid otherwise": {400, wrong("InvalidRequest", "This copy request is illegal"), failure.S3, false},
		"503":               {503, wrong("SlowDown", "slow"), failure.SlowDown, true},
		"another 503":       {503, wrong("ServiceUnavailable", "oh"), failure.S3, true},
		"a proxy's 503":     {503, "<html>Service Unavailable</html>", failure.S3, true},
		"archived":          {403, wrong("InvalidObjectState", "no"), failure.ObjectArchived, false},
		"500":               {500, wrong("InternalError", "oh"), failure.S3, true},
		"late error":        {200, wrong("InternalError", "oh"), failure.S3, true},
		"late slow down":    {200, "   \n" + wrong("SlowDown", "slow"), failure.SlowDown, true},
		"late denial":       {200, wrong("AccessDenied", "no"), failure.S3, false},
		"no S3":             {200, "<html></html>", failure.S3, false},
		"nothing":           {200, "", failure.S3, true},
		"white space":       {200, " \n ", failure.S3, true},
		"half a result":     {200, "<CopyObjectResult><ETag>", failure.S3, true},
	} {
		client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		_, err := client.Copy(context.Background(), counter{}, "b", "k", "k2")
		var known *failure.Error
		if !errors.As(err, &known) || known.Type != c.kind || known.Temporary != c.temporary {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestExpiredCredentialsAreAskedForAgainOnceForAllCallsThatMetThem(t *testing.T) {
	source := &rotating{}
	client := answering(t, aws.NewCredentialsCache(source), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Security-Token") == "token-1" {
			w.WriteHeader(400)
			fmt.Fprint(w, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
			return
		}
		fmt.Fprint(w, result)
	})
	ended := make(chan error)
	for i := range 20 {
		go func() {
			ended <- client.Retry.Do(context.Background(), func() {}, func() error {
				_, err := client.Copy(context.Background(), counter{}, "b", "k", fmt.Sprint(i))
				return err
			})
		}()
	}
	for range 20 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := source.retrieved.Load(); n > 3 { // two calls may both see the old ones before the first has renewed them
		t.Errorf("asked for %d times", n)
	}
}

func TestAHeadWhoseCredentialsExpiredIsSentAgainWithNewOnesAlthoughS3GivesItNoReason(t *testing.T) {
	client := answering(t, aws.NewCredentialsCache(&rotating{}), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Security-Token") == "token-1" {
			w.WriteHeader(400) // and the answer to a HEAD has no body
			return
		}
		w.Header().Set("Etag", `"x"`)
	})
	var head Head
	err := client.Retry.Do(context.Background(), func() {}, func() (err error) {
		head, err = client.Head(context.Background(), counter{}, "k")
		return err
	})
	if err != nil || head.ETag != `"x"` {
		t.Error(err, head)
	}
}

func TestWhiteSpaceWhileALargeObjectIsCopiedIsNoSilence(t *testing.T) {
	client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) {
		for range 8 {
			fmt.Fprint(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(300 * time.Millisecond) // 2.4 s in all, where 2 s of silence are too long
		}
		fmt.Fprint(w, result)
	})
	if _, err := client.Copy(context.Background(), counter{}, "b", "k", "k2"); err != nil {
		t.Error(err)
	}
}

func TestAnIdleConnectionThatS3ClosedIsNoFailureAndMarksTheCopyAsSentTwice(t *testing.T) {
	for _, status := range []int{412, 503} {
		asked := 0
		client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) {
			switch asked++; asked {
			case 2: // it makes the copy and hangs up
				connection, _, _ := http.NewResponseController(w).Hijack()
				_ = connection.Close()
			case 3:
				w.WriteHeader(status)
			default:
				fmt.Fprint(w, result)
			}
		})
		for _, second := range []bool{false, true} {
			resent, err := client.Copy(context.Background(), counter{}, "b", "k", "k2")
			if resent != second || (err == nil) == second || second && (err == ErrExists) != (status == 412) {
				t.Errorf("%d: %v %+v", status, resent, err)
			}
		}
	}
}

func TestACopyWhoseAnswerIsLostWithTheNetworkMayHaveBeenMade(t *testing.T) {
	asked := 0
	client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			fmt.Fprint(w, result)
			return
		}
		connection, _, _ := http.NewResponseController(w).Hijack()
		_ = connection.Close()
	})
	if _, err := client.Copy(context.Background(), counter{}, "b", "k", "k2"); err != nil {
		t.Fatal(err)
	}
	client.pool.endpoint.dial = "127.0.0.1:1"
	if _, err := client.Copy(context.Background(), counter{}, "b", "k", "k3"); !OutcomeUnknown(err) {
		t.Errorf("%+v", err)
	}
}

func TestAClockThatIsWrongIsCorrectedOnceByTheTimeThatS3Tells(t *testing.T) {
	var asked atomic.Int64
	client := answering(t, &rotating{}, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		now := time.Now().Add(2 * time.Hour)
		signed, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		if now.Sub(signed).Abs() > 15*time.Minute || strings.HasSuffix(r.URL.Path, "never") {
			w.WriteHeader(403)
			fmt.Fprint(w, "<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>")
			return
		}
		fmt.Fprint(w, result)
	})
	copied := func(key string) error {
		return client.Retry.Do(context.Background(), func() {}, func() error {
			_, err := client.Copy(context.Background(), counter{}, "b", "k", key)
			return err
		})
	}
	ended := make(chan error)
	for i := range 20 {
		go func() { ended <- copied(fmt.Sprint(i)) }()
	}
	for range 20 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	var known *failure.Error
	if err := copied("never"); !errors.As(err, &known) || known.Type != failure.Settings || !known.OfAll || asked.Load() > 41 {
		t.Errorf("%+v after %d requests", known, asked.Load())
	}
}

func TestWhiteSpaceWithoutEndIsATimeoutWhoseOutcomeIsUnknown(t *testing.T) {
	usual := longestBody
	longestBody = 300 * time.Millisecond
	defer func() { longestBody = usual }()
	client := answering(t, &rotating{}, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	var known *failure.Error
	if _, err := client.Copy(context.Background(), counter{}, "b", "k", "k2"); !errors.As(err, &known) || known.Type != failure.ReadTimeout || !OutcomeUnknown(err) {
		t.Errorf("%+v", err)
	}
}
