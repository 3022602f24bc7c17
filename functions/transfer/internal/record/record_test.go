package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
)

const timeKey = "download_time_seconds"

// The four keys as the published query takes them apart.
var published = regexp.MustCompile(`"concurrency_limit": (\d+), "download_time_seconds": ([\d.]+), "memory_size": (\d+), "experiment_tag": "([^"]*)"`)

var of = Delivery{Function: &environment.Labels{ConcurrencyLimit: 1, MemorySizeMB: 1024, ExperimentTag: "première, n°1"}}

func TestThePublishedExpressionReadsEveryDuration(t *testing.T) {
	for _, seconds := range []float64{0, 1e-9, 0.00001, 12.380369424819946, 123456.789} {
		line := Format("s", of, Outcome{TimeKey: timeKey, StartedAtMs: 1000, ElapsedSeconds: seconds})
		if end := fmt.Sprintf(`"finished_at_ms": %.0f,`, 1000+seconds*1000); !strings.Contains(line, end) {
			t.Errorf("no %s in %s", end, line)
		}
		found := published.FindStringSubmatch(line)
		if found == nil {
			t.Fatalf("%v isn't found", seconds)
		}
		if read, _ := strconv.ParseFloat(found[2], 64); read-seconds > 1e-9 || seconds-read > 1e-9 || found[4] != "première, n°1" {
			t.Errorf("%v was read as %v", seconds, found)
		}
	}
}

func TestAnErrorHasNoTimeAndAShortPrintableLine(t *testing.T) {
	line := Format("s", of, Outcome{TimeKey: timeKey, Err: errors.New("a\nb\x00\u2028c " + strings.Repeat("é", 400))})
	var read map[string]any
	if err := json.Unmarshal([]byte(line), &read); err != nil {
		t.Fatal(err)
	}
	message := read["error_message"].(string)
	if read["error_type"] != failure.Unexpected || utf8.RuneCountInString(message) != 300 || !strings.Contains(message, "a b? c éé") || !strings.HasSuffix(message, "...") {
		t.Errorf("%q", message)
	}
	if published.MatchString(line) {
		t.Error(line)
	}
}
