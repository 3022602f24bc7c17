package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// serving runs a front with the buckets b and c, and the object b/master.
func serving(t *testing.T, chosen settings) (*front, *httptest.Server) {
	t.Helper()
	front := newFront(chosen, time.Now())
	front.store.buckets = map[string]bool{"b": true, "c": true}
	front.store.objects["b/master"] = object{etag: etagOf(nil)}
	server := httptest.NewServer(front)
	t.Cleanup(server.Close)
	return front, server
}

// ask sends a request with header pairs. It returns status and body as text ("0" without an
// answer), and the header of the answer.
func ask(server *httptest.Server, method, path, body string,
	pairs ...string) (string, http.Header) {
	r, _ := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	answered, err := server.Client().Transport.RoundTrip(r)
	if err != nil {
		return "0", nil
	}
	defer answered.Body.Close()
	told, _ := io.ReadAll(answered.Body)
	return fmt.Sprint(answered.StatusCode, " ", string(told)), answered.Header
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
			t.Error(step, admitted)
		}
	}
}

// The requests ("path source token answer"), and what the front has counted and stored after them.
func TestACopyIsAnsweredLikeS3AndFaultsAreCounted(t *testing.T) {
	for _, c := range []struct {
		chosen settings
		calls  string
		ends   map[string]int
		there  string
	}{
		{settings{}, `/d/x b/master - 404NoSuchBucket
				/c/x b/master - 200ETag
				/c/x b/master - 412PreconditionFailed
				/c/y /b/a%20b%2Bc%25%C3%A4 - 200
				/c/z b/two+words - 200
				/c/u b/nothing - 404NoSuchKey
				/c/u nowhere/x - 404NoSuchBucket
				/b/master b/master - 400InvalidRequest`,
			map[string]int{"copy": 8}, "b/a b+c%ä b/master b/two words c/x c/y c/z"},
		{settings{LimitPerS: 0.01}, "/c/1 b/master - 200\n/c/2 b/master - 503SlowDown",
			map[string]int{"copy": 1, "slow_down": 1}, "b/master c/1"},
		{settings{LoseAnswers: 1}, "/c/1 b/master - 0", map[string]int{"lost": 1}, "b/master c/1"},
	} {
		front, server := serving(t, c.chosen)
		if c.chosen == (settings{}) {
			front.store.objects["b/a b+c%ä"] = object{}
			front.store.objects["b/two words"] = object{}
		}
		for _, line := range strings.Split(c.calls, "\n") {
			step := strings.Fields(line)
			said, _ := ask(server, "PUT", step[0], "", sourceHeader, step[1],
				"X-Amz-Security-Token", step[2], "If-None-Match", "*")
			status := step[3][:min(3, len(step[3]))]
			code := step[3][len(status):]
			if !strings.HasPrefix(said, status) || !strings.Contains(said, code) {
				t.Error(line, said)
			}
		}
		there := strings.Join(slices.Sorted(maps.Keys(front.store.objects)), " ")
		if there != c.there || !maps.Equal(front.ends, c.ends) {
			t.Error(c.chosen, there, front.ends)
		}
	}
}

func TestARefusalComesSoonerThanACopyAndBothLate(t *testing.T) {
	_, server := serving(t, settings{LimitPerS: 0.01, LatencyMS: 1000, RefusalLatencyMS: 20})
	for _, want := range []string{"200", "503"} {
		began := time.Now()
		got, _ := ask(server, "PUT", "/c/1", "")
		if took := time.Since(began); !strings.HasPrefix(got, want) || took < 20*time.Millisecond ||
			(took >= time.Second) != (want == "200") {
			t.Error(got, took)
		}
	}
}

func TestAListingIsSortedInPagesAndFollowsWhatIsAdded(t *testing.T) {
	_, server := serving(t, settings{})
	want, got := "", ""
	for i := range pageKeys + 3 {
		key := fmt.Sprintf("p/%04d", i)
		want += key
		ask(server, "PUT", "/c/"+key, "")
		ask(server, "GET", "/c?list-type=2", "")
	}
	ask(server, "PUT", "/c/o", "")
	ask(server, "PUT", "/c/q", "")
	for token := " "; token != ""; {
		page := "/c?prefix=p/&continuation-token=" + strings.TrimSpace(token)
		body, _ := ask(server, "GET", page, "")
		for _, part := range strings.Split(body, "<Key>")[1:] {
			got += part[:len("p/0000")]
		}
		_, token, _ = strings.Cut(body, "<NextContinuationToken>")
		token, _, _ = strings.Cut(token, "<")
	}
	if got != want {
		t.Error(got)
	}
}
