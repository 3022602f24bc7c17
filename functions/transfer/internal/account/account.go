// Package account finds credentials, region and endpoint where AWS's own tools find them.
package account

import (
	"cmp"
	"context"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"stampede/transfer/internal/failure"
)

// Given is what was said by hand; what is empty comes from the environment and the shared configuration files.
type Given struct {
	EndpointURL string
	Region      string
}

// ServerRule is what an address that Server doesn't read is told.
const ServerRule = "must be http://host:port or https://host:port"

// Server reads the address of a server; nil where it isn't one.
func Server(address string) *url.URL {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Path != "" && parsed.Path != "/" {
		return nil
	}
	return parsed
}

// Config returns the configuration for S3: its BaseEndpoint, nil for AWS itself, is S3's. An error is of the type Settings.
func Config(ctx context.Context, given Given) (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return loaded, failure.New(failure.Settings, "the AWS configuration can't be read (AWS_CA_BUNDLE, AWS_PROFILE and their files): %v", err)
	}
	loaded.Region = cmp.Or(given.Region, loaded.Region)
	if loaded.Region == "" {
		return loaded, failure.New(failure.Settings, "no AWS region: set AWS_REGION")
	}
	name, endpoint := "AWS_ENDPOINT_URL_S3", os.Getenv("AWS_ENDPOINT_URL_S3")
	if endpoint == "" {
		name, endpoint = "AWS_ENDPOINT_URL", aws.ToString(loaded.BaseEndpoint)
	}
	if given.EndpointURL != "" {
		name, endpoint = "--endpoint-url", given.EndpointURL
	}
	if endpoint != "" && Server(endpoint) == nil {
		return loaded, failure.New(failure.Settings, "%s %s, not %q", name, ServerRule, endpoint)
	}
	if endpoint != "" {
		loaded.BaseEndpoint = &endpoint
	}
	return loaded, nil
}
