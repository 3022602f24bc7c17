// Package sandbox is the Lambda function: for each message of an SQS event one timed operation and one record.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/smithy-go"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/ident"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/redelivery"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// Operation is what one experiment does and times, made once per sandbox.
type Operation interface {
	// Labels returns what the environment says of the function; nil when it couldn't be read.
	Labels() *environment.Labels
	// Do does what the body of a message orders, until the deadline. Whatever goes wrong is in the outcome; the order is
	// nil when the body is none.
	Do(ctx context.Context, body string, deadline time.Time) (*workorder.Order, record.Outcome)
}

// Sandbox is one execution environment, from its start until Lambda discards it.
type Sandbox struct {
	id         string
	operation  Operation
	log        io.Writer
	warm       bool
	redelivery redelivery.Redelivery
}

// New makes the sandbox of an operation. Records go to log.
func New(operation Operation, log io.Writer) *Sandbox {
	return &Sandbox{id: ident.New(), operation: operation, log: log}
}

// Handle processes the messages of one SQS event and returns the failed ones, which SQS then delivers again. Every message
// leaves one record, ok or error. An event that isn't one of SQS is an error.
func (s *Sandbox) Handle(ctx context.Context, event json.RawMessage) (events.SQSEventResponse, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	messages, err := sqsevent.Read(event)
	if err != nil {
		return answer, err
	}
	var failures []sqsevent.Message
	for _, message := range messages {
		line, failed := s.process(ctx, message)
		// One write, so that lines of several writers can't mix.
		if _, err := io.WriteString(s.log, line+"\n"); err != nil {
			return answer, err
		}
		if failed {
			failures = append(failures, message)
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.ID})
		}
	}
	for _, message := range failures { // after every record: what is told to SQS must not delay or lose one
		s.hasten(ctx, message)
	}
	return answer, nil
}

// hasten lets a failed message come back soon. What goes wrong is a plain line on stderr, which no query takes for a record.
func (s *Sandbox) hasten(ctx context.Context, message sqsevent.Message) {
	end, _ := ctx.Deadline()
	err := s.redelivery.Hasten(ctx, message, end)
	if err == nil {
		return
	}
	said := err.Error()
	var refused smithy.APIError
	if errors.As(err, &refused) {
		said = refused.ErrorCode() // without what SQS said, which could be JSON and pass for a record
	}
	fmt.Fprintf(os.Stderr, "message %s waits for the queue's timeout: %+.200q\n", message.ID, said)
}

func (s *Sandbox) process(ctx context.Context, message sqsevent.Message) (line string, failed bool) {
	end, _ := ctx.Deadline() // the runtime always gives one
	ctx = record.WithDelivery(ctx, message.Attempt, s.log)
	order, outcome := s.operation.Do(ctx, message.Body, end.Add(-deadline.Margin))
	return record.Format(s.labels(ctx, message, order), outcome), outcome.Err != nil
}

func (s *Sandbox) labels(ctx context.Context, message sqsevent.Message, order *workorder.Order) record.Labels {
	labels := record.Labels{MessageID: &message.ID, SandboxID: s.id, Attempt: message.Attempt}
	if !s.warm {
		s.warm, labels.ColdStart = true, 1
	}
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		labels.RequestID = &invocation.AwsRequestID
	}
	if function := s.operation.Labels(); function != nil {
		labels.ConcurrencyLimit, labels.MemorySizeMB = &function.ConcurrencyLimit, &function.MemorySizeMB
		labels.ExperimentTag, labels.Method = &function.ExperimentTag, &function.Method
	}
	if order != nil {
		labels.RunID, labels.Cell, labels.Seq = &order.RunID, &order.Cell, &order.Seq
	}
	return labels
}
