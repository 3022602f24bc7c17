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
	// hidden is how long a message stays invisible after its receipt and after each heartbeat, and
	// so the time until the message of a dead host comes back. Three of four heartbeats may fail.
	hidden    = 60 * time.Second
	heartbeat = hidden / 4
	// beatTimeout bounds one heartbeat. The calls after the work wait for it.
	beatTimeout = 5 * time.Second
	// longestHold is the longest that SQS keeps a message invisible after its receipt (SQS
	// developer guide, visibility timeout). margin is kept for calls under way and the record.
	longestHold = 12 * time.Hour
	margin      = 5 * time.Minute
)

// goneCodes are SQS's codes for a message that no longer belongs to this worker: it was purged, or
// was received again. They are from the JSON protocol and its predecessor (SQS API reference,
// ChangeMessageVisibility and DeleteMessage). InvalidParameterValue is for a message that is gone,
// or held beyond the 12 hours.
var goneCodes = []string{"ReceiptHandleIsInvalid", "MessageNotInflight",
	"AWS.SimpleQueueService.MessageNotInflight", "InvalidParameterValue"}

// queue is the queue of orders.
type queue struct {
	client *sqs.Client
	url    string
	beat   time.Duration // between two heartbeats
}

// receive waits for a message, and returns nil if none came.
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

// hide makes a message invisible from now on; 0 returns it to the queue at once.
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

// keep holds a message invisible until the returned function is called. That function waits for a
// heartbeat under way, which would otherwise undo the next call. lost is called if the message no
// longer belongs to this worker.
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
