package express

import (
	"bytes"
	"encoding/json"
)

// Invoked implements sandbox.Direct: {"place": {...}} with the keys of an order is the order to upload what is missing.
func (o *operation) Invoked(event json.RawMessage) (body string, ok bool) {
	var asked map[string]json.RawMessage
	if json.Unmarshal(event, &asked) != nil || len(asked) != 1 || asked["place"] == nil {
		return "", false
	}
	keys, isObject := bytes.CutPrefix(bytes.TrimSpace(asked["place"]), []byte("{"))
	if !isObject {
		return string(asked["place"]), true // refused as an order is
	}
	body = `{"run_id": "place", "cell": "place", "seq": 0, "only_missing": 1`
	if len(bytes.TrimSpace(keys)) > 1 {
		body += ", "
	}
	return body + string(keys), true
}
