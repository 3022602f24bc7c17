// Package account finds credentials, region and endpoint where AWS's own tools find them.
package account

import (
	"cmp"
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// Given is what was said by hand; what is empty comes from the environment and the shared configuration files.
type Given struct {
	EndpointURL string
	Region      string
}

// Client makes the S3 client for a bucket. An error is of the type Settings; missing credentials show at the first request.
func Client(ctx context.Context, given Given, bucket string) (*s3.Client, error) {
	found, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, failure.New(failure.Settings, "the AWS configuration can't be read: %v", err)
	}
	region := cmp.Or(given.Region, found.Region)
	if region == "" {
		return nil, failure.New(failure.Settings, "no AWS region: set AWS_REGION")
	}
	endpoint := cmp.Or(given.EndpointURL, os.Getenv("AWS_ENDPOINT_URL_S3"), aws.ToString(found.BaseEndpoint))
	return s3.NewClient(endpoint, region, bucket, found.Credentials)
}
