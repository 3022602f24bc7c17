package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// serving runs a front with the buckets b and c and the object b/master.
func serving(t *testing.T, chosen settings) *httptest.Server {
	t.Helper()
	made := newFront(chosen, time.Now())
	made.store.buckets = map[string]bool{"b": true, "c": true}
	made.store.objects["b/master"] = object{etag: etagOf(nil)}
	server := httptest.NewServer(made)
	t.Cleanup(server.Close)
	return server
}

// ask sends a request with header pairs; returns the status, 0 where no answer comes, and the answer.
func ask(t *testing.T, server *httptest.Server, method, path, body string, pairs ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	answered, err := server.Client().Transport.RoundTrip(r)
	if err != nil {
		return 0, "", nil
	}
	defer answered.Body.Close()
	told, _ := io.ReadAll(answered.Body)
	return answered.StatusCode, string(told), answered.Header
}

func ends(t *testing.T, server *httptest.Server) (told map[string]int) {
	t.Helper()
	_, body, _ := ask(t, server, "GET", "/__front", "")
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatal(err)
	}
	return told
}

func TestTheLimitLetsATenthOfASecondThroughAtOnceAndThenItsRate(t *testing.T) {
	began := time.Now()
	f := newFront(settings{LimitPerS: 300}, began)
	for _, step := range []struct {
		atS  float64
		want int
	}{{-3600, 30}, {-3600, 0}, {-3599.9, 30}, {-3599.895, 1}, {0, 30}} {
		admitted := 0
		for admitted < 100 && f.admit(began.Add(time.Duration(step.atS*float64(time.Second)))) {
			admitted++
		}
		if admitted != step.want {
			t.Errorf("at %v s it admitted %d, not %d", step.atS, admitted, step.want)
		}
	}
}

func TestEveryFaultIsWhatItIsCalledAndCounted(t *testing.T) {
	copying := []string{sourceHeader, "b/master"}
	signed := []string{sourceHeader, "b/master", "Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1"}
	renewed := append([]string{"X-Amz-Security-Token", "new"}, signed...)
	type step struct {
		path   string
		pairs  []string
		status int
		said   string
	}
	for _, one := range []struct {
		chosen settings
		steps  []step
		want   map[string]int
		there  bool // what the last one asked for
	}{
		{settings{LimitPerS: 0.01}, []step{{"/c/1", copying, 200, ""}, {"/c/2", copying, 503, "SlowDown"}},
			map[string]int{"copy": 1, "slow_down": 1}, false},
		{settings{LoseAnswers: 1}, []step{{"/c/1", copying, 0, ""}}, map[string]int{"lost": 1}, true},
		{settings{Reset: 1}, []step{{"/c/1", copying, 0, ""}}, map[string]int{"reset": 1}, false},
		{settings{DenyPrefix: "c/no"}, []step{{"/b/1", []string{sourceHeader, "c/no/1"}, 403, "AccessDenied"}, {"/c/yes", copying, 200, ""},
			{"/c/no", copying, 403, "AccessDenied"}}, map[string]int{"copy": 1, "denied": 2}, false},
		{settings{ExpireAfter: 1}, []step{{"/c/1", signed, 200, ""}, {"/c/2", signed, 400, "ExpiredToken"}, {"/c/3", renewed, 200, ""}},
			map[string]int{"copy": 2, "expired": 1}, true},
	} {
		server := serving(t, one.chosen)
		for _, step := range one.steps {
			if got, body, _ := ask(t, server, "PUT", step.path, "", step.pairs...); got != step.status || !strings.Contains(body, step.said) {
				t.Errorf("%+v: %s was answered %d %s", one.chosen, step.path, got, body)
			}
		}
		last := one.steps[len(one.steps)-1].path
		if _, there := server.Config.Handler.(*front).store.objects[last[1:]]; there != one.there {
			t.Errorf("%+v: %s is there: %v", one.chosen, last, there)
		}
		if told := ends(t, server); !reflect.DeepEqual(told, one.want) {
			t.Errorf("%+v was counted as %v", one.chosen, told)
		}
	}
}

func TestARefusalComesSoonerThanACopyAndBothLate(t *testing.T) {
	server := serving(t, settings{LimitPerS: 0.01, LatencyMS: 1000, RefusalLatencyMS: 20})
	for _, want := range []int{200, 503} {
		asked := time.Now()
		got, _, _ := ask(t, server, "PUT", "/c/1", "")
		if took := time.Since(asked); got != want || took < 20*time.Millisecond || (took >= time.Second) != (got == 200) {
			t.Errorf("%d after %v", got, took)
		}
	}
}

func TestTheStoreAnswersACopyAsS3Does(t *testing.T) {
	server := serving(t, settings{})
	ask(t, server, "PUT", "/d", "")
	ask(t, server, "PUT", "/b/a%20b%2Bc%25%C3%A4", "hello")
	ask(t, server, "PUT", "/b/two%20words", "")
	for _, one := range []struct {
		path, source string
		status       int
		said         string
	}{
		{"/d/x", "b/master", 200, "CopyObjectResult"},
		{"/d/x", "b/master", 412, "PreconditionFailed"},
		{"/c/y", "/b/a%20b%2Bc%25%C3%A4", 200, "ETag"},
		{"/c/spaced", "b/two+words", 200, "CopyObjectResult"},
		{"/c/z", "b/nothing", 404, "NoSuchKey"},
		{"/c/z", "nowhere/x", 404, "NoSuchBucket"},
		{"/nowhere/z", "b/master", 404, "NoSuchBucket"},
		{"/b/master", "b/master", 400, "InvalidRequest"},
		{"/c/" + strings.Repeat("k", 1025), "b/master", 400, "KeyTooLongError"},
	} {
		if got, body, _ := ask(t, server, "PUT", one.path, "", sourceHeader, one.source, "If-None-Match", "*"); got != one.status ||
			!strings.Contains(body, one.said) {
			t.Errorf("%.40s from %s: %d %s", one.path, one.source, got, body)
		}
	}
	_, _, source := ask(t, server, "HEAD", "/b/a%20b%2Bc%25%C3%A4", "")
	got, body, copied := ask(t, server, "GET", "/c/y", "", "X-Amz-Checksum-Mode", "ENABLED")
	if got != 200 || body != "hello" || copied.Get("X-Amz-Checksum-Crc32") != "NhCmhg==" || copied.Get("ETag") == source.Get("ETag") {
		t.Errorf("the copy reads %d %q %v", got, body, copied)
	}
}

func TestAListingIsSortedInPagesAndFollowsWhatIsAdded(t *testing.T) {
	server := serving(t, settings{})
	var want []string
	for i := range pageKeys + 3 {
		want = append(want, fmt.Sprintf("p/%04d", i))
		ask(t, server, "PUT", "/c/"+want[i], "")
		ask(t, server, "GET", "/c?list-type=2", "")
	}
	ask(t, server, "PUT", "/c/o", "")
	ask(t, server, "PUT", "/c/q", "")
	var got []string
	for token, more := "", true; more; more = token != "" {
		_, body, _ := ask(t, server, "GET", "/c?prefix=p/&continuation-token="+url.QueryEscape(token), "")
		for _, part := range strings.Split(body, "<Key>")[1:] {
			key, _, _ := strings.Cut(part, "</Key>")
			got = append(got, key)
		}
		_, token, _ = strings.Cut(body, "<NextContinuationToken>")
		token, _, _ = strings.Cut(token, "</NextContinuationToken>")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d keys are listed", len(got))
	}
}
