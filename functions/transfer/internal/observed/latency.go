package observed

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stampede/transfer/internal/record"
)

// Latency is a histogram of how long calls took.
type Latency struct {
	mutex sync.Mutex
	us    *hdrhistogram.Histogram
}

// NewLatency makes a histogram from 1 µs to an hour with 0.1 % precision, of some 200 kB.
func NewLatency() *Latency {
	return &Latency{us: hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)}
}

// Note adds a call.
func (l *Latency) Note(took time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_ = l.us.RecordValue(min(int64(took/time.Microsecond), l.us.HighestTrackableValue()))
}

// Ms is a percentile of all calls so far in ms; 100 is the slowest.
func (l *Latency) Ms(percentile float64) float64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return float64(l.us.ValueAtQuantile(percentile)) / 1000
}

// Pairs are the percentiles for a record; null without timed calls.
func (l *Latency) Pairs(wereTimed bool, of string) []record.Pair {
	return Pairs(wereTimed, of+"_p50_ms", l.Ms(50), of+"_p90_ms", l.Ms(90),
		of+"_p99_ms", l.Ms(99), of+"_max_ms", l.Ms(100))
}
