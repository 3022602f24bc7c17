package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"stampede/transfer/internal/sqsevent"
)

const (
	connectTimeout = time.Second
	// hastenTimeout bounds the whole call; with less left of the invocation there is none.
	hastenTimeout = 2 * time.Second
)

var queueARN = regexp.MustCompile(`^arn:[a-z0-9-]+:sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80})$`)

// Delay is after how long a message comes back: 2, 4, 8, 16 and 32 s after the attempts 1, 2, 3, 4, and 5 or more.
func Delay(attempt int64) time.Duration { return time.Second << min(attempt, 5) }

// Hasten lets a failed message, whose record has been written, come back after seconds instead of after the queue's visibility
// timeout, as functions/common/redelivery.py does, which says why; deadline is the invocation's end. What goes wrong is a plain
// line on stderr, which no query takes for a record.
func (r *Recorder) Hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) {
	if err := r.hasten(ctx, message, deadline); err != nil {
		fmt.Fprintf(os.Stderr, "message %s comes back only after the queue's visibility timeout: %s\n", message.ID, InShort(err))
	}
}

// InShort names an error on one line; a service's own words are left out, which could be JSON and pass for a record.
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

func (r *Recorder) hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) error {
	queue := queueARN.FindStringSubmatch(message.QueueARN)
	if queue == nil || message.ReceiptHandle == "" || time.Until(deadline) < hastenTimeout {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hastenTimeout)
	defer cancel()
	region, account, name := queue[1], queue[2], queue[3]
	if r.sqs == nil {
		dialing := awshttp.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout })
		settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(dialing),
			config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
		if err != nil {
			return err
		}
		r.sqs = sqs.NewFromConfig(settings)
	}
	service, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sqs.EndpointParameters{Region: &region})
	if err != nil {
		return err
	}
	_, err = r.sqs.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: aws.String(service.URI.JoinPath(account, name).String()), ReceiptHandle: &message.ReceiptHandle,
		VisibilityTimeout: int32(Delay(message.Attempt) / time.Second),
	})
	return err
}
