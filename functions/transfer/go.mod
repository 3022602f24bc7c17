module stampede/transfer

go 1.24

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // percentiles of millions of calls in constant memory
	github.com/aws/aws-lambda-go v1.54.0 // the Lambda runtime's side: events in, answers out
	github.com/aws/aws-sdk-go-v2 v1.47.6 // SigV4
	github.com/aws/aws-sdk-go-v2/config v1.33.14 // credentials and region from wherever AWS's tools find them
	github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs v1.91.1 // a host's records; Lambda forwards a function's itself
	github.com/aws/aws-sdk-go-v2/service/s3 v1.114.7 // uploads and downloads by the SDK, with sessions of directory buckets
	github.com/aws/aws-sdk-go-v2/service/sqs v1.52.9 // tells SQS when a failed message comes back; a host's messages
	github.com/aws/smithy-go v1.28.8 // the code of an error answer of SQS
)

require (
	github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream v1.7.26 // indirect
	github.com/aws/aws-sdk-go-v2/credentials v1.20.14 // indirect
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.6 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.5.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.24 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/checksum v1.11.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.14.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/s3shared v1.20.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/signin v1.12.2 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.39.2 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.44.2 // indirect
	github.com/aws/aws-sdk-go-v2/service/sts v1.51.7 // indirect
)
