package copy

import (
	"strings"
	"testing"
)

func TestWhatIdentifiesALineStandsBeforeItsFailedObjects(t *testing.T) {
	var log strings.Builder
	failures := newFailures(&log, "r", "c", 7, 2, 1000)
	failures.add(row{Source: "a", Destination: "b", Slice: 1, Line: 3}, "AccessDenied", "no")
	failures.flush()
	begin := `{"run_id": "r", "cell": "c", "seq": 7, "attempt": 2, "failed_objects": [{"slice": 1, `
	if !strings.HasPrefix(log.String(), begin) || !strings.HasSuffix(log.String(), "}]}\n") {
		t.Errorf("%s", log.String())
	}
}
