package worker

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
)

const (
	// longestPoll is the longest wait of ReceiveMessage (SQS API reference).
	longestPoll = 20 * time.Second
	// hidden is how long a message stays invisible after it was received and after each heartbeat:
	// how long after the death of a host its message comes back. Four heartbeats fit in, so that
	// three may fail.
	hidden    = 60 * time.Second
	heartbeat = hidden / 4
	// beatTimeout bounds one heartbeat, for which what comes after the work has to wait.
	beatTimeout = 5 * time.Second
	// longestHold is how long SQS lets a message be invisible in all, counted from its receipt (SQS
	// developer guide, visibility timeout). margin is what is kept of it for the calls under way
	// and the record.
	longestHold = 12 * time.Hour
	margin      = 5 * time.Minute
)

// The codes of SQS for a message that is no longer ours: it was purged, or came back to the queue
// and was received again. They are of the JSON protocol and of its predecessor (SQS API reference,
// ChangeMessageVisibility and DeleteMessage). InvalidParameterValue is what it answers for a
// message that is gone, and beyond the 12 hours.
var goneCodes = []string{"ReceiptHandleIsInvalid", "MessageNotInflight",
	"AWS.SimpleQueueService.MessageNotInflight", "InvalidParameterValue"}

// queue is the queue of orders.
type queue struct {
	client *sqs.Client
	url    string
	beat   time.Duration // between two heartbeats
}

// receive waits for a message; nil when none came.
func (q *queue) receive(ctx context.Context) (*sqsevent.Message, error) {
	const count = types.MessageSystemAttributeNameApproximateReceiveCount
	answer, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: 1, WaitTimeSeconds: int32(longestPoll / time.Second),
		VisibilityTimeout:           int32(hidden / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{count},
	})
	if err != nil || len(answer.Messages) == 0 {
		return nil, err
	}
	received := answer.Messages[0]
	attempt, _ := strconv.ParseInt(received.Attributes[string(count)], 10, 64)
	return &sqsevent.Message{
		ID: aws.ToString(received.MessageId), Body: aws.ToString(received.Body), Attempt: attempt,
		ReceiptHandle: aws.ToString(received.ReceiptHandle),
	}, nil
}

// hide makes a message invisible for a time from now on; 0 gives it back to the queue at once.
func (q *queue) hide(ctx context.Context, message *sqsevent.Message, span time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &message.ReceiptHandle,
		VisibilityTimeout: int32(span / time.Second),
	})
	return err
}

// delete removes a message that is done.
func (q *queue) delete(ctx context.Context, message *sqsevent.Message) error {
	_, err := q.client.DeleteMessage(ctx,
		&sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &message.ReceiptHandle})
	return err
}

func isGone(err error) bool { return slices.Contains(goneCodes, sandbox.CodeOf(err)) }

// keep holds a message invisible until the returned function is called. That waits for a heartbeat
// under way, which would otherwise undo what SQS is told next. lost is called when the message is
// no longer ours.
func (q *queue) keep(message *sqsevent.Message, lost func(error)) (stop func()) {
	stopped, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stopped:
				return
			case <-time.After(q.beat):
			}
			ctx, cancel := context.WithTimeout(context.Background(), beatTimeout)
			err := q.hide(ctx, message, hidden)
			cancel()
			if isGone(err) {
				lost(err)
				return
			}
		}
	}()
	return func() { close(stopped); <-ended }
}
