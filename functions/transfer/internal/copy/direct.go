package copy

import (
	"encoding/json"
	"regexp"
)

// wholeNumber is a number as text: the published payload has them so.
var wholeNumber = regexp.MustCompile(`^"(0|[1-9][0-9]{0,15})"$`)

// Invoked implements sandbox.Direct: it turns what the function was invoked with by hand into a
// work order. That is the published payload {"parallel_limit": "100"}, with any other keys of an
// order, and with numbers as text or not. Without a manifest the destination is emptied first, as
// it is there. What is wrong with it is said as of an order; an object without parallel_limit isn't
// meant as one.
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
