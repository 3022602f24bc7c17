// Package worker is the program as a service on a host: `transfer work` processes the messages of a
// queue one after the other, as the function does, and logs the same records.
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
	// longestPause is the longest pause between two attempts. The SDK makes pauses random, so that
	// hosts don't all come back at once after an outage.
	longestPause = 30 * time.Second
	// callTimeout bounds one attempt, such as a long poll.
	callTimeout = longestPoll + 15*time.Second
	// usualGrace is the unit of time after the host was told to stop: an operation under way has
	// two of them, then its record one, then its message one. TimeoutStopSec must be longer.
	usualGrace = 10 * time.Second
)

// Operations makes the operation that an environment names.
type Operations func(ctx context.Context, lookup func(string) string) (sandbox.Operation, error)

// Verb is `transfer work`.
func Verb(operations Operations) host.Verb {
	const does = "processes the messages of the queue QUEUE_URL"
	return host.Verb{Name: "work", Does: does, Run: operations.work}
}

func (operations Operations) work(
	ctx context.Context, arguments []string, stdout, stderr io.Writer,
) error {
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
	// the random part is for workers that begin at once
	w.log.name = machine + "/" + time.Now().UTC().Format("2006-01-02T15-04-05Z") + "/" +
		rand.Text()[:8]
	w.say("receiving messages from %s; records go to %s, %s", queueURL, group, w.log.name)
	w.poll(ctx)
	return nil
}

// worker processes the messages of a queue, one after the other.
type worker struct {
	queue   *queue
	log     *stream
	sandbox *sandbox.Sandbox
	stderr  io.Writer
	grace   time.Duration
}

func newWorker(
	ctx context.Context, settings aws.Config, operation sandbox.Operation,
	stdout, stderr io.Writer, longestPause time.Duration,
) *worker {
	w := &worker{stderr: stderr, grace: usualGrace}
	settings.Retryer = func() aws.Retryer { return w.patient(settings.Credentials, longestPause) }
	settings.RetryMaxAttempts = 0 // unlimited
	settings.HTTPClient = awshttp.NewBuildableClient().WithTimeout(callTimeout)
	w.log = &stream{client: cloudwatchlogs.NewFromConfig(settings), stdout: stdout, context: ctx}
	w.queue = &queue{client: sqs.NewFromConfig(settings), beat: heartbeat}
	w.sandbox = sandbox.New(operation, w.log)
	return w
}

// poll takes messages until the context ends.
func (w *worker) poll(ctx context.Context) {
	for ctx.Err() == nil {
		if message, err := w.queue.receive(ctx); message != nil {
			w.handle(ctx, message)
		} else if err != nil { // not retried
			_ = deadline.Sleep(ctx, time.Second)
		}
	}
}

var errStopped = failure.New(failure.DeadlineExceeded,
	"the host was stopped: SQS redelivers the message for the rest")

// handle processes one message. It is deleted once its record is in the log; otherwise it returns.
func (w *worker) handle(ctx context.Context, message *sqsevent.Message) {
	// The operation's context ends with a reason, which ctx itself doesn't have.
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

// process runs the operation and sends its record to the log. failed is why the message has to come
// again. err is why the record isn't in the log: then the message isn't deleted.
func (w *worker) process(
	ctx, working context.Context, message *sqsevent.Message,
) (failed, err error) {
	// SQS may have counted from the beginning of the long poll
	until := time.Now().Add(longestHold - margin - longestPoll)
	ended := make(chan error, 1)
	go func() {
		// no error: the log keeps what it can't send yet
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

// patient retries nearly every error and prints it: throttling and lost connections pass, and a
// host that started before its permissions, or whose credentials have just expired, can only wait.
func (w *worker) patient(
	credentials aws.CredentialsProvider, longestPause time.Duration,
) aws.Retryer {
	passes := func(err error) aws.Ternary {
		code := sandbox.CodeOf(err)
		final := errors.Is(err, context.Canceled) || isGone(err) || code == noStream ||
			code == "ResourceAlreadyExistsException"
		if !final {
			w.say("%s; trying again until it works", sandbox.InShort(err))
		}
		// ExpiredToken, ExpiredTokenException, InvalidClientTokenId: the next call gets new ones.
		cache, isCache := credentials.(*aws.CredentialsCache)
		if isCache && strings.Contains(code, "Token") {
			cache.Invalidate()
		}
		return aws.BoolTernary(!final)
	}
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = math.MaxInt, longestPause, ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(passes)}
	})
}

// say writes one line to stderr, which no query takes for a record.
func (w *worker) say(format string, values ...any) {
	_, _ = fmt.Fprintf(w.stderr, "transfer work: "+format+"\n", values...)
}
