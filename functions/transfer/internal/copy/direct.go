package copy

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// wholeNumber is a number as text: the published payload has them so.
var wholeNumber = regexp.MustCompile(`^"(0|[1-9][0-9]{0,15})"$`)

// Invoked implements sandbox.Direct: it turns what the function was invoked with by hand into a work order. That is the
// published payload {"parallel_limit": "100"}, with any other keys of an order, and with numbers as text or not. Without a
// manifest the destination is emptied first, as it is there. What is wrong with it is said as of an order; an object without
// parallel_limit isn't meant as one.
func (o *operation) Invoked(event json.RawMessage) (body string, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(event))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return "", false
	}
	pairs, given := []string{`"run_id": "direct"`, `"cell": "direct"`, `"seq": 0`}, map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		key, isText := token.(string)
		var value json.RawMessage
		if err != nil || !isText || decoder.Decode(&value) != nil {
			return "", false
		}
		given[key] = true
		if wholeNumber.Match(value) {
			value = value[1 : len(value)-1]
		}
		name, _ := json.Marshal(key)
		pairs = append(pairs, string(name)+": "+string(value)) // a key that is there twice is still, and is refused
	}
	if !given["manifest"] && !given["empty_first"] {
		pairs = append(pairs, `"empty_first": 1`)
	}
	return "{" + strings.Join(pairs, ", ") + "}", given["parallel_limit"] && !given["Records"]
}
