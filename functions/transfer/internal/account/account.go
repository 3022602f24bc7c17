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
	found, err := Config(ctx, given)
	if err != nil {
		return nil, err
	}
	return s3.NewClient(aws.ToString(found.BaseEndpoint), found.Region, bucket, found.Credentials)
}

// Config returns the configuration for S3: its BaseEndpoint, nil for AWS itself, is S3's. An error is of the type Settings.
func Config(ctx context.Context, given Given) (aws.Config, error) {
	found, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return found, failure.New(failure.Settings, "the AWS configuration can't be read: %v", err)
	}
	found.Region = cmp.Or(given.Region, found.Region)
	if found.Region == "" {
		return found, failure.New(failure.Settings, "no AWS region: set AWS_REGION")
	}
	name, endpoint := "AWS_ENDPOINT_URL_S3", os.Getenv("AWS_ENDPOINT_URL_S3")
	if endpoint == "" {
		name, endpoint = "AWS_ENDPOINT_URL", aws.ToString(found.BaseEndpoint)
	}
	if given.EndpointURL != "" {
		name, endpoint = "--endpoint-url", given.EndpointURL
	}
	if endpoint != "" && s3.Server(endpoint) == nil {
		return found, failure.New(failure.Settings, "%s %s, not %q", name, s3.ServerRule, endpoint)
	}
	if endpoint != "" {
		found.BaseEndpoint = &endpoint
	}
	return found, nil
}
