package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// front decides what becomes of a request; what is behind it carries it out.
type front struct {
	latency time.Duration // of what is carried out
	refusal time.Duration // of a SlowDown, at most latency: the real S3 refuses fast and copies slowly
	deny    string
	limits  *limits
	fates   *fates
	behind  *store

	mutex       sync.Mutex
	counts      map[string]int64 // carried out by operation; and lost, reset, denied, expired
	expireAfter int
	used        map[string]int // requests by access key and session token
}

func newFront(s settings, clock func() time.Time) *front {
	return &front{
		latency:     time.Duration(s.latencyMS * float64(time.Millisecond)),
		refusal:     time.Duration(min(s.refusalLatencyMS, s.latencyMS) * float64(time.Millisecond)),
		deny:        s.denyPrefix,
		limits:      newLimits(s.writes, clock),
		fates:       &fates{lose: s.loseAnswers, reset: s.reset, seed: s.seed, tries: map[string]uint64{}},
		behind:      newStore(s.etagPerCopy),
		counts:      map[string]int64{},
		expireAfter: s.expireAfter,
		used:        map[string]int{},
	}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/__front" {
		f.status(w)
		return
	}
	asked := understand(r)
	time.Sleep(f.refusal)
	what := f.fates.next(asked)
	if what == cut {
		f.count("reset")
		hangUp(w, true)
		return
	}
	if asked.writes() && !f.limits.admit(asked.bucket) {
		refuse(w, r, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
		return
	}
	time.Sleep(f.latency - f.refusal)
	switch {
	case f.denied(asked):
		f.count("denied")
		refuse(w, r, http.StatusForbidden, "AccessDenied", "Access Denied")
	case f.expired(r):
		f.count("expired")
		refuse(w, r, http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")
	case what == lost:
		f.behind.ServeHTTP(nobody{http.Header{}}, r)
		f.count("lost")
		hangUp(w, false)
	default:
		f.count(asked.operation)
		f.behind.ServeHTTP(w, r)
	}
}

func (f *front) denied(asked request) bool {
	if f.deny == "" {
		return false
	}
	return strings.HasPrefix(asked.bucket+"/"+asked.key, f.deny) ||
		asked.operation == "copy" && strings.HasPrefix(asked.sourceBucket+"/"+asked.sourceKey, f.deny)
}

// expired: credentials that are used up stay so, as S3's do; a client has to come with others.
func (f *front) expired(r *http.Request) bool {
	if f.expireAfter == 0 {
		return false
	}
	_, signed, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	accessKey, _, _ := strings.Cut(signed, "/")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	name := accessKey + " " + r.Header.Get("X-Amz-Security-Token")
	f.used[name]++
	return f.used[name] > f.expireAfter
}

func (f *front) count(name string) {
	f.mutex.Lock()
	f.counts[name]++
	f.mutex.Unlock()
}

// cpuS is what this process has used of the cores that it shares with its clients.
func cpuS() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

func (f *front) status(w http.ResponseWriter) {
	f.mutex.Lock()
	counts := maps.Clone(f.counts)
	f.mutex.Unlock()
	f.limits.mutex.Lock()
	defer f.limits.mutex.Unlock()
	var accepted, slowDowns int64
	for _, m := range f.limits.meters {
		accepted += m.Accepted
		slowDowns += m.SlowDowns
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"t_s": f.limits.clock().Sub(f.limits.began).Seconds(), "cpu_s": cpuS(), "accepted": accepted, "slow_downs": slowDowns,
		"requests": counts, "writes": f.limits.meters,
	})
}
