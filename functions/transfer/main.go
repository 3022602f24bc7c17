// transfer moves objects from S3: as a Lambda function (provided.al2023) that downloads one object for each message and
// writes one record a log line, and as a program on a host.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-lambda-go/lambda"

	"stampede/transfer/internal/host"
	"stampede/transfer/internal/sandbox"
)

func main() {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(sandbox.New(context.Background(), os.Getenv, os.Stdout).Handle)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(host.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
