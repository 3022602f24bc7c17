// Package sqsevent reads the event that an SQS event source mapping gives to the function.
package sqsevent

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Message is one message: its id, its body as sent, and how many times it has been received (1 = first attempt).
// Order is its attribute `stampede`, which a message carries whose body is somebody else's. ReceiptHandle and QueueARN say
// what to tell SQS about it. All three are empty where the event leaves them out.
type Message struct {
	ID            string
	Body          string
	Order         string
	Attempt       int64
	ReceiptHandle string
	QueueARN      string
}

// record is read loosely, so that a wrong type in one field gives our own sentence. aws-lambda-go's events.SQSEvent would
// take a missing field for an empty one.
type record struct {
	EventSource   any `json:"eventSource"`
	MessageID     any `json:"messageId"`
	Body          any `json:"body"`
	Attributes    any `json:"attributes"`
	OfSender      any `json:"messageAttributes"`
	ReceiptHandle any `json:"receiptHandle"`
	QueueARN      any `json:"eventSourceARN"`
}

var count = regexp.MustCompile(`^[0-9]{1,9}$`)

// Read returns the messages of an SQS event. Every other event is an error, a direct test invoke included: returning
// something instead would look like success, and without a message id there's nothing to report as failed.
func Read(event json.RawMessage) ([]Message, error) {
	var parsed struct {
		Records []json.RawMessage `json:"Records"`
	}
	if err := json.Unmarshal(event, &parsed); err != nil || len(parsed.Records) == 0 {
		return nil, errors.New("this function takes SQS events: the event has no Records; send a message to its queue " +
			"(stampede flood), or use the console's SQS test event with the message as the body")
	}
	messages := make([]Message, len(parsed.Records))
	for number, raw := range parsed.Records {
		message, err := read(raw, number)
		if err != nil {
			return nil, fmt.Errorf("this function takes SQS events: %w", err)
		}
		messages[number] = message
	}
	return messages, nil
}

func read(raw json.RawMessage, number int) (Message, error) {
	var given record
	if err := json.Unmarshal(raw, &given); err != nil || given.EventSource != "aws:sqs" {
		return Message{}, fmt.Errorf("Records[%d].eventSource isn't aws:sqs", number)
	}
	id, hasID := given.MessageID.(string)
	body, hasBody := given.Body.(string)
	if !hasID || !hasBody {
		return Message{}, fmt.Errorf("Records[%d] needs messageId and body as text", number)
	}
	attributes, _ := given.Attributes.(map[string]any)
	text, _ := attributes["ApproximateReceiveCount"].(string)
	if !count.MatchString(text) {
		return Message{}, fmt.Errorf("Records[%d].attributes.ApproximateReceiveCount isn't a number", number)
	}
	attempt, _ := strconv.ParseInt(text, 10, 64)
	ofSender, _ := given.OfSender.(map[string]any)
	stampede, _ := ofSender["stampede"].(map[string]any)
	order, _ := stampede["stringValue"].(string)
	handle, _ := given.ReceiptHandle.(string)
	queue, _ := given.QueueARN.(string)
	return Message{ID: id, Body: body, Order: order, Attempt: attempt, ReceiptHandle: handle, QueueARN: queue}, nil
}
