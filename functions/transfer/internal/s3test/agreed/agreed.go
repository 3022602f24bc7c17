// Package agreed reads functions/agreed, what both languages have in common, for the tests.
package agreed

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// Read puts a file into value. It is read from the folder of a package beside this one, where go test runs its tests.
func Read(t *testing.T, name string, value any) {
	t.Helper()
	text, err := os.ReadFile("../../../agreed/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, value); err != nil {
		t.Fatal(err)
	}
}

// Keys are those of an experiment's record, in their order.
func Keys(t *testing.T, experiment string, isError bool) []string {
	t.Helper()
	var record struct {
		Common, Error []string
		Time          map[string]string
		Own           map[string][]string
	}
	Read(t, "record.json", &record)
	if len(record.Common) == 0 || len(record.Own[experiment]) == 0 {
		t.Fatalf("record.json has no keys of %s", experiment)
	}
	keys := append(record.Common, record.Own[experiment]...)
	place := slices.Index(keys, "<time>")
	keys[place] = record.Time[experiment]
	if isError {
		return append(slices.Delete(keys, place, place+1), record.Error...)
	}
	return keys
}
