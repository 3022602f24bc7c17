package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serving runs a front over a store with the buckets b and c and the object b/master.
func serving(t *testing.T, change func(*settings)) *httptest.Server {
	t.Helper()
	s := settings{seed: 1}
	change(&s)
	made := newFront(s, time.Now)
	for _, name := range []string{"b", "c"} {
		made.behind.buckets[name] = &bucket{objects: map[string]*object{}}
	}
	made.behind.buckets["b"].objects["master"] = &object{etag: etagOf(nil), crc32: crc32Of(nil), bytes: 7}
	server := httptest.NewServer(made)
	t.Cleanup(server.Close)
	return server
}

// ask sends a request with header pairs; returns the status (0: no answer), the code of an error, the body and the headers.
func ask(t *testing.T, server *httptest.Server, method, path, body string, pairs ...string) (int, string, string, http.Header) {
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
		return 0, "", "", nil
	}
	defer answered.Body.Close()
	told, _ := io.ReadAll(answered.Body)
	_, code, _ := strings.Cut(string(told), "<Code>")
	code, _, _ = strings.Cut(code, "</Code>")
	return answered.StatusCode, code, string(told), answered.Header
}

func status(t *testing.T, server *httptest.Server) (told struct {
	Accepted  int64
	SlowDowns int64 `json:"slow_downs"`
	Requests  map[string]int64
	Writes    map[string]meter
}) {
	t.Helper()
	_, _, body, _ := ask(t, server, "GET", "/__front", "")
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatal(err)
	}
	return told
}

func TestWhatIsAboveTheLimitIsAnsweredSlowDownAndNotCarriedOut(t *testing.T) {
	server := serving(t, func(s *settings) { s.writes = rate{0.001, 3} })
	for i := range 5 {
		got, code, _, _ := ask(t, server, "PUT", fmt.Sprintf("/c/%d", i), "", "X-Amz-Copy-Source", "b/master")
		if i < 3 && got != 200 || i >= 3 && (got != 503 || code != "SlowDown") {
			t.Errorf("copy %d was answered %d %s", i, got, code)
		}
	}
	if got, _, _, _ := ask(t, server, "HEAD", "/c/4", ""); got != 404 {
		t.Errorf("what was refused is there: %d", got)
	}
	told := status(t, server)
	if of := told.Writes["c"]; of.Accepted != 3 || of.SlowDowns != 2 || told.SlowDowns != 2 || told.Requests["copy"] != 3 {
		t.Errorf("the status page says %+v", told)
	}
}

func TestASlowDownComesSoonerThanACopy(t *testing.T) {
	server := serving(t, func(s *settings) { s.writes, s.latencyMS, s.refusalLatencyMS = rate{0.001, 1}, 300, 1 })
	for i, want := range []int{200, 503} {
		asked := time.Now()
		got, _, _, _ := ask(t, server, "PUT", fmt.Sprintf("/c/%d", i), "", "X-Amz-Copy-Source", "b/master")
		if took := time.Since(asked); got != want || (took >= 300*time.Millisecond) != (got == 200) {
			t.Errorf("%d after %v, not %d", got, took, want)
		}
	}
}

func TestALostAnswerIsCarriedOutAndAResetIsNot(t *testing.T) {
	for name, change := range map[string]func(*settings){
		"lost": func(s *settings) { s.loseAnswers = 1 }, "reset": func(s *settings) { s.reset = 1 },
	} {
		server := serving(t, change)
		if got, _, _, _ := ask(t, server, "PUT", "/c/x", "", "X-Amz-Copy-Source", "b/master"); got != 0 {
			t.Errorf("%s: it was answered %d", name, got)
		}
		told := status(t, server)
		if told.Requests[name] != 1 || (told.Accepted == 1) != (name == "lost") {
			t.Errorf("%s: the status page says %+v", name, told)
		}
	}
	keys := newStore(false)
	keys.buckets["b"] = &bucket{objects: map[string]*object{"master": {}}}
	made := newFront(settings{loseAnswers: 1}, time.Now)
	made.behind = keys
	server := httptest.NewServer(made)
	defer server.Close()
	ask(t, server, "PUT", "/b/x", "", "X-Amz-Copy-Source", "b/master")
	if keys.buckets["b"].objects["x"] == nil {
		t.Error("the copy whose answer was lost isn't there")
	}
}

func TestTheSameSeedSparesTheSameTriesInAnyOrder(t *testing.T) {
	drawn := func(seed uint64, keys ...string) (lostKeys string) {
		f := &fates{lose: 0.3, seed: seed, tries: map[string]uint64{}}
		found := map[string]bool{}
		for _, key := range keys {
			found[key] = f.next(request{operation: "copy", bucket: "b", key: key}) == lost
		}
		for i := range keys {
			lostKeys += fmt.Sprint(found[fmt.Sprint(i)], " ")
		}
		return lostKeys
	}
	var up, down []string
	for i := range 200 {
		up, down = append(up, fmt.Sprint(i)), append(down, fmt.Sprint(199-i))
	}
	if drawn(1, up...) != drawn(1, down...) {
		t.Error("the order of the keys changes which are lost")
	}
	if drawn(1, up...) == drawn(2, up...) {
		t.Error("another seed loses the same")
	}
	if share := strings.Count(drawn(1, up...), "true"); share < 40 || share > 80 {
		t.Errorf("of 200 at 0.3 it lost %d", share)
	}
}

func TestOnePrefixIsDeniedAsSourceAndAsDestination(t *testing.T) {
	server := serving(t, func(s *settings) { s.denyPrefix = "c/secret/" })
	for path, want := range map[string]int{"/c/secret/x": 403, "/c/open/x": 200} {
		if got, _, _, _ := ask(t, server, "PUT", path, "", "X-Amz-Copy-Source", "b/master"); got != want {
			t.Errorf("a copy to %s was answered %d, not %d", path, got, want)
		}
	}
	if got, code, _, _ := ask(t, server, "PUT", "/c/y", "", "X-Amz-Copy-Source", "c/secret/x"); got != 403 || code != "AccessDenied" {
		t.Errorf("a copy from there was answered %d %s", got, code)
	}
}

func TestCredentialsServeSoManyRequestsAndOthersAreNeededThen(t *testing.T) {
	server := serving(t, func(s *settings) { s.expireAfter = 2 })
	signed := "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
	for i, want := range []int{200, 200, 400, 400} {
		if got, _, _, _ := ask(t, server, "HEAD", "/b/master", "", "Authorization", signed); got != want {
			t.Errorf("request %d was answered %d, not %d", i, got, want)
		}
	}
	if got, _, _, _ := ask(t, server, "HEAD", "/b/master", "", "Authorization", signed, "X-Amz-Security-Token", "new"); got != 200 {
		t.Errorf("with another session token it was answered %d", got)
	}
}

func TestLatencyIsAddedToEveryAnswer(t *testing.T) {
	server := serving(t, func(s *settings) { s.latencyMS = 30 })
	started := time.Now()
	ask(t, server, "HEAD", "/b/master", "")
	if took := time.Since(started); took < 30*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

func TestOptionsThatCanNotBeAreNamed(t *testing.T) {
	for _, one := range []struct{ option, said string }{
		{"--limit-per-s=-1", "--limit-per-s must be from 0 to 1e9, not -1"},
		{"--lose-answers=0.7 --reset=0.7", "together they must be at most 1"},
		{"--seed=1 more", `unexpected argument "more"`},
	} {
		if _, err := parse(strings.Fields(one.option), io.Discard); err == nil || !strings.Contains(err.Error(), one.said) {
			t.Errorf("%s: %v", one.option, err)
		}
	}
}
