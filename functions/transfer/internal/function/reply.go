package function

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"stampede/transfer/internal/failure"
)

// mostReply is the most bytes of a reply that Lambda takes (from its message
// Function.ResponseSizeTooLarge).
const mostReply = 6_291_556

const errorType = "Lambda-Runtime-Function-Error-Type"

// judge returns why a reply fails messages of a batch, by id. SQS deletes the others (Lambda guide,
// "Implementing partial batch responses").
func judge(r *http.Request, body []byte, batch []string) map[string]error {
	if err := wholly(r, body); err != nil {
		return each(batch, err)
	}
	var values map[string]json.RawMessage // stays empty for text, a number or a list
	_ = json.Unmarshal(body, &values)
	failed, failures := map[string]error{}, []map[string]any{}
	answer := values["batchItemFailures"]
	if answer != nil && json.Unmarshal(answer, &failures) != nil {
		return each(batch, failure.New(failure.PartialFailure,
			"batchItemFailures is no list of messages: %.200s", answer))
	}
	for _, item := range failures {
		id, _ := item["itemIdentifier"].(string)
		if !slices.Contains(batch, id) {
			return each(batch, failure.New(failure.PartialFailure,
				"batchItemFailures has an id that isn't in the batch: %.200s", answer))
		}
		failed[id] = failure.New(failure.PartialFailure, "batchItemFailures has the message")
	}
	return failed
}

// each gives every message of a batch the same reason.
func each(batch []string, err error) map[string]error {
	failed := map[string]error{}
	for _, id := range batch {
		failed[id] = err
	}
	return failed
}

// wholly returns why a reply fails its whole batch, or nil.
func wholly(r *http.Request, body []byte) error {
	if r.PathValue("kind") == "error" || r.Trailer.Get(errorType) != "" {
		kind, raised := failure.HandlerError, thrown(r, body)
		// about the handler's return value, not an exception of the handler
		if strings.HasPrefix(raised, "Runtime.MarshalError: ") {
			kind = failure.InvalidResponse
		}
		return failure.New(kind, "%s", raised)
	}
	reply := bytes.TrimSpace(body)
	switch {
	case len(body) > mostReply:
		return failure.New(failure.ResponseTooLarge,
			"the reply has %d bytes, but Lambda takes at most %d", len(body), mostReply)
	case len(reply) > 0 && !json.Valid(reply):
		return failure.New(failure.InvalidResponse, "the reply isn't JSON: %.100q", reply)
	}
	return nil
}

// thrown is the type and text of an error that a program reports.
func thrown(r *http.Request, body []byte) string {
	var reported struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(body, &reported) != nil {
		reported.ErrorMessage = string(body)
	}
	kind := cmp.Or(reported.ErrorType, r.Header.Get(errorType), r.Trailer.Get(errorType), "Unknown")
	return kind + ": " + reported.ErrorMessage
}
