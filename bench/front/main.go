// front is an S3 of keys alone for tests and measurements: in memory, without signatures, with S3's
// limit of writes and with faults. Its one argument is a JSON object of settings, and GET /__front
// says how many requests had which end.
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
	Port int `json:"port"`
	// of copies and PUTs; a tenth of a second of it at once; 0: none
	LimitPerS float64 `json:"limit_per_s"`
	LatencyMS float64 `json:"latency_ms"` // of every answer but a SlowDown
	// of a SlowDown: S3 refuses fast and copies slowly
	RefusalLatencyMS float64 `json:"refusal_latency_ms"`
	// the share of requests that are carried out and never answered
	LoseAnswers float64 `json:"lose_answers"`
	// the share whose connection is reset before anything is done
	Reset float64 `json:"reset"`
	// so many requests with the same credentials; 0: never
	ExpireAfter int `json:"expire_after"`
}

type front struct {
	settings
	store store

	mutex  sync.Mutex
	tokens float64
	filled time.Time
	ends   map[string]int // requests by their operation, or by what kept them from it
	used   map[string]int // requests by credentials
}

func main() {
	var chosen settings
	if err := json.Unmarshal([]byte(os.Args[1]), &chosen); err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", chosen.Port),
		newFront(chosen, time.Now())))
}

func newFront(chosen settings, now time.Time) *front {
	made := &front{settings: chosen, filled: now, ends: map[string]int{}, used: map[string]int{}}
	made.store.buckets, made.store.objects, made.tokens = map[string]bool{}, map[string]object{},
		made.burst()
	return made
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/__front" {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		_ = json.NewEncoder(w).Encode(f.ends)
		return
	}
	asked, drawn := understand(r), rand.Float64()
	sleep(f.RefusalLatencyMS)
	if drawn < f.Reset {
		f.count("reset")
		reset(w)
		return
	}
	if asked.writes() && !f.admit(time.Now()) {
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
		f.store.carryOut(httptest.NewRecorder(), r, asked)
		f.count("lost")
		panic(http.ErrAbortHandler) // which closes the connection
	default:
		f.count(asked.operation)
		f.store.carryOut(w, r, asked)
	}
}

func sleep(milliseconds float64) {
	time.Sleep(time.Duration(milliseconds * float64(time.Millisecond)))
}

func (f *front) burst() float64 { return max(1, f.LimitPerS/10) }

// admit takes one from a token bucket, in which what was taken is again at the rate of the limit.
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

// expires says whether credentials are used up. They stay so: a client has to come with others.
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
