package main

import (
	"strings"
	"sync"
	"time"
)

// point is one second of a bucket's writes; seconds without a request have none.
type point struct {
	TS        int64 `json:"t_s"` // since the front began
	Accepted  int64 `json:"accepted"`
	SlowDowns int64 `json:"slow_downs"`
}

// meter is what has been written to one bucket.
type meter struct {
	Accepted  int64   `json:"accepted"`
	SlowDowns int64   `json:"slow_downs"`
	BySecond  []point `json:"by_second"`

	tokens tokenBucket
}

// limits admits writes: each bucket is one prefix, as S3's is at first. What is counted is kept a bucket and a second.
type limits struct {
	writes rate
	clock  func() time.Time
	began  time.Time

	mutex  sync.Mutex
	meters map[string]*meter
}

func newLimits(writes rate, clock func() time.Time) *limits {
	return &limits{writes: writes, clock: clock, began: clock(), meters: map[string]*meter{}}
}

// admit counts a write and says whether it is within the limit.
func (l *limits) admit(bucket string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock()
	m := l.meters[bucket]
	if m == nil {
		m = &meter{tokens: newTokenBucket(l.writes, now)}
		l.meters[strings.Clone(bucket)] = m
	}
	second := int64(now.Sub(l.began) / time.Second)
	if last := len(m.BySecond) - 1; last < 0 || m.BySecond[last].TS != second {
		m.BySecond = append(m.BySecond, point{TS: second})
	}
	this := &m.BySecond[len(m.BySecond)-1]
	if !m.tokens.take(now) {
		m.SlowDowns++
		this.SlowDowns++
		return false
	}
	m.Accepted++
	this.Accepted++
	return true
}
