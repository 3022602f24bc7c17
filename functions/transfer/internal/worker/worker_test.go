package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/workorder"
)

// task is an operation that does what the test says.
type task func(ctx context.Context) error

func (do task) Labels() *environment.Labels { return nil }

func (do task) Do(ctx context.Context, body string, until time.Time) (*workorder.Order, record.Outcome) {
	_, order := workorder.Open(body)
	outcome := record.Outcome{TimeKey: "elapsed_seconds", StartedAtMs: time.Now().UnixMilli(), Err: do(ctx)}
	if left := time.Until(until); left < 11*time.Hour || left > 12*time.Hour {
		outcome.Err = fmt.Errorf("%v left", left)
	}
	return &order, outcome
}

func succeed(context.Context) error { return nil }

const order = `{"run_id": "r", "cell": "c", "seq": 1}`

// output is written to by several goroutines.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

type running struct {
	stdout, stderr output
	stop           context.CancelFunc // what SIGTERM does
	ended          chan error
}

const (
	noBeat  = time.Hour
	oftBeat = 10 * time.Millisecond
)

// run starts a worker with short pauses until the test ends it.
func run(t *testing.T, beat time.Duration, do task) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, ended: make(chan error, 1)}
	found, err := config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(ctx, found, do, &r.stdout, &patience{stderr: &r.stderr, credentials: found.Credentials, pause: time.Millisecond})
	w.queue.url, w.queue.beat, w.log.group, w.log.name = os.Getenv("QUEUE_URL"), beat, "/stampede/test", "host/now"
	w.graces = graces{200 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond}
	go func() { r.ended <- w.poll(ctx, forever) }()
	t.Cleanup(stop)
	return r
}

// until waits for something that has to happen soon.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// end stops the worker as SIGTERM does; it has to end soon and without an error.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("it doesn't end: %s", r.stderr.String())
	}
}

func TestAMessageIsDeletedOnceItsRecordIsInTheLog(t *testing.T) {
	aws := startAWS(t, order, order)
	worker := run(t, noBeat, succeed)
	until(t, "both are deleted", func() bool { return aws.count(remove) == 2 })
	worker.end(t)
	calls, records := aws.seen()
	if calls != strings.Join([]string{create, put, remove, put, remove}, ", ") {
		t.Error(calls)
	}
	first, second := records[0], records[1]
	for key, value := range map[string]any{
		"status": "ok", "run_id": "r", "message_id": "message-1", "request_id": nil, "cold_start": 1.0, "attempt": 2.0,
	} {
		if first[key] != value {
			t.Errorf("%s is %v: %v", key, first[key], first)
		}
	}
	if second["cold_start"] != 0.0 || second["sandbox_id"] != first["sandbox_id"] || second["message_id"] != "message-2" {
		t.Error(second)
	}
	if lines := strings.Join(aws.lines, "\n") + "\n"; worker.stdout.String() != lines {
		t.Errorf("%s on stdout, and in the log %s", worker.stdout.String(), lines)
	}
}

func TestAFailedMessageComesBackAfterSeconds(t *testing.T) {
	aws := startAWS(t, order)
	worker := run(t, noBeat, func(context.Context) error { return failure.New(failure.NoSuchKey, "gone") })
	until(t, "it is told to SQS", func() bool { return aws.count(hide) == 1 })
	worker.end(t)
	calls, records := aws.seen()
	if !strings.HasSuffix(calls, put+", "+hide+" 4") || aws.count(remove) > 0 || records[0]["error_type"] != "NoSuchKey" {
		t.Error(calls, records)
	}
}

func TestAMessageIsHeldByHeartbeatsAsLongAsItsWorkAndItsRecordTake(t *testing.T) {
	aws := startAWS(t, order)
	aws.refuses(hide, "RequestThrottled", "ExpiredTokenException")
	worker := run(t, oftBeat, func(context.Context) error {
		until(t, "five heartbeats", func() bool { return aws.count(hide+" 60") >= 5 })
		aws.refuses(put, "ThrottlingException", "*")
		return nil
	})
	until(t, "its record is refused", func() bool { return aws.count(put) > 0 })
	beats := aws.count(hide)
	until(t, "heartbeats go on", func() bool { return aws.count(hide) > beats+2 })
	if aws.count(remove) > 0 {
		t.Error("deleted without a record")
	}
	aws.refuses(put)
	until(t, "it is deleted", func() bool { return aws.count(remove) == 1 })
	time.Sleep(50 * time.Millisecond) // five heartbeats, were there any
	worker.end(t)
	if calls, _ := aws.seen(); !strings.HasSuffix(calls, remove) {
		t.Errorf("a heartbeat after the end: %s", calls)
	}
	if heard := worker.stderr.String(); strings.Count(heard, "keeping message") != 1 {
		t.Error(heard)
	}
}

