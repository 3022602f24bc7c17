package copy

import (
	"math"
	"time"
)

// The adaptive pace finds S3's limit from its answers alone, and shares it with workers that it
// doesn't know.
//
// It climbs until the first SlowDown, then measures how many calls get through while S3 refuses the
// rest: that is the limit, or this worker's share of it. From then on a rate of x calls a second
// grows by growth*sqrt(x) a second, and a SlowDown lowers it by the fraction decrease: at most once
// in a refusal time, as in TCP, since a call sent before the last decrease says nothing new.
//
// S3 refuses within milliseconds, but a copy may take a minute. So a call counts at the time it was
// sent, and counts as let through once its refusal would have come: after two refusal times.
//
// Additive increase and multiplicative decrease make shares equal (Chiu and Jain, 1989, Computer
// Networks and ISDN Systems 17). An increase by a root of the rate lies between additive and
// multiplicative: one of the binomial controls (Bansal and Balakrishnan, INFOCOM 2001: increase
// alpha/x^k, decrease beta*x^l, fair for k+l > 0; here k = -1/2, l = 1). In balance growth*sqrt(x)
// = decrease*x*s, so there are s = growth/decrease/sqrt(x) SlowDowns a second: few for every limit.
// Below fewCalls that would be a SlowDown for nearly every call: there the increase is linear
// (k = -1), which keeps the shares of many slow workers as equal as the measurement made them. A
// while after the last SlowDown the growth quickens with a power of the time, like CUBIC's (RFC
// 9438), because the limit may have risen: S3 split the prefix, or another worker ended. After S3
// has refused everything for a while, the old limit is useless: with the first call that gets
// through, the climb begins again, like TCP's after a timeout.
//
// If S3 refuses most calls however few this worker makes, another client ignores SlowDown and takes
// whatever is left: the rate then stops at half of what got through when that began.
const (
	firstRate  = 200.0 // calls a second
	lowestRate = 1.0
	growth     = 1.25
	decrease   = 0.05
	fewCalls   = 150.0
	// doubling is the time in which the climb doubles, or two refusal times if they are longer.
	doubling = 250 * time.Millisecond
	// A measurement ends after measuredCalls got through, within these bounds.
	shortestMeasure = 300 * time.Millisecond
	longestMeasure  = 3 * time.Second
	measuredCalls   = 60
	// The growth quickens after this time without a SlowDown.
	quiet = time.Second
	step  = 100 * time.Millisecond
	// Refusals are counted in spans of this length. S3 refuses everything if it let nothing through
	// in spans with refusedInRow refusals. Other clients crowd it if it refuses crowdedPart.
	span         = time.Second
	refusedInRow = 10
	crowdedPart  = 0.5
	// The rate is only raised if calls used this part of it.
	usedPart = 0.7
)

type phase int

const (
	climbing phase = iota
	measuring
	steady
)

// tally counts the calls sent in a time span, and how many of them were refused.
type tally struct {
	from, until   time.Duration
	sent, refused int
}

func (t *tally) has(sentAt time.Duration) bool { return sentAt >= t.from && sentAt < t.until }

func (t *tally) through() float64 { return float64(t.sent - t.refused) }

func (t *tally) throughPerS() float64 { return t.through() / (t.until - t.from).Seconds() }

// adaptive is the control of one worker. It has no clock: callers pass the time.
type adaptive struct {
	cap     float64 // 0: none
	lowest  float64
	rate    float64
	phase   phase
	refusal time.Duration // smoothed time of a refusal; 0 before the first

	stepped     time.Duration // when the rate last grew
	sentInStep  int
	slowedAt    time.Duration // when the rate was last lowered
	measured    tally
	spanned     tally
	shut        int     // calls refused in spans in which S3 let nothing through
	refusedPart float64 // smoothed part of a span's calls
}

func newAdaptive(limit float64) *adaptive {
	a := &adaptive{cap: limit, lowest: lowestRate, rate: firstRate, spanned: tally{until: span}}
	a.bound()
	return a
}

