// Package recorded reads what AWS was recorded to answer, for the tests.
package recorded

import (
	"slices"
	"testing"

	"stampede/transfer/internal/s3test/agreed"
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

// Answer is the row with this id.
func Answer(t *testing.T, id string) Row {
	t.Helper()
	var rows []Row
	agreed.Read(t, "../../tests/data/aws_answers/services.json", &rows)
	place := slices.IndexFunc(rows, func(row Row) bool { return row.ID == id })
	if place < 0 {
		t.Fatalf("no recorded answer %s", id)
	}
	return rows[place]
}
