package copy

import (
	"encoding/json"
	"regexp"
)

// wholeNumber is a number as text, as in the published payload.
var wholeNumber = regexp.MustCompile(`^"(0|[1-9][0-9]{0,15})"$`)

// Invoked implements sandbox.Direct: it turns the event of a manual invocation into a work order.
// The event is the published payload {"parallel_limit": "100"}, with any other keys of an order,
// and numbers as text or not. Without a manifest the destination is emptied first, as published.
// Errors are those of a work order. An object without parallel_limit isn't one.
func (o *operation) Invoked(event json.RawMessage) (body string, ok bool) {
	values := map[string]json.RawMessage{}
	if json.Unmarshal(event, &values) != nil || values["parallel_limit"] == nil ||
		values["Records"] != nil {
		return "", false
	}
	for key, value := range values {
		if wholeNumber.Match(value) {
			values[key] = value[1 : len(value)-1]
		}
	}
	usual := map[string]string{"run_id": `"direct"`, "cell": `"direct"`, "seq": "0"}
	if values["manifest"] == nil {
		usual["empty_first"] = "1"
	}
	for key, value := range usual {
		if values[key] == nil {
			values[key] = json.RawMessage(value)
		}
	}
	order, err := json.Marshal(values)
	return string(order), err == nil
}
