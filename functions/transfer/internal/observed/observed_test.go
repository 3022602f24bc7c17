package observed

import (
	"testing"
	"time"
)

func TestOnlyTheTimedPartIsMeasured(t *testing.T) {
	w, prepared := &Work{}, time.Now()
	w.Prepare()
	time.Sleep(20 * time.Millisecond)
	before, _ := w.Spent()
	w.Begin()
	w.End()
	elapsed, cpu := w.Spent()
	for time.Since(prepared) < 50*time.Millisecond { // uses CPU too
	}
	again, more := w.Spent()
	started := w.Outcome("", 0, nil, nil).StartedAtMs - prepared.UnixMilli()
	if before != 0 || elapsed <= 0 || again != elapsed || more != cpu || started < 20 {
		t.Error(before, elapsed, again, cpu, more, started)
	}
}