// Rate returns the rate of calls from now on.
func (a *adaptive) Rate(now time.Duration) float64 {
	if a.phase == measuring {
		a.endMeasure(now)
	} else if now-a.stepped >= step {
		a.grow(now)
	}
	if now >= a.spanned.until+2*a.refusal {
		a.endSpan(now)
	}
	return a.rate
}

// Sent counts a call that goes out.
func (a *adaptive) Sent(now time.Duration) {
	a.sentInStep++
	for _, t := range []*tally{&a.measured, &a.spanned} {
		if t.has(now) {
			t.sent++
		}
	}
}

// SlowedDown counts a call that was answered SlowDown.
func (a *adaptive) SlowedDown(now, sentAt time.Duration) {
	if trip := now - sentAt; a.refusal == 0 {
		a.refusal = trip
	} else {
		a.refusal += (trip - a.refusal) / 8 // as RFC 6298 follows a round trip
	}
	for _, t := range []*tally{&a.measured, &a.spanned} {
		if t.has(sentAt) {
			t.refused++
		}
	}
	switch {
	case a.phase == measuring || sentAt < a.slowedAt:
	case a.phase == climbing:
		a.phase, a.measured = measuring, tally{from: now, until: now + longestMeasure}
	default:
		a.rate *= 1 - decrease
		a.slow(steady, now)
	}
}

// slow begins a phase in which only calls from now on count.
func (a *adaptive) slow(next phase, now time.Duration) {
	a.phase, a.slowedAt, a.stepped, a.sentInStep = next, now, now, 0
	a.bound()
}

// endMeasure ends the measurement once enough calls got through and their results are known.
func (a *adaptive) endMeasure(now time.Duration) {
	m := &a.measured
	unknown := a.rate * 2 * a.refusal.Seconds() // calls that may still be refused
	if now < m.until && now-m.from >= shortestMeasure && m.through()-unknown >= measuredCalls {
		m.until = now
	}
	if now >= m.until+2*a.refusal {
		a.rate = min(a.rate, m.throughPerS()) * (1 - decrease)
		a.slow(steady, now)
		a.spanned = tally{from: now, until: now + span}
	}
}

// endSpan evaluates a span, whose refusals have all come, and begins the next.
func (a *adaptive) endSpan(now time.Duration) {
	ended := a.spanned
	a.spanned = tally{from: now, until: now + span}
	if ended.sent == 0 {
		return
	}
	part := float64(ended.refused) / float64(ended.sent)
	a.refusedPart += (part - a.refusedPart) / 4
	if ended.through() == 0 {
		a.shut += ended.refused
	} else {
		if a.shut >= refusedInRow && part < crowdedPart {
			a.slow(climbing, now)
		}
		a.shut = 0
	}
	a.lookForOthers(ended, part)
}

// lookForOthers holds the rate if S3 refuses most calls however few they are: slowing down further
// would only leave more to a client that never does.
func (a *adaptive) lookForOthers(ended tally, part float64) {
	switch {
	case part >= crowdedPart && ended.sent >= refusedInRow && a.phase != measuring:
		a.lowest = max(a.lowest, ended.throughPerS()/2)
		a.bound()
	case part < crowdedPart && a.refusedPart < crowdedPart:
		a.lowest = lowestRate
	}
}

// grow raises the rate for the time since the last step, if the rate held the calls back.
func (a *adaptive) grow(now time.Duration) {
	twoCalls := time.Duration(2 / a.rate * float64(time.Second))
	passed := min(now-a.stepped, max(2*step, twoCalls)).Seconds()
	used := float64(a.sentInStep) >= usedPart*a.rate*passed-1
	a.stepped, a.sentInStep = now, 0
	if !used {
		return
	}
	if a.phase == climbing {
		a.rate *= math.Exp2(passed / max(doubling, 2*a.refusal).Seconds())
	} else {
		gain := growth * math.Sqrt(max(a.rate, fewCalls)) * min(1, a.rate/fewCalls)
		quicker := max(1, (now-a.slowedAt).Seconds()/quiet.Seconds())
		a.rate += min(gain*quicker*quicker*quicker, a.rate) * passed
	}
	a.bound()
}

func (a *adaptive) bound() {
	a.rate = max(a.rate, a.lowest)
	if a.cap > 0 {
		a.rate = min(a.rate, a.cap)
	}
}
