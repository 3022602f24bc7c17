package copy

import (
	"fmt"
	"strings"
	"testing"
)

func TestThePublishedPayloadIsAnOrderThatEmptiesAndListsAndOthersSayWhatTheyGive(t *testing.T) {
	for payload, want := range map[string]string{
		`{"parallel_limit": "100"}`: "100 4 empties", `{"parallel_limit": 20, "retry_attempts": "11", "retry_mode": "legacy"}`: "20 11 empties",
		`{"parallel_limit": 20, "empty_first": "0"}`: "20 4", `{"parallel_limit": 20, "manifest": "m/", "first_slice": 0, "slices": 1}`: "20 4 m/",
		`{"parallel_limit": 1, "key1": "value1"}`: "unknown key", `{"parallel_limit": "0"}`: "from 1 to", `{"parallel_limit": "1e2"}`: "parallel_limit",
		`{"Records": []}`: "none", `{"Records": [{"eventSource": "aws:sqs"}], "parallel_limit": 1}`: "none", `[]`: "none", `"text"`: "none", `null`: "none",
		`{}`: "none", `{"key1": "value1"}`: "none",
	} {
		body, ok := (&operation{}).Invoked([]byte(payload))
		order, err := parse(body)
		got := "none"
		if ok && err != nil {
			got = err.Error()
		} else if ok {
			got = fmt.Sprint(order.Parallel, order.Attempts, map[bool]string{true: " empties"}[order.EmptyFirst], " ", order.Manifest)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, not %s", payload, got, want)
		}
	}
}
