package copy

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// mostPoints is the most points that a trajectory has; a longer copy has coarser ones.
const mostPoints = 600

// point is one stretch of a copy: when it ended (seconds after the first call), what came through and what was slowed down in
// it, and the calls in flight on average.
type point struct {
	seconds           float64
	copied, slowDowns int64
	inFlight          float64
}

// trajectory gathers points, each of the same number of seconds, in constant memory: when there are too many, two become one.
type trajectory struct {
	points             []point
	width              float64 // seconds of a point
	copied, slowDowns  int64   // up to the last point
	inFlight, looks    int64   // since the last point
	lastPointAtSeconds float64
}

func newTrajectory() *trajectory { return &trajectory{width: 1} }

// look takes note of a copy's state; elapsed is the time since its first call, 0 before it.
func (t *trajectory) look(elapsed time.Duration, seen *observed) {
	if elapsed == 0 {
		return
	}
	t.inFlight += seen.inFlight.Load()
	t.looks++
	if elapsed.Seconds() >= t.lastPointAtSeconds+t.width {
		t.end(elapsed.Seconds(), seen)
	}
}

// end makes a point of what happened since the last.
func (t *trajectory) end(seconds float64, seen *observed) {
	if seconds <= t.lastPointAtSeconds {
		return
	}
	copied, slowDowns := seen.copied.Load(), seen.slowDowns.Load()
	t.points = append(t.points, point{seconds, copied - t.copied, slowDowns - t.slowDowns, float64(t.inFlight) / float64(max(1, t.looks))})
	t.copied, t.slowDowns, t.inFlight, t.looks, t.lastPointAtSeconds = copied, slowDowns, 0, 0, seconds
	if len(t.points) > mostPoints {
		t.halve()
	}
}

func (t *trajectory) halve() {
	half := t.points[:0]
	for i := 0; i+1 < len(t.points); i += 2 {
		one, two := t.points[i], t.points[i+1]
		half = append(half, point{two.seconds, one.copied + two.copied, one.slowDowns + two.slowDowns, (one.inFlight + two.inFlight) / 2})
	}
	if len(t.points)%2 == 1 {
		half = append(half, t.points[len(t.points)-1])
	}
	t.points, t.width = half, 2*t.width
}

// shortestRest is how long what comes after the last whole point must be to be a point of its own: a rate over less says
// nothing.
const shortestRest = 0.2

// text is "t_s:copied_per_s:in_flight:slowdowns_per_s" for each point, joined by spaces; t_s is a whole number of seconds.
func (t *trajectory) text() string {
	parts, before := make([]string, 0, len(t.points)), 0.0
	for i, p := range t.points {
		width := p.seconds - before
		if i > 0 && width < shortestRest {
			continue
		}
		per := func(number int64) int64 { return int64(math.Round(float64(number) / max(width, 1e-6))) }
		at := max(1, math.Round(p.seconds))
		parts = append(parts, fmt.Sprintf("%d:%d:%d:%d", int64(at), per(p.copied), int64(math.Round(p.inFlight)), per(p.slowDowns)))
		before = p.seconds
	}
	return strings.Join(parts, " ")
}
