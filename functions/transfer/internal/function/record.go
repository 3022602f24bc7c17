package function

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/workorder"
)

// invocation is a message on its way through the program.
type invocation struct {
	record.Delivery
	payload    *int64 // the number of the body among those of the run
	warmUp     *int64 // 1 marks a message that no figure counts
	deadline   time.Time
	started    time.Time
	startedCPU float64
	timer      *time.Timer
}

// read takes the work order out of the message's attribute: the body is the program's. A message that somebody else sent has none.
func (i *invocation) read() error {
	if i.Message.Order == "" {
		return nil
	}
	r, order := workorder.Open(i.Message.Order, "warm_up", "payload")
	warmUp, payload := r.Flag("warm_up"), r.Between("payload", new(int64), 0, workorder.LargestInteger)
	if r.Err == nil {
		i.Order, i.warmUp, i.payload = &order, &warmUp, &payload
	}
	return r.Err
}

// record writes what became of a message until then, and lets one that failed come back soon.
func (p *proxy) record(i *invocation, then time.Time, err error) {
	p.lines.end()
	start, init := "warm", time.Duration(0)
	if i.IsFirst {
		start, init = "cold", p.init
	}
	_, _ = p.Record(i.Delivery, record.Outcome{
		TimeKey: "elapsed_seconds", StartedAtMs: i.started.UnixMilli(), ElapsedSeconds: then.Sub(i.started).Seconds(),
		Bytes: int64(len(i.Message.Body)), Err: err,
		Own: []record.Pair{
			{Key: "warm_up", Value: i.warmUp}, {Key: "package", Value: p.lookup("STAMPEDE_PACKAGE")},
			{Key: "payload", Value: i.payload}, {Key: "start", Value: start}, {Key: "runtime", Value: p.lookup("STAMPEDE_RUNTIME")},
			{Key: "architecture", Value: p.lookup("STAMPEDE_ARCHITECTURE")}, {Key: "init_seconds", Value: known(init.Seconds())},
			{Key: "peak_memory_mb", Value: known(process.PeakMemoryMBOf(p.pid))},
			{Key: "client_cpu_seconds", Value: known(process.CPUSecondsOf(p.pid) - i.startedCPU)},
			{Key: "experiment", Value: "function"},
		},
	})
	if err != nil { // even after a timeout, when little is left
		ctx, cancel := context.WithDeadline(context.Background(), i.deadline)
		defer cancel()
		p.Hasten(ctx, i.Message, time.Now().Add(time.Minute))
	}
}

// known is nil for what couldn't be measured, such as the memory of a program that has ended.
func known(measured float64) *float64 {
	if measured <= 0 {
		return nil
	}
	return &measured
}

// judge returns why a reply is a failure; nil for one that lets SQS delete the message (Lambda guide, "Implementing partial batch
// responses").
func judge(r *http.Request, body []byte, messageID string) error {
	if r.PathValue("kind") == "error" || r.Trailer.Get(errorType) != "" {
		raised := thrown(r, body)
		if strings.HasPrefix(raised, "Runtime.MarshalError: ") { // what the handler returned, and nothing it raised
			return failure.New(failure.InvalidResponse, "%s", raised)
		}
		return failure.New(failure.HandlerError, "%s", raised)
	}
	if len(body) > mostReply {
		return failure.New(failure.ResponseTooLarge, "the reply has %d bytes, and Lambda takes %d", len(body), mostReply)
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		return failure.New(failure.InvalidResponse, "the reply isn't JSON: %.100q", body)
	}
	var reply map[string]json.RawMessage // stays empty for text, a number or a list
	_ = json.Unmarshal(body, &reply)
	named, answers := reply["batchItemFailures"]
	var failures []json.RawMessage
	if !answers || json.Unmarshal(named, &failures) == nil && len(failures) == 0 {
		return nil
	}
	if strings.Contains(string(named), messageID) {
		return failure.New(failure.PartialFailure, "batchItemFailures names the message")
	}
	return failure.New(failure.PartialFailure, "batchItemFailures must name messages of the batch only, not %.200s", named)
}

// mostReply is the most that Lambda takes as a reply, in bytes (its own message, Function.ResponseSizeTooLarge).
const mostReply = 6_291_556

const errorType = "Lambda-Runtime-Function-Error-Type"

// thrown is the error that a program reports, as its type and text.
func thrown(r *http.Request, body []byte) string {
	var reported struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(body, &reported) != nil {
		reported.ErrorMessage = string(body)
	}
	return cmp.Or(reported.ErrorType, r.Header.Get(errorType), r.Trailer.Get(errorType), "Unknown") + ": " + reported.ErrorMessage
}
