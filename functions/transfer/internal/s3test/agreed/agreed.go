// Package agreed reads, for tests, what both languages share (functions/agreed), and AWS's answers.
package agreed

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// Read puts a file of functions/agreed into value. The path is relative to the folder of a package
// in internal, where go test runs its tests.
func Read(t *testing.T, name string, value any) {
	t.Helper()
	text, err := os.ReadFile("../../../agreed/" + name)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Timeouts compares durations with those of timeouts.json.
func Timeouts(t *testing.T, wanted map[string]time.Duration) {
	t.Helper()
	var seconds map[string]float64
	Read(t, "timeouts.json", &seconds)
	for name, timeout := range wanted {
		if seconds[name] != timeout.Seconds() {
			t.Error(name, timeout)
		}
	}
}

// Keys are the keys of an experiment's record, in order.
func Keys(t *testing.T, experiment string, isError bool) []string {
	t.Helper()
	var record struct {
		Common, Error []string
		Time          map[string]string
		Own           map[string][]string
	}
	Read(t, "record.json", &record)
	keys := append(record.Common, record.Own[experiment]...)
	place := slices.Index(keys, "<time>")
	keys[place] = record.Time[experiment]
	if isError {
		return append(slices.Delete(keys, place, place+1), record.Error...)
	}
	return keys
}

// Answer is the recorded answer of an AWS service.
type Answer struct {
	Status                        int
	Code, Message, QueryErrorCode string
	Fields                        map[string]any
}

// Recorded returns the answer with this id in tests/data/aws_answers/services.json.
func Recorded(t *testing.T, id string) Answer {
	t.Helper()
	var rows []struct {
		ID     string
		Answer Answer
	}
	Read(t, "../../tests/data/aws_answers/services.json", &rows)
	for _, row := range rows {
		if row.ID == id {
			return row.Answer
		}
	}
	t.Fatal(id)
	return Answer{}
}
