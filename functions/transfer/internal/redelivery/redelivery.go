// Package redelivery lets a failed message come back after seconds instead of after the queue's visibility timeout, as
// functions/common/redelivery.py does, which says why.
package redelivery

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"stampede/transfer/internal/sqsevent"
)

const (
	connectTimeout = time.Second
	// callTimeout bounds the whole call; with less left of the invocation there is none.
	callTimeout = 2 * time.Second
)

var queueARN = regexp.MustCompile(`^arn:[a-z0-9-]+:sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80})$`)

// Redelivery is the SQS client of one sandbox, made at its first failure.
type Redelivery struct {
	client *sqs.Client
}

// Hasten sets the visibility timeout of a message whose record has been written; deadline is the invocation's end. After an
// error, and where it can't be done, the message comes back after the queue's timeout.
func (r *Redelivery) Hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) error {
	queue := queueARN.FindStringSubmatch(message.QueueARN)
	if queue == nil || message.ReceiptHandle == "" || time.Until(deadline) < callTimeout {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	region, account, name := queue[1], queue[2], queue[3]
	if r.client == nil {
		client, err := newClient(ctx, region)
		if err != nil {
			return err
		}
		r.client = client
	}
	host, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sqs.EndpointParameters{Region: &region}) // of every partition
	if err != nil {
		return err
	}
	url := fmt.Sprintf("%s/%s/%s", host.URI.String(), account, name)
	_, err = r.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: &message.ReceiptHandle, VisibilityTimeout: int32(Delay(message.Attempt) / time.Second),
	})
	return err
}

// Delay is after how long a message comes back: 2, 4, 8, 16 and 32 s after the attempts 1, 2, 3, 4, and 5 or more.
func Delay(attempt int64) time.Duration { return time.Second << min(attempt, 5) }

func newClient(ctx context.Context, region string) (*sqs.Client, error) {
	dialing := awshttp.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout })
	found, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(dialing))
	if err != nil {
		return nil, err
	}
	return sqs.NewFromConfig(found, func(o *sqs.Options) {
		o.RetryMode, o.RetryMaxAttempts = aws.RetryModeStandard, 1
	}), nil
}
