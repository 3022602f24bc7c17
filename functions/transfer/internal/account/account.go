// Package account finds credentials, region and endpoint where AWS's own tools find them.
package account

import (
	"cmp"
	"context"
	"os"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"stampede/transfer/internal/failure"
)

// Given is what was said by hand; what is empty comes from the environment and the shared
// configuration files.
type Given struct {
	EndpointURL string
	Region      string
}

// server is the form of a server's address.
var server = regexp.MustCompile(`^https?://[^/?#]+/?$`)

// Config returns the configuration for S3: its BaseEndpoint, nil for AWS itself, is S3's. An error
// is of the type Settings.
func Config(ctx context.Context, given Given) (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return loaded, failure.New(failure.Settings,
			"the AWS configuration can't be read (AWS_CA_BUNDLE, AWS_PROFILE): %v", err)
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
	if endpoint == "" {
		return loaded, nil
	}
	if !server.MatchString(endpoint) {
		return loaded, failure.New(failure.Settings,
			"%s must be http://host:port or https://host:port, not %q", name, endpoint)
	}
	loaded.BaseEndpoint = &endpoint
	return loaded, nil
}
