package observed

import (
	"testing"
	"time"
)

func TestOnlyTheTimedPartIsMeasured(t *testing.T) {
	w, pause := &Work{}, 20*time.Millisecond
	w.Prepare()
	prepared := time.Now()
	time.Sleep(pause)
	if elapsed, _ := w.Spent(); elapsed != 0 {
		t.Error(elapsed)
	}
	w.Begin()
	w.End()
	elapsed, cpu := w.Spent()
	time.Sleep(pause)
	for range 100_000 {
		_ = time.Now()
	}
	if again, more := w.Spent(); again != elapsed || more != cpu || elapsed <= 0 {
		t.Error(elapsed, again, cpu, more)
	}
	if started := w.Outcome("elapsed_seconds", elapsed, nil, nil).StartedAtMs; started < prepared.Add(pause).UnixMilli() {
		t.Error(started, prepared)
	}
}
