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
	if remaining := time.Until(until); remaining < 11*time.Hour || remaining > 12*time.Hour {
		outcome.Err = fmt.Errorf("%v remain", remaining)
	}
	return &order, outcome
}

func succeed(context.Context) error { return nil }

func waitForStop(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

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

// running is a worker before an AWS that refuses as told.
type running struct {
	*fakeAWS
	worker         *worker
	stdout, stderr output
	stop           context.CancelFunc // what SIGTERM does
	ended          chan bool
}

const (
	noBeat  = time.Hour
	oftBeat = 10 * time.Millisecond
)

// prepare makes a worker with short pauses, which doesn't run.
func prepare(t *testing.T, ctx context.Context, do task, refuse refusals, bodies ...string) *running {
	t.Helper()
	r := &running{fakeAWS: startAWS(t, refuse, bodies...), ended: make(chan bool)}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	r.worker = newWorker(ctx, settings, do, &r.stdout, &r.stderr)
	r.worker.first, r.worker.grace = time.Millisecond, 100*time.Millisecond
	r.worker.queue.url, r.worker.log.group, r.worker.log.name = os.Getenv("QUEUE_URL"), "/stampede/test", "host/now"
	return r
}

// run starts a worker with short pauses until the test ends it.
func run(t *testing.T, beat time.Duration, do task, refuse refusals, bodies ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	r := prepare(t, ctx, do, refuse, bodies...)
	r.stop, r.worker.queue.beat = stop, beat
	go func() { r.worker.poll(ctx); close(r.ended) }()
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

// end stops the worker as SIGTERM does, once a call was seen so often; it has to end soon and without an error.
func (r *running) end(call string, times int) (calls string, records []map[string]any, heard string) {
	r.t.Helper()
	until(r.t, call, func() bool { return r.count(call) >= times })
	r.stop()
	select {
	case <-r.ended:
	case <-time.After(10 * time.Second):
		r.t.Fatalf("it doesn't end: %s", r.stderr.String())
	}
	calls, records = r.seen()
	return calls, records, r.stderr.String()
}

func TestAMessageIsDeletedOnceItsRecordIsInTheLog(t *testing.T) {
	worker := run(t, noBeat, succeed, nil, order, order)
	calls, records, _ := worker.end(remove, 2)
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
	if worker.stdout.String() != worker.events[0].Message+"\n"+worker.events[1].Message+"\n" {
		t.Errorf("%s on stdout, and in the log %v", worker.stdout.String(), worker.events)
	}
}

func TestAFailedMessageComesBackAfterSeconds(t *testing.T) {
	worker := run(t, noBeat, func(context.Context) error { return failure.New(failure.NoSuchKey, "gone") }, nil, order)
	if calls, records, _ := worker.end(hide, 1); !strings.HasSuffix(calls, put+", "+hide+" 4") || records[0]["error_type"] != "NoSuchKey" {
		t.Error(calls, records)
	}
}

func TestAMessageIsHeldByHeartbeatsAsLongAsItsWorkAndItsRecordTake(t *testing.T) {
	begin := make(chan bool)
	worker := run(t, oftBeat, func(context.Context) error { <-begin; return nil }, refusals{
		hide: {"RequestThrottled", "ExpiredTokenException"}, put: {"ThrottlingException", always},
	}, order)
	until(t, "five heartbeats", func() bool { return worker.count(hide+" 60") >= 5 })
	close(begin)
	until(t, "its record is refused", func() bool { return worker.count(put) > 0 })
	beats := worker.count(hide)
	until(t, "heartbeats go on", func() bool { return worker.count(hide) > beats+2 })
	if worker.count(remove) > 0 {
		t.Error("deleted without a record")
	}
	worker.refuses(put)
	until(t, "it is deleted", func() bool { return worker.count(remove) == 1 })
	time.Sleep(5 * oftBeat)
	if calls, _, heard := worker.end(remove, 1); !strings.HasSuffix(calls, remove) || strings.Count(heard, "keeping message") != 2 {
		t.Errorf("a heartbeat after the end: %s; %s", calls, heard)
	}
}

func TestWhatAServiceRefusesIsWaitedOutAndSaidOnce(t *testing.T) {
	for call, said := range map[string]string{
		receive: "receiving messages", create: "creating the log stream", put: "writing to the log group", remove: "deleting a message",
	} {
		t.Run(call, func(t *testing.T) {
			worker := run(t, noBeat, succeed, refusals{call: {"ExpiredTokenException", "AccessDenied", "ServiceUnavailable"}}, order)
			until(t, "it is said", func() bool { return strings.Contains(worker.stderr.String(), "works again") })
			_, records, heard := worker.end(remove, 1)
			if len(records) != 1 || strings.Count(heard, "\n") != 2 || !strings.Contains(heard, said) ||
				!strings.Contains(heard, ": ExpiredTokenException; retrying") || strings.Contains(heard, "injected") {
				t.Errorf("%d records: %s", len(records), heard)
			}
		})
	}
}

func TestALogThatDoesntTakeTheLinesGetsThemAgainAsTheyWere(t *testing.T) {
	for code, wanted := range map[string]string{
		dropped: strings.Join([]string{create, put, put, remove}, ", "), lost: strings.Join([]string{create, put, put, remove}, ", "),
		"ResourceNotFoundException": strings.Join([]string{create, put, create, put, remove}, ", "),
	} {
		worker := run(t, noBeat, succeed, refusals{put: {code}}, order)
		calls, _, heard := worker.end(remove, 1)
		if calls != wanted || strings.Contains(heard, "clock") != (code == dropped) {
			t.Errorf("%s: %s; %s", code, calls, heard)
		}
		if events := worker.events; events[0] != events[len(events)-1] || len(events) != 1+strings.Count(code, lost) {
			t.Errorf("%s: %v", code, events) // the account knows an event by time, stream and text
		}
	}
}

func TestAHostThatIsToldToStopRecordsWhatItDidAndHandsBackWhatIsUnfinished(t *testing.T) {
	for last, finish := range map[string]func(error) error{
		hide + " 0": func(err error) error { return err }, remove: func(error) error { return nil },
	} {
		began := make(chan bool)
		worker := run(t, noBeat, func(ctx context.Context) error { close(began); return finish(waitForStop(ctx)) }, nil, order, order)
		<-began
		calls, records, _ := worker.end("", 0)
		isStopped := strings.Contains(fmt.Sprint(records[0]["error_message"]), "the host was stopped")
		if !strings.HasSuffix(calls, put+", "+last) || len(records) != 1 || isStopped != (last != remove) {
			t.Error(calls, records)
		}
	}
}

func TestAHostEndsInTimeWhateverHangs(t *testing.T) {
	hang := func(context.Context) error { time.Sleep(5 * time.Second); return nil }
	for awaited, worker := range map[string]*running{
		hide: run(t, oftBeat, hang, nil, order), put: run(t, oftBeat, succeed, refusals{put: {"AccessDeniedException", always}}, order),
	} {
		calls, records, heard := worker.end(awaited, 1)
		if len(records) > 0 || worker.count(remove) > 0 || !strings.HasSuffix(calls, hide+" 0") ||
			!strings.Contains(heard, "message-1 returns to the queue because its record isn't in CloudWatch Logs") {
			t.Error(calls, records, heard)
		}
		if isOnStdout := strings.Contains(worker.stdout.String(), `"status": "ok"`); isOnStdout != (awaited == put) {
			t.Errorf("stdout: %s", worker.stdout.String())
		}
	}
}

func TestTheWorkOfAMessageThatIsNoLongerOursIsStopped(t *testing.T) {
	for _, code := range []string{"ReceiptHandleIsInvalid", gone} {
		worker := run(t, oftBeat, waitForStop, refusals{hide: {code, always}}, order)
		until(t, "it is given up", func() bool { return strings.Contains(worker.stderr.String(), "comes back after") })
		if _, records, _ := worker.end(put, 1); !strings.Contains(fmt.Sprint(records[0]["error_message"]), "no longer belongs to this host") {
			t.Error(code, records)
		}
	}
}

func TestManyLinesGoInBatchesThatCloudWatchTakes(t *testing.T) {
	r := prepare(t, context.Background(), succeed, refusals{put: {"ThrottlingException", "ThrottlingException"}})
	log := r.worker.log
	for range 30 {
		_, _ = log.Write([]byte(strings.Repeat("x", 100_000) + "\n"))
		if len(log.pending) > 11 {
			t.Fatalf("%d lines wait", len(log.pending))
		}
	}
	_, _ = log.Write([]byte(strings.Repeat("y\n", 25_000)))
	if err := log.Flush(context.Background()); err != nil || len(log.pending) > 0 || len(r.events) != 25_030 || r.events[25_029].Message != "y" {
		t.Error(err, len(log.pending), len(r.events))
	}
}

// command runs the verb as the command line does.
func command(ctx context.Context, arguments ...string) (status int, stderr string) {
	var out, errors output
	verb := Verb(func(context.Context, func(string) string) (sandbox.Operation, error) { return task(succeed), nil })
	return host.Main(ctx, []host.Verb{verb}, append([]string{"work"}, arguments...), &out, &errors), errors.String()
}

func TestTheVerbEndsWhenItIsToldToStop(t *testing.T) {
	aws := startAWS(t, nil, order)
	ctx, stop := context.WithCancel(context.Background())
	go func() { until(t, "it is done", func() bool { return aws.count(remove) == 1 }); stop() }()
	if status, stderr := command(ctx); status != 0 {
		t.Error(status, stderr)
	}
}

func TestAMissingVariableOrAWrongOptionIsOneLine(t *testing.T) {
	for missing, option := range map[string]string{
		"QUEUE_URL": "", "LOG_GROUP_NAME": "", "AWS_REGION": "", "idle": "--idle=1", "more": "more",
	} {
		startAWS(t, nil)
		t.Setenv("AWS_DEFAULT_REGION", "")
		t.Setenv(missing, "")
		status, stderr := command(context.Background(), strings.Fields(option)...)
		word := strings.Replace(missing, "AWS_REGION", "AWS_DEFAULT_REGION", 1)
		if status != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, word) {
			t.Errorf("%s: %d %s", missing, status, stderr)
		}
	}
}
