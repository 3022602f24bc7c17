// Package sqsevent reads the event that an SQS event source mapping gives to the function.
package sqsevent

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
)

// Message is one message: its id, its body as sent, and how many times it has been received (1 =
// first attempt). Order is its attribute `stampede`, which holds the work order if the body is for
// another program. ReceiptHandle and QueueARN are for calls of SQS. All three may be empty.
type Message struct {
	ID            string
	Body          string
	Order         string
	Attempt       int64
	ReceiptHandle string
	QueueARN      string
}

// Read returns the messages of an SQS event. Any other event is an error, even a test invocation:
// any answer would look like success, and without a message id nothing can be reported as failed.
func Read(text json.RawMessage) (messages []Message, err error) {
	const needed = "this function takes SQS events: "
	var event events.SQSEvent
	wrong := json.Unmarshal(text, &event)
	for _, record := range event.Records {
		count := record.Attributes["ApproximateReceiveCount"]
		attempt, notANumber := strconv.ParseUint(count, 10, 31)
		if wrong != nil || record.EventSource != "aws:sqs" || record.MessageId == "" ||
			notANumber != nil {
			return nil, errors.New(needed + "each record needs eventSource aws:sqs, messageId, " +
				"body and attributes.ApproximateReceiveCount")
		}
		messages = append(messages, Message{
			ID: record.MessageId, Body: record.Body, Attempt: int64(attempt),
			Order:         aws.ToString(record.MessageAttributes["stampede"].StringValue),
			ReceiptHandle: record.ReceiptHandle, QueueARN: record.EventSourceARN,
		})
	}
	if messages == nil {
		return nil, errors.New(needed + "the event has no Records; send a message to its queue " +
			"(stampede flood)")
	}
	return messages, nil
}
