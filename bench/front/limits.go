package main

import (
	"strings"
	"sync"
	"time"
)

// loadedFrom: a prefix is under load in a second in which it was refused something, or took this part of its limit.
const loadedFrom = 0.9

// point is one second of a prefix; seconds without a request have none.
type point struct {
	TS        int64 `json:"t_s"` // since the front began
	Accepted  int64 `json:"accepted"`
	SlowDowns int64 `json:"slow_downs"`
}

// meter is what one prefix may do, and has done, of one kind of request.
type meter struct {
	LimitPerS float64 `json:"limit_per_s"`
	Accepted  int64   `json:"accepted"`
	SlowDowns int64   `json:"slow_downs"`
	Splits    int     `json:"splits"`
	BySecond  []point `json:"by_second"`

	bucket  tokenBucket
	loadedS int // seconds in a row
}

// limits admits requests; what is counted is kept a prefix and a second.
type limits struct {
	writes, reads rate
	depth         int
	splitAfterS   int
	clock         func() time.Time
	began         time.Time

	mutex  sync.Mutex
	meters map[bool]map[string]*meter // by whether they write
}

func newLimits(s settings, clock func() time.Time) *limits {
	return &limits{
		writes: s.writes, reads: s.reads, depth: s.prefixDepth, splitAfterS: s.splitAfterS, clock: clock, began: clock(),
		meters: map[bool]map[string]*meter{false: {}, true: {}},
	}
}

// admit counts a request and says whether it is within the limit of its prefix.
func (l *limits) admit(asked request) bool {
	prefix := prefixOf(asked.bucket, asked.key, l.depth)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock()
	one := l.meters[asked.writes()][prefix]
	if one == nil {
		allowed := l.reads
		if asked.writes() {
			allowed = l.writes
		}
		one = &meter{LimitPerS: allowed.perS, bucket: newTokenBucket(allowed, now)}
		l.meters[asked.writes()][strings.Clone(prefix)] = one
	}
	return one.admit(now, int64(now.Sub(l.began)/time.Second), l.splitAfterS)
}

func (m *meter) admit(now time.Time, second int64, splitAfterS int) bool {
	if last := len(m.BySecond) - 1; last < 0 || m.BySecond[last].TS != second {
		if last >= 0 {
			m.finish(m.BySecond[last], second, splitAfterS)
		}
		m.BySecond = append(m.BySecond, point{TS: second})
	}
	this := &m.BySecond[len(m.BySecond)-1]
	if !m.bucket.take(now) {
		m.SlowDowns++
		this.SlowDowns++
		return false
	}
	m.Accepted++
	this.Accepted++
	return true
}

// finish looks at a second that is over: enough of them under load, one after the other, split the prefix.
func (m *meter) finish(over point, next int64, splitAfterS int) {
	if splitAfterS == 0 || m.LimitPerS == 0 {
		return
	}
	if over.SlowDowns > 0 || float64(over.Accepted) >= loadedFrom*m.LimitPerS {
		m.loadedS++
	} else {
		m.loadedS = 0
	}
	if m.loadedS >= splitAfterS {
		m.bucket.double()
		m.LimitPerS, m.loadedS = m.bucket.rate.perS, 0
		m.Splits++
	}
	if next != over.TS+1 { // a second without any request
		m.loadedS = 0
	}
}

// prefixOf is the bucket and the first folders of the key; the last part of a key is its name and no folder.
func prefixOf(bucket, key string, depth int) string {
	end := 0
	for range depth {
		slash := strings.IndexByte(key[end:], '/')
		if slash < 0 {
			break
		}
		end += slash + 1
	}
	return bucket + "/" + key[:end]
}
