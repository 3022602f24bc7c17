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
// first attempt). Order is its attribute `stampede`, which a message carries whose body is somebody
// else's. ReceiptHandle and QueueARN say what to tell SQS about it. All three are empty where the
// event leaves them out.
type Message struct {
	ID            string
	Body          string
	Order         string
	Attempt       int64
	ReceiptHandle string
	QueueARN      string
}

// Read returns the messages of an SQS event. Every other event is an error, a direct test invoke
// included: returning something instead would look like success, and without a message id there's
// nothing to report as failed.
func Read(text json.RawMessage) (messages []Message, err error) {
	var event events.SQSEvent
	wrong := json.Unmarshal(text, &event)
	for _, record := range event.Records {
		attempt, notANumber := strconv.ParseUint(record.Attributes["ApproximateReceiveCount"], 10,
			31)
		if wrong != nil || record.EventSource != "aws:sqs" || record.MessageId == "" ||
			notANumber != nil {
			return nil,
				errors.New("this function takes SQS events: each record needs eventSource aws:sqs, messageId, body and " +
					"attributes.ApproximateReceiveCount")
		}
		messages = append(messages, Message{
			ID: record.MessageId, Body: record.Body,
			Order:   aws.ToString(record.MessageAttributes["stampede"].StringValue),
			Attempt: int64(attempt), ReceiptHandle: record.ReceiptHandle,
			QueueARN: record.EventSourceARN,
		})
	}
	if messages == nil {
		return nil,
			errors.New("this function takes SQS events: the event has no Records; send a message to its queue (stampede flood)")
	}
	return messages, nil
}
