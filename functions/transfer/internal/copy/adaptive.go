package copy

import (
	"math"
	"time"
)

// The adaptive pace finds S3's limit from its answers alone, and shares it with workers that it knows nothing of.
//
// It climbs until the first SlowDown, measures what comes through while S3 refuses the rest (that is the limit, or this
// worker's share of it), and nears the limit from there until the next SlowDown. From then on x calls a second grow by
// growth*sqrt(x) a second, and shrink by the part decrease at a SlowDown: at most once a round trip, as TCP does, since a call
// that was sent before the last decrease says nothing new.
//
// Additive increase and multiplicative decrease make shares equal (Chiu and Jain, 1989, Computer Networks and ISDN Systems 17).
// An increase by a root of the rate lies between additive and multiplicative: one of the binomial controls (Bansal and
// Balakrishnan, INFOCOM 2001: increase alpha/x^k, decrease beta*x^l, fair for k+l > 0; here k = -1/2, l = 1). In balance
// growth*sqrt(x) = decrease*x*s, so there are s = growth/decrease/sqrt(x) SlowDowns a second: few at every size of limit.
// Long after the last one the growth quickens with the square of the time, as CUBIC's does (RFC 9438): for a limit that rose,
// because S3 split the prefix or another worker came to its end. Where S3 has refused everything for a while, what was known of
// the limit is of no use any more: with the first call that gets through the climb begins again, as TCP's does after a timeout.
const (
	firstRate  = 200.0 // calls a second
	lowestRate = 1.0
	growth     = 1.25
	decrease   = 0.05
	// SlowDowns that are taken without slowing down: this part of the calls, saved up to mostCredit. Calls don't arrive as
	// evenly as they are sent, so that a limit refuses a few of them well before it is reached.
	tolerated  = 0.003
	mostCredit = 2
	// Below this rate the growth is smaller: nearly every pause between two calls would end with a SlowDown otherwise.
	fewCalls = 150.0
	// The climb doubles in this time, or in twice a round trip if that is longer.
	doubling = 250 * time.Millisecond
	// After the measurement it takes this long, until the next SlowDown.
	slowDoubling = 3 * time.Second
	// A measurement takes this long, or until so many calls could come through, but not longer than longestMeasure.
	shortestMeasure = 300 * time.Millisecond
	longestMeasure  = 2 * time.Second
	measuredCalls   = 60
	// The growth quickens after so many times the usual time between two SlowDowns.
	quickening = 4
	step       = 100 * time.Millisecond
	// So many SlowDowns in a row, and so long a time without a call that got through, are that S3 refuses everything.
	refusedInRow = 10
	refusedFor   = time.Second
	// Rate is only raised when it is what holds the calls back: this part of it was used.
	usedPart = 0.7
)

type phase int

const (
	climbing phase = iota
	measuring
	nearing // as climbing, but slower: the measurement may have been too low
	steady
)

// adaptive is the control of one worker. It knows no clock: every time is told.
type adaptive struct {
	cap   float64 // 0: none
	rate  float64
	phase phase
	trip  time.Duration // round trip of a call, smoothed

	stepped      time.Duration // until when growth is in the rate
	sentInStep   int
	decreasedAt  time.Duration
	slowedAt     time.Duration // the last SlowDown
	throughAt    time.Duration // the last call that got through
	refused      int           // SlowDowns since
	credit       float64       // SlowDowns to be taken
	measureFrom  time.Duration
	measureUntil time.Duration
	measured     int
}

func newAdaptive(limit float64) *adaptive {
	a := &adaptive{cap: limit, rate: firstRate}
	a.bound()
	return a
}

// Rate implements control.
func (a *adaptive) Rate(now time.Duration) float64 {
	if a.phase == measuring && now >= a.measureUntil {
		reached := float64(a.measured) / (a.measureUntil - a.measureFrom).Seconds()
		a.phase, a.rate, a.decreasedAt, a.slowedAt, a.stepped, a.sentInStep = nearing, min(a.rate, reached)*(1-decrease), now, now, now, 0
		a.bound()
	}
	if a.phase != measuring && now-a.stepped >= step {
		a.grow(now)
	}
	return a.rate
}

// Sent implements control.
func (a *adaptive) Sent(time.Duration) { a.sentInStep++ }

// Answered implements control.
func (a *adaptive) Answered(now, sentAt time.Duration, through, slowDown bool) {
	if through {
		if a.refused >= refusedInRow && now-a.throughAt >= refusedFor {
			a.phase, a.decreasedAt, a.stepped, a.sentInStep = climbing, now, now, 0
		}
		a.refused, a.throughAt = 0, now
		a.credit = min(mostCredit, a.credit+tolerated)
		a.trip += (now - sentAt - a.trip) / 8 // as RFC 6298 smooths
		if a.phase == measuring && now >= a.measureFrom && now < a.measureUntil {
			a.measured++
		}
	}
	if slowDown {
		a.refused++
	}
	switch {
	case !slowDown || a.phase == measuring || sentAt < a.decreasedAt:
	case a.phase == climbing:
		takes := time.Duration(measuredCalls / a.rate * float64(time.Second))
		a.phase, a.measured, a.measureFrom = measuring, 0, now+a.trip
		a.measureUntil = a.measureFrom + min(max(takes, shortestMeasure), longestMeasure)
	case a.phase == steady && a.credit >= 1:
		a.credit--
		a.slowedAt = now
	default:
		a.phase, a.slowedAt = steady, now
		a.rate *= 1 - decrease
		a.decreasedAt, a.stepped, a.sentInStep = now, now, 0
		a.bound()
	}
}

// grow raises the rate for the time since the last step, if the rate is what held the calls back.
func (a *adaptive) grow(now time.Duration) {
	passed := min(now-a.stepped, 2*step).Seconds()
	used := float64(a.sentInStep) >= usedPart*a.rate*passed-1
	a.stepped, a.sentInStep = now, 0
	if !used {
		return
	}
	switch a.phase {
	case climbing:
		a.rate *= math.Exp2(passed / max(doubling, 2*a.trip).Seconds())
	case nearing:
		a.rate *= math.Exp2(passed / max(slowDoubling, 2*a.trip).Seconds())
	default:
		gain := growth * math.Sqrt(max(a.rate, fewCalls)) * math.Pow(min(1, a.rate/fewCalls), 1.5)
		usual := decrease * a.rate / gain // seconds between two SlowDowns in balance
		quicker := max(1, (now-a.slowedAt).Seconds()/(quickening*usual))
		a.rate += min(gain*quicker*quicker, a.rate) * passed
	}
	a.bound()
}

func (a *adaptive) bound() {
	a.rate = max(a.rate, lowestRate)
	if a.cap > 0 {
		a.rate = min(a.rate, a.cap)
	}
}
