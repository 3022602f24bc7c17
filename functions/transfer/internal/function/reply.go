package function

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"stampede/transfer/internal/failure"
)

// mostReply is the most that Lambda takes as a reply, in bytes (its own message, Function.ResponseSizeTooLarge).
const mostReply = 6_291_556

const errorType = "Lambda-Runtime-Function-Error-Type"

// judge returns why a reply is a failure; nil for one that lets SQS delete the message (Lambda guide, "Implementing partial batch
// responses").
func judge(r *http.Request, body []byte) error {
	if r.PathValue("kind") == "error" || r.Trailer.Get(errorType) != "" {
		kind, raised := failure.HandlerError, thrown(r, body)
		if strings.HasPrefix(raised, "Runtime.MarshalError: ") { // what the handler returned, and nothing it raised
			kind = failure.InvalidResponse
		}
		return failure.New(kind, "%s", raised)
	}
	reply := bytes.TrimSpace(body)
	var values map[string]json.RawMessage // stays empty for text, a number or a list
	_ = json.Unmarshal(reply, &values)
	var failures []json.RawMessage
	answer := values["batchItemFailures"]
	switch {
	case len(body) > mostReply:
		return failure.New(failure.ResponseTooLarge, "the reply has %d bytes, and Lambda takes %d", len(body), mostReply)
	case len(reply) > 0 && !json.Valid(reply):
		return failure.New(failure.InvalidResponse, "the reply isn't JSON: %.100q", reply)
	case answer == nil || json.Unmarshal(answer, &failures) == nil && len(failures) == 0:
		return nil
	}
	return failure.New(failure.PartialFailure, "batchItemFailures has the message, or what isn't in the batch: %.200s", answer)
}

// thrown is the error that a program reports, as its type and text.
func thrown(r *http.Request, body []byte) string {
	var reported struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(body, &reported) != nil {
		reported.ErrorMessage = string(body)
	}
	return cmp.Or(reported.ErrorType, r.Header.Get(errorType), r.Trailer.Get(errorType), "Unknown") + ": " + reported.ErrorMessage
}
