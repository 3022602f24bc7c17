package workorder

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"stampede/transfer/internal/failure"
)

// parse reads an order with keys of its own in every form that there is.
func parse(body string) (Order, *int64, int64, string, error) {
	r, order := Open(body, "number", "warm", "word")
	number, warm, word := r.Optional("number"), r.Flag("warm"), ""
	r.Text("word", "two letters", func(text string) bool { word = text; return len(text) == 2 })
	return order, number, warm, word, r.Err
}

func TestAWorkOrderIsReadWithTheCommonKeysAndItsOwn(t *testing.T) {
	order, number, warm, word, err := parse(`{"run_id": "r", "cell": "c é", "seq": 9007199254740991, "start_at_ms": 1, "round": 3, "number": 0, "warm": 1,
		"word": "ab"}`)
	if err != nil {
		t.Fatal(err)
	}
	if order.RunID != "r" || order.Cell != "c é" || order.Seq != LargestInteger || *order.StartAtMs != 1 || order.Round != 3 || *number != 0 || warm != 1 || word != "ab" {
		t.Errorf("%+v %d %d %s", order, *number, warm, word)
	}
	order, number, warm, word, err = parse(`{"run_id": "r", "cell": "c", "seq": 0}`)
	if err != nil || order.StartAtMs != nil || order.Round != 0 || number != nil || warm != 0 || word != "" {
		t.Errorf("%+v %v", order, err)
	}
}

func TestWhatIsNoWorkOrderIsRefusedInOneLineThatNamesTheKey(t *testing.T) {
	valid := `"run_id": "r", "cell": "c", "seq": 1`
	for body, word := range map[string]string{
		``:                                    "JSON",
		`hello`:                               "JSON",
		"{\n \"run_id\" 1}":                   "JSON",
		`[1]`:                                 "object",
		`{` + valid + `} x`:                   "JSON",
		`{}`:                                  "lacks the key run_id",
		`{` + valid + `, "speed": 1}`:         `"speed"`,
		`{` + valid + `, "seq": 1}`:           "twice",
		`{` + valid + `, "warm": true}`:       "warm",
		`{` + valid + `, "number": -1}`:       "number",
		`{` + valid + `, "start_at_ms": 1.0}`: "start_at_ms",
		`{` + valid + `, "start_at_ms": 9007199254740992}`:                      "start_at_ms",
		`{` + valid + `, "word": "abc"}`:                                        "word must be two letters",
		`{"run_id": "", "cell": "c", "seq": 1}`:                                 "run_id",
		`{"run_id": "a\nb", "cell": "c", "seq": 1}`:                             "run_id",
		`{"run_id": "\ud800", "cell": "c", "seq": 1}`:                           "run_id",
		`{"run_id": "r", "cell": null, "seq": 1}`:                               "cell",
		`{"run_id": "r", "cell": "c", "seq": "1"}`:                              "seq",
		`{"run_id": "r", "cell": "c", "seq": true}`:                             "seq",
		`{"run_id": "` + strings.Repeat("x", 257) + `", "cell": "c", "seq": 1}`: "run_id",
	} {
		_, _, _, _, err := parse(body)
		var known *failure.Error
		if !errors.As(err, &known) || known.Type != failure.WorkOrder || !strings.Contains(known.Message, word) || strings.Contains(known.Message, "\n") {
			t.Errorf("%.60s: %v, not %s", body, err, word)
		}
	}
}

func FuzzABodyIsAnOrderOrRefused(f *testing.F) {
	f.Add(`{"run_id": "r", "cell": "c", "seq": 1}`)
	f.Fuzz(func(t *testing.T, body string) {
		order, _, _, _, err := parse(body)
		if err == nil && (order.RunID == "" || order.Cell == "" || order.Seq < 0 || order.Seq > LargestInteger || !json.Valid([]byte(body))) {
			t.Errorf("%+v", order)
		}
	})
}
