// transfer reads, writes and copies S3 objects: as a Lambda function (provided.al2023) that does
// one operation for each message and logs one record a line, as a service on a host that receives
// its own messages, and as a command.
package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/aws/aws-lambda-go/lambda"

	"stampede/transfer/internal/copy"
	"stampede/transfer/internal/download"
	"stampede/transfer/internal/express"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/function"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/worker"
)

// operations are the function's operations by experiment. Each has its own folder.
var operations = map[string]func(ctx context.Context, lookup func(string) string) sandbox.Operation{
	"download":  download.New,
	"copy":      copy.New,
	"copy_host": copy.New, // the same on a host, by the verb work
	"express":   express.New,
}

// operationOf makes the operation that EXPERIMENT names. The default is the download, as in
// Terraform: the published environment doesn't have the variable.
func operationOf(ctx context.Context, lookup func(string) string) (sandbox.Operation, error) {
	made, known := operations[cmp.Or(lookup("EXPERIMENT"), "download")]
	if !known {
		return nil, failure.New(failure.Settings,
			"the environment variable EXPERIMENT must be one of %s, not %.60q",
			strings.Join(slices.Sorted(maps.Keys(operations)), ", "), lookup("EXPERIMENT"))
	}
	return made(ctx, lookup), nil
}

func main() {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		if os.Getenv("EXPERIMENT") == "function" { // the operation is another program's
			function.Run(os.Args[1:])
		}
		operation, err := operationOf(context.Background(), os.Getenv)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		lambda.Start(sandbox.New(operation, os.Stdout).Handle)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	verbs := slices.Concat(copy.Verbs, []host.Verb{worker.Verb(operationOf)})
	os.Exit(host.Main(ctx, verbs, os.Args[1:], os.Stdout, os.Stderr))
}
