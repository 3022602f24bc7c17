// Package worker is the program as a service on a host: `transfer work` takes the orders of a queue one after the other, does
// with each what the function does with a message, and logs the same records.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
	// The first and the longest pause between two tries; each is shortened at random by up to half, so that hosts which lost
	// the same service don't come back all at once.
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	// callTimeout bounds one call; a long poll gets its wait on top.
	callTimeout = 15 * time.Second
	// usualGrace is half of what an operation under way may take once the host was told to stop. Putting its record into the log
	// has to end one grace later, giving back its message another one later. systemd's TimeoutStopSec has to be longer.
	usualGrace = 10 * time.Second
)

// Operations makes the operation that an environment names.
type Operations func(ctx context.Context, lookup func(string) string) (sandbox.Operation, error)

// Verb is `transfer work`.
func Verb(operations Operations) host.Verb {
	return host.Verb{Name: "work", Does: "processes the messages of the queue QUEUE_URL; logs one record for each", Run: operations.work}
}

func (operations Operations) work(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("transfer work", flag.ContinueOnError)
	if err := host.Parse(flags, arguments, stderr, func() string { return "" }); err != nil {
		return err
	}
	r := environment.Reader{Lookup: os.Getenv}
	queueURL, group, region := r.Text("QUEUE_URL"), r.Text("LOG_GROUP_NAME"), r.Region()
	operation, err := operations(ctx, os.Getenv)
	if err = cmp.Or(r.Err, err); err != nil {
		return err
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithRetryMaxAttempts(1)) // patience tries again
	if err != nil {
		return failure.New(failure.Settings, "the AWS configuration can't be read: %v", err)
	}
	w := newWorker(ctx, settings, operation, stdout, stderr)
	machine, _ := os.Hostname()
	w.queue.url, w.log.group = queueURL, group
	w.log.name = machine + "/" + time.Now().UTC().Format("2006-01-02T15-04-05Z") + "/" + rand.Text()[:8] // several may begin at once
	w.say("receiving messages from %s; records go to %s, %s", queueURL, group, w.log.name)
	w.poll(ctx)
	return nil
}

// worker does the messages of a queue, one after the other.
type worker struct {
	*patience
	queue   *queue
	log     *stream
	sandbox *sandbox.Sandbox
	grace   time.Duration
}

func newWorker(ctx context.Context, settings aws.Config, operation sandbox.Operation, stdout, stderr io.Writer) *worker {
	patience := &patience{stderr: stderr, credentials: settings.Credentials, first: firstPause}
	log := &stream{patience: patience, client: cloudwatchlogs.NewFromConfig(settings), stdout: stdout, context: ctx}
	queue := &queue{patience: patience, client: sqs.NewFromConfig(settings), beat: heartbeat}
	return &worker{patience, queue, log, sandbox.New(operation, log), usualGrace}
}

// poll takes messages until the context ends.
func (w *worker) poll(ctx context.Context) {
	_ = w.log.open(ctx)
	for ctx.Err() == nil {
		if message := w.queue.receive(ctx); message != nil {
			w.handle(ctx, message)
		}
	}
}

var errStopped = failure.New(failure.DeadlineExceeded, "the host was stopped during the operation: SQS redelivers the message for the rest")

// handle does one message: it is deleted once its record is in the log, and otherwise comes back.
func (w *worker) handle(ctx context.Context, message *sqsevent.Message) {
	// Told to stop, the operation learns it with the reason: ctx itself has none to give.
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errStopped) })()
	release := w.queue.keep(message, func(err error) {
		w.say("message %s no longer belongs to this host; stopping its work", message.ID)
		stop(failure.New(failure.DeadlineExceeded, "the message no longer belongs to this host (%s): it was purged, or redelivered while SQS "+
			"couldn't be reached", sandbox.CodeOf(err)))
	})
	failed, err := w.process(ctx, working, message)
	release()
	doing, tell := "deleting a message", func(ctx context.Context) error { return w.queue.delete(ctx, message) }
	if err != nil {
		w.say("message %s returns to the queue because its record isn't in CloudWatch Logs: %s", message.ID, sandbox.InShort(err))
	}
	if failed != nil || err != nil {
		span := sandbox.Delay(message.Attempt)
		if ctx.Err() != nil {
			span = 0
		}
		doing, tell = "returning a message", func(ctx context.Context) error { return w.queue.hide(ctx, message, span) }
	}
	settling, cancel := deadline.Outlasting(ctx, 4*w.grace)
	defer cancel()
	if err := w.until(settling, doing, callTimeout, tell); err != nil {
		w.say("message %s comes back after its visibility timeout: %s", message.ID, sandbox.InShort(err))
	}
}

// process runs the operation and puts its record into the log. failed is why the operation has more to do, err why the record
// isn't in the log: then the message isn't deleted, however it went.
func (w *worker) process(ctx, working context.Context, message *sqsevent.Message) (failed, err error) {
	until := time.Now().Add(longestHold - margin - longestPoll) // the poll that brought it may have begun so long ago
	ended := make(chan error, 1)
	go func() {
		_, failed, _ := w.sandbox.Process(working, *message, until) // the log keeps what it can't write yet
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

// patience waits out what a service refuses, whatever it is: throttling and lost connections pass, and a host that came up
// before its permissions, or whose credentials have just expired, has nothing better to do than to wait for them.
type patience struct {
	stderr      io.Writer
	credentials aws.CredentialsProvider
	first       time.Duration // of the pauses
	mutex       sync.Mutex    // the heartbeat speaks beside the rest
}

// until makes a call until it works, and says once that it doesn't and once that it does again. It returns the call's error
// when the context ends, or when that error is final.
func (p *patience) until(ctx context.Context, doing string, timeout time.Duration, call func(context.Context) error) error {
	for span := p.first; ; span = min(2*span, longestPause) {
		trying, cancel := context.WithTimeout(ctx, timeout)
		err := call(trying)
		cancel()
		switch {
		case err == nil && span > p.first:
			p.say("%s: works again", doing)
			return nil
		case err == nil || ctx.Err() != nil || isGone(err):
			return err
		case span == p.first:
			p.say("%s: %s; retrying until it works", doing, sandbox.InShort(err))
		}
		// ExpiredToken, ExpiredTokenException, InvalidClientTokenId: the next call asks for credentials where they come from.
		if cache, isCache := p.credentials.(*aws.CredentialsCache); isCache && strings.Contains(sandbox.CodeOf(err), "Token") {
			cache.Invalidate()
		}
		if !pause(ctx, span/2+mathrand.N(span/2+1)) {
			return err
		}
	}
}

// pause waits for a time, and returns whether the context lasted as long.
func pause(ctx context.Context, span time.Duration) bool {
	select {
	case <-time.After(span):
		return true
	case <-ctx.Done():
		return false
	}
}

// say writes one line, which no query takes for a record, to stderr.
func (p *patience) say(format string, values ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_, _ = fmt.Fprintf(p.stderr, "transfer work: "+format+"\n", values...)
}
