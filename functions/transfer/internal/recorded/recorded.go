// Package recorded reads what AWS was recorded to answer, for the tests.
package recorded

import (
	"encoding/json"
	"os"
	"testing"
)

// Row is one of tests/data/aws_answers/services.json.
type Row struct {
	ID     string
	Answer struct {
		Status                        int
		Code, Message, QueryErrorCode string
		Fields                        map[string]any
	}
}

// Answer is the row with this id. It is read from the folder of a package beside this one, where go test runs its tests.
func Answer(t *testing.T, id string) Row {
	t.Helper()
	text, err := os.ReadFile("../../../../tests/data/aws_answers/services.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.ID == id {
			return row
		}
	}
	t.Fatalf("no recorded answer %s", id)
	return Row{}
}
