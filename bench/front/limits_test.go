package main

import (
	"slices"
	"testing"
	"time"
)

func TestEachBucketHasALimitOfItsOwnAndIsCountedBySecond(t *testing.T) {
	now := began
	l := newLimits(rate{perS: 1, burst: 1}, func() time.Time { return now })
	if !l.admit("a") || l.admit("a") || !l.admit("c") {
		t.Error("one write to each bucket is allowed, and a second one is not")
	}
	now = now.Add(3 * time.Second)
	if !l.admit("a") {
		t.Error("a second later another one is allowed")
	}
	if got := *l.meters["a"]; got.Accepted != 2 || got.SlowDowns != 1 || !slices.Equal(got.BySecond, []point{{0, 1, 1}, {3, 1, 0}}) {
		t.Errorf("the writes to a were counted as %+v", got)
	}
}
