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

// hastenTimeout bounds the whole call; with less left of the invocation there is none.
const hastenTimeout = 2 * time.Second

// Delay is after how long a message comes back: 2, 4, 8, 16 and 32 s after the attempts 1, 2, 3, 4,
// and 5 or more.
func Delay(attempt int64) time.Duration { return time.Second << min(attempt, 5) }

// Hasten lets a failed message, whose record has been written, come back after seconds instead of
// after the queue's visibility timeout, as functions/common/redelivery.py does, which says why;
// deadline is the invocation's end. What goes wrong is a plain line on stderr, which no query takes
// for a record.
func (r *Recorder) Hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) {
	if err := r.hasten(ctx, message, deadline); err != nil {
		fmt.Fprintf(os.Stderr,
			"message %s comes back only after the queue's visibility timeout: %s\n", message.ID,
			InShort(err))
	}
}

// InShort names an error on one line; a service's own words are left out, which could be JSON and
// pass for a record.
func InShort(err error) string {
	return cmp.Or(CodeOf(err), fmt.Sprintf("%+.200q", err))
}

// CodeOf is the code of a service's refusal, "" for what is none.
func CodeOf(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

// hasten asks the SQS of this function's own region: a queue that triggers it is there.
func (r *Recorder) hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) error {
	queue, err := arn.Parse(message.QueueARN)
	if err != nil || queue.Service != "sqs" || message.ReceiptHandle == "" ||
		time.Until(deadline) < hastenTimeout {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hastenTimeout)
	defer cancel()
	if r.sqs == nil {
		settings, err := config.LoadDefaultConfig(ctx,
			config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
		if err != nil {
			return err
		}
		r.sqs = sqs.NewFromConfig(settings)
	}
	service, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx,
		sqs.EndpointParameters{Region: aws.String(r.sqs.Options().Region)})
	if err != nil {
		return err
	}
	_, err = r.sqs.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:          aws.String(service.URI.JoinPath(queue.AccountID, queue.Resource).String()),
		ReceiptHandle:     &message.ReceiptHandle,
		VisibilityTimeout: int32(Delay(message.Attempt) / time.Second),
	})
	return err
}
