package main

import "time"

// rate is what may be written to a bucket: requests/s, and how many of them at once (0: a tenth of a second of them). 0/s: no limit.
type rate struct{ perS, burst float64 }

func (r rate) room() float64 {
	if r.burst > 0 {
		return r.burst
	}
	return max(1, r.perS/10)
}

// tokenBucket begins full; what is taken comes back at the rate, up to its room.
type tokenBucket struct {
	rate   rate
	tokens float64
	filled time.Time
}

func newTokenBucket(r rate, now time.Time) tokenBucket {
	return tokenBucket{rate: r, tokens: r.room(), filled: now}
}

func (b *tokenBucket) take(now time.Time) bool {
	if b.rate.perS == 0 {
		return true
	}
	if passed := now.Sub(b.filled).Seconds(); passed > 0 {
		b.tokens = min(b.rate.room(), b.tokens+passed*b.rate.perS)
		b.filled = now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
