// Package worker is the program as a service on a host: `transfer work` takes the orders of a queue one after the other, does
// with each what the function does with a message, and logs the same records.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/sandbox"
)

// forever is longer than a host lives.
const forever = 100 * 365 * 24 * time.Hour

// Operations makes the operation that an environment names.
type Operations func(ctx context.Context, lookup func(string) string) (sandbox.Operation, error)

// Verb is `transfer work`.
func Verb(operations Operations) host.Verb {
	return host.Verb{Name: "work", Does: "processes the messages of the queue QUEUE_URL; logs one record for each", Run: operations.work}
}

func (operations Operations) work(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("transfer work", flag.ContinueOnError)
	idleS := flags.Int64("until-idle-s", 0, "exit after this many `seconds` without a message (default never)")
	if err := host.Parse(flags, arguments, stderr, func() string { return host.Between("until-idle-s", *idleS, 0, 1_000_000) }); err != nil {
		return err
	}
	r := environment.Reader{Lookup: os.Getenv}
	queueURL, group, region := r.Text("QUEUE_URL"), r.Text("LOG_GROUP_NAME"), r.Region()
	if r.Err != nil {
		return r.Err
	}
	operation, err := operations(ctx, os.Getenv)
	if err != nil {
		return failure.New(failure.Settings, "%v", err)
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithRetryMaxAttempts(1)) // patience tries again
	if err != nil {
		return failure.New(failure.Settings, "the AWS configuration can't be read: %v", err)
	}
	patience := &patience{stderr: stderr, credentials: settings.Credentials, pause: firstPause}
	w := newWorker(ctx, settings, operation, stdout, patience)
	w.queue.url, w.log.group, w.log.name = queueURL, group, streamName(ctx, settings)
	patience.say("receiving messages from %s; records go to %s, %s", queueURL, group, w.log.name)
	return w.poll(ctx, cmp.Or(time.Duration(*idleS)*time.Second, forever))
}

func newWorker(ctx context.Context, settings aws.Config, operation sandbox.Operation, stdout io.Writer, patience *patience) *worker {
	log := &stream{client: cloudwatchlogs.NewFromConfig(settings), stdout: stdout, context: ctx, patience: patience}
	return &worker{
		queue: &queue{client: sqs.NewFromConfig(settings), beat: heartbeat, patience: patience},
		log:   log, sandbox: sandbox.New(operation, log), graces: usualGraces,
	}
}

// streamName names this process: by its instance, or its host's name where there is none, its start, and something that no
// other process has, because several may begin at once on one machine.
func streamName(ctx context.Context, settings aws.Config) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	machine, _ := os.Hostname()
	if instance, err := imds.NewFromConfig(settings).GetInstanceIdentityDocument(ctx, nil); err == nil {
		machine = instance.InstanceID
	}
	return machine + "/" + time.Now().UTC().Format("2006-01-02T15-04-05Z") + "/" + rand.Text()[:8]
}
