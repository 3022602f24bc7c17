package workorder

import (
	"errors"
	"strings"
	"testing"

	"stampede/transfer/internal/failure"
)

func TestAWorkOrderIsReadWithAllItsKeys(t *testing.T) {
	order, err := Parse(`{"run_id": "r", "cell": "c é", "seq": 9007199254740991, "start_at_ms": 1, "object_bytes": 0, "warm_up": 1,
		"checksum": "crc32:0000abcd"}`)
	if err != nil {
		t.Fatal(err)
	}
	if order.RunID != "r" || order.Cell != "c é" || order.Seq != LargestInteger || *order.StartAtMs != 1 || *order.ObjectBytes != 0 ||
		order.WarmUp != 1 || order.Checksum.Value != "0000abcd" {
		t.Errorf("%+v", order)
	}
	order, err = Parse(`{"run_id": "r", "cell": "c", "seq": 0}`)
	if err != nil || order.StartAtMs != nil || order.ObjectBytes != nil || order.WarmUp != 0 || order.Checksum != nil {
		t.Errorf("%+v %v", order, err)
	}
}

func TestWhatIsNoWorkOrderIsRefusedInOneLineThatNamesTheKey(t *testing.T) {
	valid := `"run_id": "r", "cell": "c", "seq": 1`
	for body, word := range map[string]string{
		``:                                      "JSON",
		`hello`:                                 "line 1, column 1",
		"{\n \"run_id\" 1}":                     "line 2, column 11",
		`[1]`:                                   "object",
		`null`:                                  "object",
		`{` + valid + `} x`:                     "JSON",
		`{}`:                                    "lacks run_id",
		`{"run_id": "r", "seq": 1}`:             "lacks cell",
		`{` + valid + `, "speed": 1}`:           `"speed"`,
		`{` + valid + `, "seq": 1}`:             "twice",
		`{` + valid + `, "Warm_Up": 1}`:         "Warm_Up",
		`{` + valid + `, "warm_up": 2}`:         "warm_up",
		`{` + valid + `, "warm_up": true}`:      "warm_up",
		`{` + valid + `, "object_bytes": -1}`:   "object_bytes",
		`{` + valid + `, "object_bytes": null}`: "object_bytes",
		`{` + valid + `, "start_at_ms": 1.0}`:   "start_at_ms",
		`{` + valid + `, "start_at_ms": 1e3}`:   "start_at_ms",
		`{` + valid + `, "start_at_ms": 9007199254740992}`:                        "start_at_ms",
		`{` + valid + `, "checksum": "md5:00"}`:                                   "checksum",
		`{"run_id": 1, "cell": "c", "seq": 1}`:                                    "run_id",
		`{"run_id": "", "cell": "c", "seq": 1}`:                                   "run_id",
		`{"run_id": "a\nb", "cell": "c", "seq": 1}`:                               "run_id",
		`{"run_id": "\ud800", "cell": "c", "seq": 1}`:                             "run_id",
		`{"run_id": "r", "cell": null, "seq": 1}`:                                 "cell",
		`{"run_id": "r", "cell": "c", "seq": "1"}`:                                "seq",
		`{"run_id": "r", "cell": "c", "seq": true}`:                               "seq",
		`{"run_id": "` + strings.Repeat("x", 257) + `", "cell": "c", "seq": 1}`:   "run_id",
		`{"run_id": "r", "cell": "c", "seq": 1` + strings.Repeat("0", 5000) + `}`: "seq",
	} {
		_, err := Parse(body)
		var known *failure.Error
		if !errors.As(err, &known) || known.Type != failure.WorkOrder || !strings.Contains(known.Message, word) || strings.Contains(known.Message, "\n") {
			t.Errorf("%.60s: %v lacks %s", body, err, word)
		}
	}
}

func FuzzABodyIsAnOrderOrRefused(f *testing.F) {
	f.Add(`{"run_id": "r", "cell": "c", "seq": 1}`)
	f.Fuzz(func(t *testing.T, body string) {
		order, err := Parse(body)
		if (order == nil) == (err == nil) {
			t.Errorf("%v and %v", order, err)
		}
	})
}
