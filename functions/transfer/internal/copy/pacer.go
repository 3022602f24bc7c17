package copy

import (
	"context"
	"math"
	"sync"
	"time"

	"stampede/transfer/internal/deadline"
)

const (
	// longestDebt is the most delay that a pacer makes up for: timers are a few ms late.
	longestDebt = 20 * time.Millisecond
	// lead is how much earlier than its turn a call may go out, so that one wake-up sends a few of
	// them. That halves the CPU of a call at 500 a second.
	lead = 4 * time.Millisecond
)

// pacer spaces out the calls of one worker, one every 1/rate seconds.
type pacer struct {
	gate  chan struct{} // held while waiting: a new rate applies from the next call on
	next  time.Time
	began time.Time

	mutex sync.Mutex
	rate  *adaptive // nil for a fixed pace
	cap   float64   // calls a second of a fixed pace
}

func newPacer(policy Policy, began time.Time) *pacer {
	p := &pacer{gate: make(chan struct{}, 1), next: began, began: began, cap: math.Inf(1)}
	if policy.Pace == Adaptive {
		p.rate = newAdaptive(float64(policy.CallsPerS))
	} else if policy.CallsPerS > 0 {
		p.cap = float64(policy.CallsPerS)
	}
	return p
}

// wait returns when the next call may go out. An error says why no call may any more.
func (p *pacer) wait(ctx context.Context) error {
	select {
	case p.gate <- struct{}{}:
		defer func() { <-p.gate }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	now, rate := time.Now(), p.cap
	p.adapt(func(a *adaptive) { rate = a.Rate(now.Sub(p.began)) })
	if late := now.Add(-longestDebt); p.next.Before(late) {
		p.next = late
	}
	pause := p.next.Sub(now)
	p.next = p.next.Add(time.Duration(float64(time.Second) / rate))
	if pause < lead {
		return nil
	}
	return deadline.Sleep(ctx, pause)
}

// adapt calls do with the adaptive pace, if there is one.
func (p *pacer) adapt(do func(*adaptive)) {
	if p.rate != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		do(p.rate)
	}
}
