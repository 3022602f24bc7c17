// Package sandbox is the Lambda function: one timed operation and one record for each message of an
// SQS event, and for a direct invocation if the operation takes one. A host uses it too.
package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// Operation is what one experiment does and times, made once per sandbox.
type Operation interface {
	// Labels returns what the environment says of the function; nil if it couldn't be read.
	Labels() *environment.Labels
	// Do does what a message orders, until the deadline. Errors are in the outcome. The order is
	// nil if the body isn't one. Lines before the record go to log.
	Do(ctx context.Context, message sqsevent.Message, log io.Writer, deadline time.Time) (
		*workorder.Order, record.Outcome)
}

// Direct is an operation that also takes events of manual invocations.
type Direct interface {
	// Invoked returns the work order for an event; false for an event that it doesn't know.
	Invoked(event json.RawMessage) (body string, ok bool)
}

// Sandbox is one execution environment, from its start until Lambda discards it. On a host it is
// the process.
type Sandbox struct {
	*Recorder
	operation Operation
}

// New makes the sandbox of an operation. Records go to log.
func New(operation Operation, log io.Writer) *Sandbox {
	return &Sandbox{NewRecorder(log), operation}
}

// Handle processes the messages of one SQS event and returns the failed ones, which SQS then
// delivers again. Every message leaves one record, ok or error. Any other event is one of a manual
// invocation (Direct), or an error.
func (s *Sandbox) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	received, err := sqsevent.Read(event)
	if err != nil {
		if direct, ok := s.operation.(Direct); ok {
			if body, ok := direct.Invoked(event); ok {
				return s.invoked(ctx, body)
			}
		}
		return nil, err
	}
	end, _ := ctx.Deadline() // the runtime always gives one
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	var failures []sqsevent.Message
	for _, message := range received {
		_, failed, err := s.Process(ctx, message, end.Add(-deadline.Margin))
		if err != nil {
			return answer, err
		}
		if failed != nil {
			failures = append(failures, message)
			answer.BatchItemFailures = append(answer.BatchItemFailures,
				events.SQSBatchItemFailure{ItemIdentifier: message.ID})
		}
	}
	// after every record: calls of SQS must not delay or lose one
	for _, message := range failures {
		s.Hasten(ctx, message, end)
	}
	return answer, nil
}

// invoked carries out a direct invocation. The answer is the record. A failed operation is a
// function error (errorType is the record's error_type, errorMessage the record), so that no caller
// takes it for a success.
func (s *Sandbox) invoked(ctx context.Context, body string) (any, error) {
	end, _ := ctx.Deadline()
	message := sqsevent.Message{Body: body, Attempt: 1}
	line, failed, err := s.Process(ctx, message, end.Add(-deadline.Margin))
	if err != nil {
		return nil, err
	}
	if failed != nil {
		kind, _ := failure.Describe(failed)
		return nil, messages.InvokeResponse_Error{Type: kind, Message: line}
	}
	return json.RawMessage(line), nil
}

// Process does what one message orders, until a deadline, and logs the record, which it returns
// too. failed is why the message has to come again, or nil. err is an error of the log.
func (s *Sandbox) Process(
	ctx context.Context, message sqsevent.Message, until time.Time,
) (line string, failed, err error) {
	order, outcome := s.operation.Do(ctx, message, s.log, until)
	delivery := record.Delivery{Message: message, IsFirst: s.IsFirst(),
		Function: s.operation.Labels(), Order: order}
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		delivery.RequestID = invocation.AwsRequestID
	}
	line, err = s.Record(delivery, outcome)
	return line, outcome.Err, err
}
