package main

import (
	"testing"
	"time"
)

var began = time.Unix(1_800_000_000, 0)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// taken asks as often as it gets, at one moment.
func taken(b *tokenBucket, now time.Time) (count int) {
	for b.take(now) {
		count++
	}
	return count
}

func TestABucketGivesItsBurstAtOnceAndThenItsRate(t *testing.T) {
	bucket := newTokenBucket(rate{perS: 100, burst: 30}, began)
	for _, step := range []struct {
		atS  float64
		want int
	}{{0, 30}, {0, 0}, {0.1, 10}, {0.105, 0}, {0.115, 1}, {60, 30}} {
		if got := taken(&bucket, at(step.atS)); got != step.want {
			t.Errorf("after %v s it gave %d at once, not %d", step.atS, got, step.want)
		}
	}
}

func TestWithoutABurstATenthOfASecondIsTakenAtOnceAndAtLeastOneRequest(t *testing.T) {
	for perS, want := range map[float64]int{3500: 350, 2: 1} {
		bucket := newTokenBucket(rate{perS: perS}, began)
		if got := taken(&bucket, began); got != want {
			t.Errorf("%v/s gave %d at once, not %d", perS, got, want)
		}
	}
}

func TestOverAMinuteOfAskingMoreABucketGivesItsLimitWhateverTheSteps(t *testing.T) {
	for _, stepS := range []float64{0.0001, 0.0123} {
		bucket := newTokenBucket(rate{perS: 500, burst: 1}, began)
		total := 0
		for now := 0.0; now < 60; now += stepS {
			if bucket.rate.burst < 500*stepS {
				bucket.rate.burst = 500*stepS + 1 // room for one step, so that nothing is spilled
			}
			total += taken(&bucket, at(now))
		}
		if total < 29_980 || total > 30_020 {
			t.Errorf("in steps of %v s it gave %d, not 30,000", stepS, total)
		}
	}
}

func TestAClockThatStepsBackTakesNothingAway(t *testing.T) {
	bucket := newTokenBucket(rate{perS: 10, burst: 5}, began)
	if got := taken(&bucket, at(-3600)); got != 5 {
		t.Errorf("it gave %d, not 5", got)
	}
}
