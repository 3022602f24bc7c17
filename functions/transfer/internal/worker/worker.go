// Package worker is the program as a service on a host: `transfer work` takes the orders of a queue
// one after the other, does with each what the function does with a message, and logs the same
// records.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
)

const (
	// longestPause is between two tries. The SDK shortens the first ones at random, so that hosts
	// which lost a service don't come back all at once.
	longestPause = 30 * time.Second
	// callTimeout bounds one try; a long poll is one.
	callTimeout = longestPoll + 15*time.Second
	// usualGrace is half of what an operation under way may take once the host was told to stop.
	// Putting its record into the log has to end one grace later, giving back its message another
	// one later. systemd's TimeoutStopSec has to be longer.
	usualGrace = 10 * time.Second
)

// Operations makes the operation that an environment names.
type Operations func(ctx context.Context, lookup func(string) string) (sandbox.Operation, error)

// Verb is `transfer work`.
func Verb(operations Operations) host.Verb {
	return host.Verb{Name: "work", Does: "processes the messages of the queue QUEUE_URL",
		Run: operations.work}
}

func (operations Operations) work(ctx context.Context, arguments []string,
	stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("transfer work", flag.ContinueOnError)
	if err := host.Parse(flags, arguments); err != nil {
		return err
	}
	r := environment.Reader{Lookup: os.Getenv}
	queueURL, group, region := r.Text("QUEUE_URL"), r.Text("LOG_GROUP_NAME"), r.Region()
	operation, err := operations(ctx, os.Getenv)
	if err = cmp.Or(r.Err, err); err != nil {
		return err
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return failure.New(failure.Settings, "the AWS configuration can't be read: %v", err)
	}
	w := newWorker(ctx, settings, operation, stdout, stderr, longestPause)
	machine, _ := os.Hostname()
	w.queue.url, w.log.group = queueURL, group
	// several may begin at once
	w.log.name = machine + "/" + time.Now().UTC().Format("2006-01-02T15-04-05Z") + "/" +
		rand.Text()[:8]
	w.say("receiving messages from %s; records go to %s, %s", queueURL, group, w.log.name)
	w.poll(ctx)
	return nil
}

// worker does the messages of a queue, one after the other.
type worker struct {
	queue   *queue
	log     *stream
	sandbox *sandbox.Sandbox
	stderr  io.Writer
	grace   time.Duration
}

func newWorker(ctx context.Context, settings aws.Config, operation sandbox.Operation,
	stdout, stderr io.Writer, longestPause time.Duration) *worker {
	w := &worker{stderr: stderr, grace: usualGrace}
	settings.Retryer = func() aws.Retryer { return w.patient(settings.Credentials, longestPause) }
	settings.RetryMaxAttempts = 0 // as many as it takes
	settings.HTTPClient = awshttp.NewBuildableClient().WithTimeout(callTimeout)
	w.log = &stream{client: cloudwatchlogs.NewFromConfig(settings), stdout: stdout, context: ctx}
	w.queue, w.sandbox = &queue{client: sqs.NewFromConfig(settings), beat: heartbeat},
		sandbox.New(operation, w.log)
	return w
}

// poll takes messages until the context ends.
func (w *worker) poll(ctx context.Context) {
	for ctx.Err() == nil {
		if message, err := w.queue.receive(ctx); message != nil {
			w.handle(ctx, message)
		} else if err != nil { // what no other try mends
			_ = deadline.Sleep(ctx, time.Second)
		}
	}
}

var errStopped = failure.New(failure.DeadlineExceeded,
	"the host was stopped: SQS redelivers the message for the rest")

// handle does one message: it is deleted once its record is in the log, and otherwise comes back.
func (w *worker) handle(ctx context.Context, message *sqsevent.Message) {
	// Told to stop, the operation learns it with the reason: ctx itself has none to give.
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errStopped) })()
	release := w.queue.keep(message, func(err error) {
		w.say("message %s no longer belongs to this host; stopping its work", message.ID)
		stop(failure.New(failure.DeadlineExceeded,
			"the message no longer belongs to this host (%s): it was purged, or redelivered",
			sandbox.CodeOf(err)))
	})
	failed, err := w.process(ctx, working, message)
	release()
	if err != nil {
		w.say("message %s returns to the queue: its record isn't in CloudWatch Logs: %s",
			message.ID, sandbox.InShort(err))
	}
	settling, cancel := deadline.Outlasting(ctx, 4*w.grace)
	defer cancel()
	switch {
	case failed == nil && err == nil:
		err = w.queue.delete(settling, message)
	case ctx.Err() != nil:
		err = w.queue.hide(settling, message, 0)
	default:
		err = w.queue.hide(settling, message, sandbox.Delay(message.Attempt))
	}
	if err != nil {
		w.say("message %s comes back after its visibility timeout: %s", message.ID,
			sandbox.InShort(err))
	}
}

// process runs the operation and puts its record into the log. failed is why the operation has more
// to do, err why the record isn't in the log: then the message isn't deleted, however it went.
func (w *worker) process(ctx, working context.Context,
	message *sqsevent.Message) (failed, err error) {
	// the poll that brought it may have begun so long ago
	until := time.Now().Add(longestHold - margin - longestPoll)
	ended := make(chan error, 1)
	go func() {
		// the log keeps what it can't write yet
		_, failed, _ := w.sandbox.Process(working, *message, until)
		ended <- failed
	}()
	patient, cancel := deadline.Outlasting(ctx, 2*w.grace)
	defer cancel()
	select {
	case failed = <-ended:
	case <-patient.Done():
		return nil, errors.New("the operation didn't stop in time")
	}
	logging, cancel := deadline.Outlasting(ctx, 3*w.grace)
	defer cancel()
	return failed, w.log.Flush(logging)
}

// patient waits out what a service refuses, whatever it is: throttling and lost connections pass,
// and a host that came up before its permissions, or whose credentials have just expired, has
// nothing better to do than to wait for them. It says what was refused.
func (w *worker) patient(credentials aws.CredentialsProvider,
	longestPause time.Duration) aws.Retryer {
	passes := func(err error) aws.Ternary {
		final := errors.Is(err, context.Canceled) || isGone(err) ||
			slices.Contains([]string{noStream, "ResourceAlreadyExistsException"},
				sandbox.CodeOf(err))
		if !final {
			w.say("%s; trying again until it works", sandbox.InShort(err))
		}
		// ExpiredToken, ExpiredTokenException, InvalidClientTokenId: the next call asks for
		// credentials where they come from.
		if cache, isCache := credentials.(*aws.CredentialsCache); isCache &&
			strings.Contains(sandbox.CodeOf(err), "Token") {
			cache.Invalidate()
		}
		return aws.BoolTernary(!final)
	}
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = math.MaxInt, longestPause, ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(passes)}
	})
}

// say writes one line, which no query takes for a record, to stderr.
func (w *worker) say(format string, values ...any) {
	_, _ = fmt.Fprintf(w.stderr, "transfer work: "+format+"\n", values...)
}
