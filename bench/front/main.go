// front is a small S3 for tests and measurements: in memory, without signatures, with S3's limit of
// writes and with faults. Its one argument is a JSON object of settings. GET /__front counts the
// requests by result.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"
)

type settings struct {
	Port             int     `json:"port"`
	LimitPerS        float64 `json:"limit_per_s"`        // copies and PUTs; 0: no limit
	LatencyMS        float64 `json:"latency_ms"`         // of every answer but SlowDown
	RefusalLatencyMS float64 `json:"refusal_latency_ms"` // of SlowDown: S3 refuses fast
	LoseAnswers      float64 `json:"lose_answers"`       // share carried out without an answer
	Reset            float64 `json:"reset"`              // share of connections reset at once
	ExpireAfter      int     `json:"expire_after"`       // requests with one credential; 0: never
}

type front struct {
	settings
	store store

	mutex  sync.Mutex
	tokens float64
	filled time.Time
	ends   map[string]int // requests by operation or fault
	used   map[string]int // requests by credentials
}

func main() {
	var chosen settings
	if err := json.Unmarshal([]byte(os.Args[1]), &chosen); err != nil {
		log.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", chosen.Port)
	log.Fatal(http.ListenAndServe(address, newFront(chosen, time.Now())))
}

func newFront(chosen settings, now time.Time) *front {
	f := &front{settings: chosen, filled: now, ends: map[string]int{}, used: map[string]int{}}
	f.store.buckets, f.store.objects = map[string]bool{}, map[string]object{}
	f.tokens = f.burst()
	return f
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/__front" {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		_ = json.NewEncoder(w).Encode(f.ends)
		return
	}
	call, drawn := understand(r), rand.Float64()
	sleep(f.RefusalLatencyMS)
	if drawn < f.Reset {
		f.count("reset")
		reset(w)
		return
	}
	if call.writes() && !f.admit(time.Now()) {
		f.count("slow_down")
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	}
	sleep(f.LatencyMS - f.RefusalLatencyMS)
	switch {
	case f.expires(r):
		f.count("expired")
		refuse(w, http.StatusBadRequest, "ExpiredToken")
	case drawn < f.Reset+f.LoseAnswers:
		f.store.carryOut(httptest.NewRecorder(), r, call)
		f.count("lost")
		panic(http.ErrAbortHandler) // closes the connection
	default:
		f.count(call.operation)
		f.store.carryOut(w, r, call)
	}
}

func sleep(milliseconds float64) {
	time.Sleep(time.Duration(milliseconds * float64(time.Millisecond)))
}

func (f *front) burst() float64 { return max(1, f.LimitPerS/10) }

// admit takes one token from a bucket that fills at the rate of the limit and holds a tenth of a
// second of it.
func (f *front) admit(now time.Time) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.tokens = min(f.burst(), f.tokens+max(0, now.Sub(f.filled).Seconds())*f.LimitPerS)
	f.filled = now
	if f.LimitPerS > 0 && f.tokens < 1 {
		return false
	}
	f.tokens--
	return true
}

// expires reports whether credentials are used up. A client then needs new ones.
func (f *front) expires(r *http.Request) bool {
	accessKey, _, _ := strings.Cut(r.Header.Get("Authorization"), "/")
	credentials := accessKey + " " + r.Header.Get("X-Amz-Security-Token")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.used[credentials]++
	return f.ExpireAfter > 0 && f.used[credentials] > f.ExpireAfter
}

func (f *front) count(end string) {
	f.mutex.Lock()
	f.ends[end]++
	f.mutex.Unlock()
}

func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = connection.(*net.TCPConn).SetLinger(0)
	_ = connection.Close()
}
