package main

import (
	"testing"
	"time"
)

// limited makes limits whose clock the test moves.
func limited(s settings) (*limits, *time.Time) {
	now := began
	return newLimits(s, func() time.Time { return now }), &now
}

func copyTo(key string) request { return request{operation: "copy", bucket: "b", key: key} }

func TestAPrefixIsTheBucketAndTheFirstFoldersOfTheKey(t *testing.T) {
	for _, one := range []struct {
		key   string
		depth int
		want  string
	}{
		{"2015/01/x.mp4", 0, "b/"}, {"2015/01/x.mp4", 1, "b/2015/"}, {"2015/01/x.mp4", 2, "b/2015/01/"},
		{"2015/01/x.mp4", 9, "b/2015/01/"}, {"x.mp4", 1, "b/"}, {"", 2, "b/"},
	} {
		if got := prefixOf("b", one.key, one.depth); got != one.want {
			t.Errorf("%q at depth %d is of %q, not %q", one.key, one.depth, got, one.want)
		}
	}
}

func TestPrefixesAndReadsAndWritesHaveLimitsOfTheirOwn(t *testing.T) {
	l, _ := limited(settings{writes: rate{10, 1}, reads: rate{10, 2}, prefixDepth: 1})
	if !l.admit(copyTo("a/1")) || l.admit(copyTo("a/2")) || !l.admit(copyTo("c/1")) {
		t.Error("one write each of a/ and c/ is allowed, and a second one of a/ is not")
	}
	head := request{operation: "head", bucket: "b", key: "a/1"}
	if !l.admit(head) || !l.admit(head) || l.admit(head) {
		t.Error("two reads of a/ are allowed beside its write, and a third one is not")
	}
	if got := *l.meters[true]["b/a/"]; got.Accepted != 1 || got.SlowDowns != 1 || got.BySecond[0] != (point{0, 1, 1}) {
		t.Errorf("the writes of a/ were counted as %+v", got)
	}
}

func TestAPrefixSplitsOnlyAfterSoManySecondsOfLoadInARow(t *testing.T) {
	l, now := limited(settings{writes: rate{100, 100}, splitAfterS: 3})
	second := func(requests int) *meter {
		for range requests {
			l.admit(copyTo("a"))
		}
		*now = now.Add(time.Second)
		return l.meters[true]["b/"]
	}
	for _, requests := range []int{120, 120, 50, 120, 120} { // the third one is no load
		if got := second(requests); got.Splits != 0 {
			t.Fatalf("it split after %d seconds", len(got.BySecond))
		}
	}
	*now = now.Add(time.Second) // and one without any request
	for range 3 {
		if got := second(120); got.Splits != 0 {
			t.Fatal("a second without any request counted as load")
		}
	}
	if got := second(1); got.Splits != 1 || got.LimitPerS != 200 {
		t.Fatalf("after three seconds of load in a row: %d splits, %v/s", got.Splits, got.LimitPerS)
	}
	if before := l.meters[true]["b/"].Accepted; second(500).Accepted != before+200 {
		t.Error("after the split it doesn't take twice as much")
	}
}
