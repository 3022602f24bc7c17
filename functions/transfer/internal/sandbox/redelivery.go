package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"stampede/transfer/internal/sqsevent"
)

// hastenTimeout bounds the whole call. With less time left in the invocation, there is no call.
const hastenTimeout = 2 * time.Second

// Delay is the time until a message comes back: 2, 4, 8, 16 and then always 32 s.
func Delay(attempt int64) time.Duration { return time.Second << min(attempt, 5) }

// Hasten lets a failed message, whose record has been written, come back after seconds instead of
// the queue's visibility timeout. functions/common/redelivery.py says why. deadline is the
// invocation's end. Errors are plain lines on stderr, which no query takes for records.
func (r *Recorder) Hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) {
	if err := r.hasten(ctx, message, deadline); err != nil {
		fmt.Fprintf(os.Stderr, "message %s comes back only after the queue's visibility "+
			"timeout: %s\n", message.ID, InShort(err))
	}
}

// InShort returns an error as one line, without a service's own message, which could be JSON and
// pass for a record.
func InShort(err error) string {
	return cmp.Or(CodeOf(err), fmt.Sprintf("%+.200q", err))
}

// CodeOf is the code of a service's error; "" for other errors.
func CodeOf(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

// hasten calls SQS in this function's region, where the queue that triggers it must be.
func (r *Recorder) hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) error {
	queue, err := arn.Parse(message.QueueARN)
	if err != nil || queue.Service != "sqs" || message.ReceiptHandle == "" ||
		time.Until(deadline) < hastenTimeout {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hastenTimeout)
	defer cancel()
	if r.sqs == nil {
		once := config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} })
		settings, err := config.LoadDefaultConfig(ctx, once)
		if err != nil {
			return err
		}
		r.sqs = sqs.NewFromConfig(settings)
	}
	region := sqs.EndpointParameters{Region: aws.String(r.sqs.Options().Region)}
	service, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, region)
	if err != nil {
		return err
	}
	url := service.URI.JoinPath(queue.AccountID, queue.Resource).String()
	_, err = r.sqs.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: &message.ReceiptHandle,
		VisibilityTimeout: int32(Delay(message.Attempt) / time.Second),
	})
	return err
}
