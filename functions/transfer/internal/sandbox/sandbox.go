// Package sandbox is the Lambda function: for each message of an SQS event one timed download and one record.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/smithy-go"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/download"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/ident"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/redelivery"
	"stampede/transfer/internal/s3"
	"stampede/transfer/internal/settings"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// Sandbox is one execution environment, from its start until Lambda discards it.
type Sandbox struct {
	id         string
	log        io.Writer
	settings   *settings.Settings
	client     *s3.Client
	wrong      error // why settings or client are nil: no message may go without a record
	warm       bool
	runner     download.Runner
	redelivery redelivery.Redelivery
}

// New reads the environment and makes what every message uses. Records go to log.
func New(ctx context.Context, lookup func(string) string, log io.Writer) *Sandbox {
	s := &Sandbox{id: ident.New(), log: log}
	if s.settings, s.wrong = settings.Read(lookup); s.wrong == nil {
		s.client, s.wrong = account.Client(ctx, account.Given{Region: s.settings.Region}, s.settings.Bucket)
	}
	return s
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
	err := s.redelivery.Hasten(ctx, message, deadlineOf(ctx))
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

func deadlineOf(ctx context.Context) time.Time {
	if deadline, limited := ctx.Deadline(); limited {
		return deadline
	}
	return time.Now().Add(15 * time.Minute) // Lambda's longest; it always gives one
}

func (s *Sandbox) process(ctx context.Context, message sqsevent.Message) (line string, failed bool) {
	order, err := workorder.Parse(message.Body)
	var outcome download.Outcome
	if err != nil {
		outcome = download.NotStarted(err)
	} else {
		outcome = s.download(ctx, order)
	}
	return record.Format(s.labels(ctx, message, order), outcome), outcome.Err != nil
}

func (s *Sandbox) download(ctx context.Context, order *workorder.Order) download.Outcome {
	if s.wrong != nil {
		return download.NotStarted(s.wrong)
	}
	if err := s.settings.Way.Check(order.Checksum); err != nil {
		return download.NotStarted(err)
	}
	deadline := deadlineOf(ctx).Add(-download.Margin)
	if err := waitUntil(order.StartAtMs, deadline); err != nil {
		return download.NotStarted(err)
	}
	job := download.Job{Client: s.client, Key: s.settings.Key, ObjectBytes: order.ObjectBytes, Checksum: order.Checksum}
	if s.settings.Way.Sink == download.Tmp {
		folder, err := os.MkdirTemp("", "stampede-")
		if err != nil {
			return download.NotStarted(failure.OfFile(err))
		}
		// An error is left out on purpose: no measurement fails over its waste.
		defer func() { _ = os.RemoveAll(folder) }()
		job.File = filepath.Join(folder, "object")
	}
	return s.runner.Run(ctx, s.settings.Way, job, deadline)
}

func (s *Sandbox) labels(ctx context.Context, message sqsevent.Message, order *workorder.Order) record.Labels {
	labels := record.Labels{MessageID: &message.ID, SandboxID: s.id, Attempt: message.Attempt}
	if !s.warm {
		s.warm, labels.ColdStart = true, 1
	}
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		labels.RequestID = &invocation.AwsRequestID
	}
	if s.settings != nil {
		method := "go_" + s.settings.Way.Method
		labels.ConcurrencyLimit, labels.MemorySizeMB = &s.settings.ConcurrencyLimit, &s.settings.MemorySizeMB
		labels.ExperimentTag, labels.Method, labels.Sink = &s.settings.ExperimentTag, &method, &s.settings.Way.Sink
		labels.SayRetries()
	}
	if order != nil {
		labels.RunID, labels.Cell, labels.Seq, labels.WarmUp = &order.RunID, &order.Cell, &order.Seq, order.WarmUp
	}
	return labels
}

// waitUntil holds a download back until a common start (epoch ms), so that many functions begin at once. A function that
// arrives late starts late: its record's started_at_ms shows it.
func waitUntil(startAtMs *int64, deadline time.Time) error {
	if startAtMs == nil {
		return nil
	}
	wait := time.Until(time.UnixMilli(*startAtMs))
	if wait <= 0 {
		return nil
	}
	if left := time.Until(deadline); wait >= left {
		return failure.New(failure.StartTooLate, "start_at_ms is %.1f s ahead, but only %.1f s can be waited: choose an earlier start or "+
			"raise timeout_s", wait.Seconds(), max(0, left.Seconds()))
	}
	time.Sleep(wait)
	return nil
}