func TestWhatAServiceRefusesIsWaitedOutAndSaidOnce(t *testing.T) {
	for call, said := range map[string]string{
		receive: "receiving messages", create: "creating the log stream", put: "writing to the log group", remove: "deleting a message",
	} {
		t.Run(call, func(t *testing.T) {
			aws := startAWS(t, order)
			aws.refuses(call, "ExpiredTokenException", "AccessDenied", "ThrottlingException", "ServiceUnavailable")
			worker := run(t, noBeat, succeed)
			until(t, "it is deleted", func() bool { return aws.count(remove) > 0 })
			until(t, "it is said", func() bool { return strings.Contains(worker.stderr.String(), "works again") })
			worker.end(t)
			_, records := aws.seen()
			heard := worker.stderr.String()
			if len(records) != 1 || strings.Count(heard, "\n") != 2 || !strings.Contains(heard, said) ||
				!strings.Contains(heard, ": ExpiredTokenException; retrying until it works\n") || strings.Contains(heard, "injected") {
				t.Errorf("%d records: %s", len(records), heard)
			}
		})
	}
}

func TestALogGroupThatDropsTheLinesHasNotTakenThem(t *testing.T) {
	aws := startAWS(t, order)
	aws.drop = 2
	worker := run(t, noBeat, succeed)
	until(t, "it is deleted", func() bool { return aws.count(remove) == 1 })
	worker.end(t)
	if calls, records := aws.seen(); len(records) != 1 || aws.count(put) != 3 || !strings.Contains(worker.stderr.String(), "clock") {
		t.Error(calls, records, worker.stderr.String())
	}
}

func TestLinesWhoseAnswerWasLostArePutAgainAsTheyWere(t *testing.T) {
	aws := startAWS(t, order)
	aws.lose = 1
	worker := run(t, noBeat, succeed)
	until(t, "it is deleted", func() bool { return aws.count(remove) == 1 })
	worker.end(t)
	if len(aws.lines) != 2 || aws.lines[0] != aws.lines[1] || aws.times[0] != aws.times[1] {
		t.Error(aws.times, aws.lines) // the account knows an event by time, stream and text
	}
}

func TestAStreamThatIsGoneIsMadeAgain(t *testing.T) {
	aws := startAWS(t, order)
	aws.refuses(put, "ResourceNotFoundException")
	worker := run(t, noBeat, succeed)
	until(t, "it is deleted", func() bool { return aws.count(remove) == 1 })
	worker.end(t)
	if calls, _ := aws.seen(); calls != strings.Join([]string{create, put, create, put, remove}, ", ") {
		t.Error(calls)
	}
}

func TestAHostThatIsToldToStopInMidWorkRecordsWhatIsLeftAndHandsTheMessageBack(t *testing.T) {
	aws := startAWS(t, order, order)
	began := make(chan bool)
	worker := run(t, noBeat, func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	<-began
	worker.end(t)
	calls, records := aws.seen()
	if !strings.HasSuffix(calls, put+", "+hide+" 0") || len(records) != 1 || records[0]["error_type"] != "DeadlineExceeded" ||
		!strings.Contains(fmt.Sprint(records[0]["error_message"]), "the host was stopped") {
		t.Error(calls, records)
	}
}

func TestWorkThatIsDoneWhenTheHostIsToldToStopIsDeleted(t *testing.T) {
	aws := startAWS(t, order)
	began := make(chan bool)
	worker := run(t, noBeat, func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return nil
	})
	<-began
	worker.end(t)
	if calls, records := aws.seen(); !strings.HasSuffix(calls, put+", "+remove) || len(records) != 1 {
		t.Error(calls, records)
	}
}

