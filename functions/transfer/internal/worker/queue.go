package worker

import (
	"context"
	"errors"
	"fmt"
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
	// hidden is how long a message stays invisible after it was received and after each heartbeat: how long after the death of
	// a host its message comes back. Four heartbeats fit in, so that three may fail.
	hidden    = 60 * time.Second
	heartbeat = hidden / 4
	// beatTimeout bounds one heartbeat, for which what comes after the work has to wait.
	beatTimeout = 5 * time.Second
	// longestHold is how long SQS lets a message be invisible in all, counted from its receipt (SQS developer guide, visibility
	// timeout). margin is what is kept of it for the calls under way and the record.
	longestHold = 12 * time.Hour
	margin      = 5 * time.Minute
)

// errGone says that a message is no longer ours: it was purged, or came back to the queue and was received again.
var errGone = errors.New("the message no longer belongs to this host")

// The codes of SQS that say so, of the JSON protocol and of its predecessor (SQS API reference, ChangeMessageVisibility and
// DeleteMessage). InvalidParameterValue is what it answers for a message that is gone, and beyond the 12 hours.
var goneCodes = []string{"ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", "InvalidParameterValue"}

// queue is the queue of orders.
type queue struct {
	client *sqs.Client
	url    string
	beat   time.Duration // between two heartbeats
	*patience
}

// receive waits up to poll for a message; nil when none came. The error is that of the context.
func (q *queue) receive(ctx context.Context, poll time.Duration) (message *sqsevent.Message, err error) {
	seconds := int32((min(poll, longestPoll) + time.Second - 1) / time.Second)
	err = q.until(ctx, "receiving messages", callTimeout+longestPoll, func(ctx context.Context) error {
		answer, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: 1, WaitTimeSeconds: seconds, VisibilityTimeout: int32(hidden / time.Second),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
		})
		if err == nil && len(answer.Messages) > 0 {
			message, err = read(answer.Messages[0])
		}
		return err
	})
	return message, err
}

func read(received types.Message) (*sqsevent.Message, error) {
	count := received.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)]
	attempt, err := strconv.ParseInt(count, 10, 64)
	if err != nil || received.MessageId == nil || received.ReceiptHandle == nil {
		return nil, errors.New("SQS's answer lacks the message ID, the receipt handle or the ApproximateReceiveCount")
	}
	return &sqsevent.Message{
		ID: *received.MessageId, Body: aws.ToString(received.Body), Attempt: attempt, ReceiptHandle: *received.ReceiptHandle,
	}, nil
}

// hide makes a message invisible for a time from now on; 0 gives it back to the queue at once.
func (q *queue) hide(ctx context.Context, message *sqsevent.Message, span time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &message.ReceiptHandle, VisibilityTimeout: int32(span / time.Second),
	})
	return orGone(err)
}

// delete removes a message that is done.
func (q *queue) delete(ctx context.Context, message *sqsevent.Message) error {
	_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &message.ReceiptHandle})
	return orGone(err)
}

func orGone(err error) error {
	if code := sandbox.CodeOf(err); slices.Contains(goneCodes, code) {
		return fmt.Errorf("%w (%s)", errGone, code)
	}
	return err
}

// keep holds a message invisible until the returned function is called. That waits for a heartbeat under way, which would
// otherwise undo what SQS is told next. lost is called when the message is no longer ours.
func (q *queue) keep(message *sqsevent.Message, lost func(error)) (stop func()) {
	holding, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-holding.Done():
				return
			case <-time.After(q.beat):
			}
			err := q.until(holding, "keeping message "+message.ID, beatTimeout, func(context.Context) error {
				whole, end := context.WithTimeout(context.Background(), beatTimeout)
				defer end()
				return q.hide(whole, message, hidden)
			})
			if errors.Is(err, errGone) {
				lost(err)
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}
