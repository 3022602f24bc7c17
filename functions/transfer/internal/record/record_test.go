package record

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stampede/transfer/internal/download"
	"stampede/transfer/internal/failure"
)

// The four keys as the published query takes them apart.
var published = regexp.MustCompile(`"concurrency_limit": (\d+), "download_time_seconds": ([\d.]+), "memory_size": (\d+), "experiment_tag": "([^"]*)"`)

func labels() Labels {
	one, size, tag := int64(1), int64(1024), "première, n°1"
	return Labels{ConcurrencyLimit: &one, MemorySizeMB: &size, ExperimentTag: &tag, SandboxID: "s"}
}

func TestThePublishedExpressionReadsEveryDuration(t *testing.T) {
	for _, seconds := range []float64{0, 1e-9, 0.00001, 12.380369424819946, 123456.789} {
		found := published.FindStringSubmatch(Format(labels(), download.Outcome{ElapsedSeconds: seconds}))
		if found == nil {
			t.Fatalf("%v isn't found", seconds)
		}
		if read, _ := strconv.ParseFloat(found[2], 64); read-seconds > 1e-9 || seconds-read > 1e-9 || found[4] != "première, n°1" {
			t.Errorf("%v was read as %v", seconds, found)
		}
	}
}

func TestAnErrorHasNoTimeAndAShortPrintableLine(t *testing.T) {
	line := Format(labels(), download.Outcome{Err: errors.New("a\nb\x00\u2028c " + strings.Repeat("é", 400))})
	var read map[string]any
	if err := json.Unmarshal([]byte(line), &read); err != nil {
		t.Fatal(err)
	}
	message := read["error_message"].(string)
	if read["error_type"] != failure.Unexpected || utf8.RuneCountInString(message) != 300 || !strings.Contains(message, "a b? c éé") || !strings.HasSuffix(message, "...") {
		t.Errorf("%q", message)
	}
	if published.MatchString(line) || read["first_byte_seconds"] != nil {
		t.Error(line)
	}
}

func TestTheEndIsTheStartPlusTheDuration(t *testing.T) {
	line := Format(labels(), download.Outcome{StartedAtMs: 1_735_689_600_123, ElapsedSeconds: 1.2346})
	if !strings.Contains(line, `"finished_at_ms": 1735689601358,`) {
		t.Error(line)
	}
}

// The keys that the tests of both languages compare with; "<time>" stands for the experiment's own name of the time.
func agreedKeys(t *testing.T, isError bool) []string {
	t.Helper()
	var agreed struct {
		Common, Error []string
		Time          map[string]string
		Own           map[string][]string
	}
	text, err := os.ReadFile("../../../agreed/record.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &agreed); err != nil || len(agreed.Common) == 0 {
		t.Fatal(err)
	}
	keys := append(agreed.Common, agreed.Own["download"]...)
	place := slices.Index(keys, "<time>")
	if isError {
		return append(slices.Delete(keys, place, place+1), agreed.Error...)
	}
	keys[place] = agreed.Time["download"]
	return keys
}

func TestTheKeysAreTheAgreedOnesInTheirOrder(t *testing.T) {
	key := regexp.MustCompile(`"(\w+)": `)
	for _, outcome := range []download.Outcome{{}, {Err: errors.New("no")}} {
		var keys []string
		for _, found := range key.FindAllStringSubmatch(Format(labels(), outcome), -1) {
			keys = append(keys, found[1])
		}
		if agreed := agreedKeys(t, outcome.Err != nil); !slices.Equal(keys, agreed) {
			t.Errorf("%v, not %v", keys, agreed)
		}
	}
}

func TestTextIsWrittenAsPythonsJSONWritesIt(t *testing.T) {
	if got := Quote("a\"b\\c\n\t\r\b\f\x01\x7f<é>\u2028"); got != `"a\"b\\c\n\t\r\b\f\u0001`+"\x7f<é>\u2028\"" {
		t.Error(got)
	}
}
