package copy

import (
	"context"
	"math"
	"sync"
	"time"

	"stampede/transfer/internal/deadline"
)

const (
	// longestDebt is how much time of calls not made a pacer makes up for at once: timers are late
	// by up to a few ms.
	longestDebt = 20 * time.Millisecond
	// lead is how much earlier than its turn a call may go: so a few go out together, for which the
	// process wakes up once. That halves the CPU of a call at 500 a second.
	lead = 4 * time.Millisecond
)

// pacer spaces the calls of one worker out, one every 1/rate seconds.
type pacer struct {
	gate  chan struct{} // held while waiting, so that a new rate counts from the next call on
	next  time.Time
	began time.Time

	mutex sync.Mutex
	rate  *adaptive // nil for a fixed pace
	cap   float64   // of a fixed pace: calls a second
}

// newPacer makes the pacer of a policy.
func newPacer(policy Policy, began time.Time) *pacer {
	p := &pacer{gate: make(chan struct{}, 1), next: began, began: began, cap: math.Inf(1)}
	if policy.Pace == Adaptive {
		p.rate = newAdaptive(float64(policy.CallsPerS))
	} else if policy.CallsPerS > 0 {
		p.cap = float64(policy.CallsPerS)
	}
	return p
}

// wait returns when the next call may go out; an error is why none may any more.
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

// adapt does something with the adaptive pace, if it is one.
func (p *pacer) adapt(do func(*adaptive)) {
	if p.rate != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		do(p.rate)
	}
}
