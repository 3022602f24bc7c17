package copy

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestThePublishedPayloadIsAnOrderThatEmptiesAndListsAndOthersSayWhatTheyGive(t *testing.T) {
	for payload, c := range map[string]struct {
		parallel, attempts int64
		empties            bool
		manifest           string
	}{
		`{"parallel_limit": "100"}`: {100, 4, true, ""},
		`{"parallel_limit": 20, "retry_attempts": "11", "retry_mode": "legacy"}`:  {20, 11, true, ""},
		`{"parallel_limit": 20, "empty_first": "0"}`:                              {20, 4, false, ""},
		`{"parallel_limit": 20, "manifest": "m/", "first_slice": 0, "slices": 1}`: {20, 4, false, "m/"},
	} {
		body, ok := (&operation{}).Invoked(json.RawMessage(payload))
		order, err := parse(body)
		if !ok || err != nil {
			t.Errorf("%s: %v, %s", payload, err, body)
			continue
		}
		if order.RunID != "direct" || order.Cell != "direct" || order.Seq != 0 || int64(order.Parallel) != c.parallel || order.Attempts != c.attempts ||
			order.EmptyFirst != c.empties || order.Manifest != c.manifest {
			t.Errorf("%s: %+v", payload, order)
		}
	}
}

func TestAPayloadThatIsWrongIsRefusedAsAnOrderIs(t *testing.T) {
	for payload, word := range map[string]string{
		`{"parallel_limit": 1, "key1": "value1"}`: "unknown key", `{"parallel_limit": "0"}`: "from 1 to", `{"parallel_limit": "1e2"}`: "parallel_limit",
		`{"parallel_limit": 1, "parallel_limit": 2}`: "twice", `{"parallel_limit": 1, "run_id": "mine"}`: "twice",
	} {
		body, ok := (&operation{}).Invoked(json.RawMessage(payload))
		if _, err := parse(body); !ok || err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, %s", payload, err, body)
		}
	}
}

func TestAnEventOfSqsAndWhatIsNoObjectAreNoPayload(t *testing.T) {
	for _, event := range []string{`{"Records": []}`, `{"Records": [{"eventSource": "aws:sqs"}], "parallel_limit": 1}`, `[]`, `"text"`, `null`, `{}`, `{"key1": "value1"}`} {
		if body, ok := (&operation{}).Invoked(json.RawMessage(event)); ok {
			t.Errorf("%s: %s", event, body)
		}
	}
}
