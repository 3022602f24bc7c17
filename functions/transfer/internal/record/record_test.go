package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
)

const timeKey = "download_time_seconds"

// The regular expression of the published query.
var published = regexp.MustCompile(`"concurrency_limit": (\d+), ` +
	`"download_time_seconds": ([\d.]+), "memory_size": (\d+), "experiment_tag": "([^"]*)"`)

var of = Delivery{Function: &environment.Labels{ConcurrencyLimit: 1, MemorySizeMB: 1024,
	ExperimentTag: "première, n°1"}}

func TestThePublishedExpressionReadsEveryDuration(t *testing.T) {
	for _, seconds := range []float64{0, 1e-9, 0.00001, 12.380369424819946, 123456.789} {
		outcome := Outcome{TimeKey: timeKey, StartedAtMs: 1000, ElapsedSeconds: seconds}
		line := Format("s", of, outcome)
		parts := append(published.FindStringSubmatch(line), "", "", "", "", "")
		read, err := strconv.ParseFloat(parts[2], 64)
		if err != nil || math.Abs(read-seconds) > 1e-9 || parts[4] != "première, n°1" ||
			!strings.Contains(line, fmt.Sprintf(`"finished_at_ms": %.0f,`, 1000+seconds*1000)) {
			t.Error(seconds, line)
		}
	}
}

func TestAnErrorHasNoTimeAndAShortPrintableLine(t *testing.T) {
	err := errors.New("a\nb\x00\u2028c " + strings.Repeat("é", 400))
	line := Format("s", of, Outcome{TimeKey: timeKey, Err: err})
	var read struct {
		Kind    string `json:"error_type"`
		Message string `json:"error_message"`
	}
	if err := json.Unmarshal([]byte(line), &read); err != nil || read.Kind != failure.Unexpected ||
		utf8.RuneCountInString(read.Message) != 300 ||
		!strings.Contains(read.Message, "a b? c éé") || !strings.HasSuffix(read.Message, "...") ||
		published.MatchString(line) {
		t.Error(err, line)
	}
}
