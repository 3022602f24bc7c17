package copy

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// longestDebt is how much time of calls not made a pacer makes up for at once: timers are late by up to a few ms.
	longestDebt = 20 * time.Millisecond
	// lead is how much earlier than its turn a call may go: so a few go out together, for which the process wakes up once. That
	// halves the CPU of a call at 500 a second.
	lead = 4 * time.Millisecond
)

// pacer spaces the calls of one worker out, one every 1/rate seconds. nil: as fast as they come.
type pacer struct {
	gate  chan struct{} // held while waiting, so that a new rate counts from the next call on
	next  time.Time
	began time.Time

	mutex sync.Mutex
	rate  control
}

// control finds the rate of calls; times are those since the copy began.
type control interface {
	// Rate is the calls a second from now on.
	Rate(now time.Duration) float64
	// Sent hears of every call, Answered of its end; through says that S3 let it, even where it then refused what was asked.
	Sent(now time.Duration)
	Answered(now, sentAt time.Duration, through, slowDown bool)
	// Crowded tells whether S3 refuses most calls however few they are.
	Crowded() bool
}

// constant is a cap that nothing changes.
type constant float64

func (c constant) Rate(time.Duration) float64                        { return float64(c) }
func (c constant) Sent(time.Duration)                                {}
func (c constant) Answered(time.Duration, time.Duration, bool, bool) {}
func (c constant) Crowded() bool                                     { return false }

// newPacer makes the pacer of a policy.
func newPacer(policy Policy, began time.Time) *pacer {
	var rate control
	switch {
	case policy.Pace == Adaptive:
		rate = newAdaptive(float64(policy.CallsPerS))
	case policy.CallsPerS > 0:
		rate = constant(policy.CallsPerS)
	default:
		return nil
	}
	return &pacer{gate: make(chan struct{}, 1), next: began, began: began, rate: rate}
}

// wait returns when the next call may go out; an error is why none may any more.
func (p *pacer) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p == nil {
		return nil
	}
	select {
	case p.gate <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.gate }()
	now := time.Now()
	p.mutex.Lock()
	rate := p.rate.Rate(now.Sub(p.began))
	p.mutex.Unlock()
	if late := now.Add(-longestDebt); p.next.Before(late) {
		p.next = late
	}
	turn := p.next
	p.next = p.next.Add(time.Duration(float64(time.Second) / rate))
	if turn.Sub(now) < lead {
		return nil
	}
	return sleep(ctx, turn.Sub(now))
}

func (p *pacer) sent(now time.Duration) {
	if p != nil {
		p.mutex.Lock()
		p.rate.Sent(now)
		p.mutex.Unlock()
	}
}

func (p *pacer) answered(now, sentAt time.Duration, through, slowDown bool) {
	if p != nil {
		p.mutex.Lock()
		p.rate.Answered(now, sentAt, through, slowDown)
		p.mutex.Unlock()
	}
}

// crowded says, in words for a user, that slowing down doesn't help; "" as long as it does.
func (p *pacer) crowded(now time.Duration) string {
	if p == nil {
		return ""
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.rate.Crowded() {
		return ""
	}
	return fmt.Sprintf("S3 throttles most calls although this program makes only %.0f a second: another client of this bucket seems to ignore "+
		"SlowDown; stop it or slow it down", p.rate.Rate(now))
}
