package workorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"stampede/transfer/internal/failure"
)

// parse reads an order with an own key of each form.
func parse(body string) (Order, *int64, int64, string, error) {
	r, order := Open(body, "number", "warm", "word")
	number, warm := r.Optional("number"), r.Flag("warm")
	word := r.Text("word", "two letters", func(text string) bool { return len(text) == 2 })
	return order, number, warm, word, r.Err
}

func TestAWorkOrderIsReadWithTheCommonKeysAndItsOwn(t *testing.T) {
	order, number, warm, word, err := parse(`{"run_id": "r", "cell": "c é",
		"seq": 9007199254740991, "start_at_ms": 1, "round": 3, "number": 0, "warm": 1,
		"word": "ab"}`)
	got := fmt.Sprint(order.RunID, order.Cell, order.Seq, *order.StartAtMs, order.Round, *number,
		warm, word, err)
	if got != "rc é9007199254740991 1 3 0 1ab<nil>" {
		t.Error(got)
	}
	order, number, warm, word, err = parse(`{"run_id": "r", "cell": "c", "seq": 0}`)
	if order != (Order{RunID: "r", Cell: "c"}) || number != nil || warm != 0 || word != "" ||
		err != nil {
		t.Error(order, number, warm, word, err)
	}
}

func TestWhatIsNoWorkOrderIsRefusedInOneLineThatNamesTheKey(t *testing.T) {
	valid := `"run_id": "r", "cell": "c", "seq": 1`
	for body, word := range map[string]string{
		``:                                    "JSON",
		"{\n \"run_id\" 1}":                   "JSON",
		`{` + valid + `} x`:                   "JSON",
		`{}`:                                  "lacks the key run_id",
		`{` + valid + `, "seq": 1}`:           "twice",
		`{` + valid + `, "warm": true}`:       "warm",
		`{` + valid + `, "number": -1}`:       "number",
		`{` + valid + `, "start_at_ms": 1.0}`: "start_at_ms",
		`{` + valid + `, "start_at_ms": 9007199254740992}`: "start_at_ms",
		`{` + valid + `, "word": "abc"}`:                   "word must be two letters",
		`{"run_id": "r", "cell": null, "seq": 1}`:          "cell",
		`{"run_id": "r", "cell": "c", "seq": "1"}`:         "seq",
	} {
		_, _, _, _, err := parse(body)
		var known *failure.Error
		if !errors.As(err, &known) || known.Type != failure.WorkOrder ||
			!strings.Contains(known.Message, word) || strings.Contains(known.Message, "\n") {
			t.Errorf("%.60s: %v, not %s", body, err, word)
		}
	}
}