func TestAHostEndsInTimeWhateverHangs(t *testing.T) {
	for name, prepare := range map[string]func(*fakeAWS) task{
		"the work": func(*fakeAWS) task {
			return func(context.Context) error { time.Sleep(5 * time.Second); return nil }
		},
		"the log": func(aws *fakeAWS) task {
			aws.refuses(put, "AccessDeniedException", "*")
			return succeed
		},
	} {
		t.Run(name, func(t *testing.T) {
			aws := startAWS(t, order)
			worker := run(t, oftBeat, prepare(aws))
			until(t, "work begins", func() bool { return aws.count(hide)+aws.count(put) > 0 })
			worker.end(t)
			calls, records := aws.seen()
			if len(records) > 0 || aws.count(remove) > 0 || !strings.HasSuffix(calls, hide+" 0") {
				t.Error(calls, records)
			}
			if heard := worker.stderr.String(); !strings.Contains(heard, "message message-1 returns to the queue because its record isn't in CloudWatch Logs") {
				t.Error(heard)
			}
			if onStdout := strings.Contains(worker.stdout.String(), `"status": "ok"`); onStdout != (name == "the log") {
				t.Errorf("stdout: %s", worker.stdout.String())
			}
		})
	}
}

func TestTheWorkOfAMessageThatIsNoLongerOursIsStopped(t *testing.T) {
	aws := startAWS(t, order)
	aws.refuses(hide, "ReceiptHandleIsInvalid", "*")
	worker := run(t, oftBeat, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	until(t, "a record", func() bool { _, records := aws.seen(); return len(records) == 1 })
	until(t, "it is given up", func() bool { return strings.Contains(worker.stderr.String(), "comes back after") })
	worker.end(t)
	if _, records := aws.seen(); !strings.Contains(fmt.Sprint(records[0]["error_message"]), "no longer belongs to this host") {
		t.Error(records)
	}
}

func TestManyLinesGoInBatchesThatCloudWatchTakes(t *testing.T) {
	aws := startAWS(t)
	found, _ := config.LoadDefaultConfig(context.Background(), config.WithRetryMaxAttempts(1))
	var stdout, stderr output
	log := &stream{client: cloudwatchlogs.NewFromConfig(found), group: "/stampede/test", name: "n", stdout: &stdout, context: context.Background(),
		patience: &patience{stderr: &stderr, pause: time.Millisecond}}
	aws.refuses(put, "ThrottlingException", "ThrottlingException")
	long, short := strings.Repeat("x", 100_000), 25_000
	for range 30 {
		_, _ = log.Write([]byte(long + "\n"))
		if len(log.pending) > 1 {
			t.Fatalf("%d batches wait", len(log.pending))
		}
	}
	_, _ = log.Write([]byte(strings.Repeat("y\n", short)))
	if err := log.Flush(context.Background()); err != nil || len(log.pending) > 0 {
		t.Error(err, len(log.pending))
	}
	ys := strings.Count(strings.Join(aws.lines, ""), "y")
	if len(aws.lines) != 30+short || ys != short || len(aws.batches) < 6 {
		t.Errorf("%d lines in batches %v", len(aws.lines), aws.batches)
	}
}

// command runs the verb as the command line does.
func command(ctx context.Context, do task, arguments ...string) (status int, stderr string) {
	var out, errors output
	verb := Verb(func(context.Context, func(string) string) (sandbox.Operation, error) { return do, nil })
	return host.Main(ctx, []host.Verb{verb}, append([]string{"work"}, arguments...), &out, &errors), errors.String()
}

func TestTheVerbEndsWhenNothingMoreComes(t *testing.T) {
	aws := startAWS(t, order)
	if status, stderr := command(context.Background(), succeed, "--until-idle-s", "1"); status != 0 || aws.count(remove) != 1 {
		t.Error(status, stderr)
	}
}

func TestAMissingVariableOrAWrongOptionIsOneLine(t *testing.T) {
	for _, c := range []struct {
		missing, option string
		status          int
		word            string
	}{
		{"QUEUE_URL", "", 2, "QUEUE_URL"}, {"LOG_GROUP_NAME", "", 2, "LOG_GROUP_NAME"}, {"AWS_REGION", "", 2, "AWS_DEFAULT_REGION"},
		{"", "--until-idle-s=-1", 2, "--until-idle-s"}, {"", "more", 2, "more"},
	} {
		startAWS(t)
		t.Setenv("AWS_DEFAULT_REGION", "")
		arguments := []string{"--until-idle-s=1"}
		if c.missing != "" {
			t.Setenv(c.missing, "")
		}
		if c.option != "" {
			arguments = []string{c.option}
		}
		status, stderr := command(context.Background(), succeed, arguments...)
		if status != c.status || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.word) {
			t.Errorf("%+v: %d %s", c, status, stderr)
		}
	}
}

func TestAHostToldToStopEndsWithStatus0(t *testing.T) {
	startAWS(t)
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	if status, stderr := command(ctx, succeed); status != 0 {
		t.Error(status, stderr)
	}
}
