package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// task is an operation that does what the test says.
type task func(ctx context.Context) error

func (do task) Labels() *environment.Labels { return nil }

func (do task) Do(ctx context.Context, message sqsevent.Message, _ io.Writer, until time.Time) (
	*workorder.Order, record.Outcome) {
	_, order := workorder.Open(message.Body)
	outcome := record.Outcome{TimeKey: "elapsed_seconds", Err: do(ctx)}
	if remaining := time.Until(until); remaining < 11*time.Hour || remaining > 12*time.Hour {
		outcome.Err = fmt.Errorf("%v remain", remaining)
	}
	return &order, outcome
}

func succeed(context.Context) error { return nil }

func fail(context.Context) error { return failure.New(failure.NoSuchKey, "gone") }

func hang(context.Context) error { time.Sleep(5 * time.Second); return nil }

func waitForStop(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func endAtStop(ctx context.Context) error { <-ctx.Done(); return nil }

const (
	order   = `{"run_id": "r", "cell": "c", "seq": 1}`
	oftBeat = 10 * time.Millisecond
	message = "message-1 returns to the queue"
)

// output is a file, which several goroutines write to.
type output struct{ *os.File }

func newOutput(t *testing.T) output {
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	return output{file}
}

func (o output) String() string { text, _ := os.ReadFile(o.Name()); return string(text) }

// running is a worker with short pauses and a fake AWS.
type running struct {
	*fakeAWS
	worker         *worker
	stdout, stderr output
	stop           context.CancelFunc // what SIGTERM does
	ended          chan bool
}

// run makes a worker and, if there are messages, starts it until the test ends.
func run(t *testing.T, beat time.Duration, do task, refuse refusals, bodies ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{fakeAWS: startAWS(t, refuse, bodies...), stop: stop, ended: make(chan bool),
		stdout: newOutput(t), stderr: newOutput(t)}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.worker = newWorker(ctx, settings, do, r.stdout, r.stderr, time.Millisecond)
	r.worker.grace, r.worker.queue.beat = 100*time.Millisecond, beat
	r.worker.queue.url = os.Getenv("QUEUE_URL")
	r.worker.log.group, r.worker.log.name = "/stampede/test", "host/now"
	if bodies != nil {
		go func() { r.worker.poll(ctx); close(r.ended) }()
	}
	return r
}

// until waits for something that has to happen soon.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: ", what)
		}
	}
}

// end stops the worker like SIGTERM, after a call was made a number of times. It has to end soon.
func (r *running) end(call string, times int) (calls string, records []map[string]any,
	heard string) {
	r.t.Helper()
	until(r.t, call, func() bool { return r.count(call) >= times })
	r.stop()
	select {
	case <-r.ended:
	case <-time.After(10 * time.Second):
		r.t.Fatal("it doesn't end: ", r.stderr)
	}
	calls, records = r.seen()
	return calls, records, r.stderr.String()
}

func list(calls ...string) string { return strings.Join(calls, ", ") }

func TestAMessageIsDeletedOnceItsRecordIsInTheLog(t *testing.T) {
	worker := run(t, time.Hour, succeed, nil, order, order)
	calls, records, _ := worker.end(remove, 2)
	lines := worker.events[0].Message + "\n" + worker.events[1].Message + "\n"
	if calls != list(put, create, put, remove, put, remove) || worker.stdout.String() != lines {
		t.Error(calls, worker.stdout, lines)
	}
	s3test.Expect(t, records[0], map[string]any{"status": "ok", "run_id": "r",
		"message_id": "message-1", "request_id": nil, "cold_start": 1, "attempt": 2})
	s3test.Expect(t, records[1], map[string]any{"message_id": "message-2", "cold_start": 0,
		"sandbox_id": records[0]["sandbox_id"]})
}

// How an operation ends, the call after which the worker is told to stop, and then its last calls,
// its record and its output.
func TestWhatBecomesOfAMessage(t *testing.T) {
	for name, try := range map[string]struct {
		do                   task
		beat                 time.Duration
		refuse               refusals
		awaited, last, error string
		said                 string
	}{
		"fails": {fail, time.Hour, nil, hide, list(put, create, put, hide+" 4"), "gone", ""},
		"stopped and unfinished": {waitForStop, oftBeat, nil, hide + " 60", list(put, hide+" 0"),
			"the host was stopped", ""},
		"stopped and finished": {endAtStop, oftBeat, nil, hide + " 60", list(put, remove),
			"<nil>", ""},
		"hangs": {hang, oftBeat, nil, hide, hide + " 0", "", message},
		"the log takes nothing": {succeed, oftBeat,
			refusals{put: {"AccessDeniedException", always}}, put, hide + " 0", "", message},
		"its handle has expired": {waitForStop, oftBeat, refusals{hide: {gone, always}}, put, "",
			"no longer belongs to this host", "comes back after"},
		"lines are dropped": {succeed, time.Hour, refusals{put: {dropped}}, hide,
			list(put, create, put, hide+" 4"), "", "clock"},
		"lines' answer is lost": {succeed, time.Hour, refusals{put: {lost}}, remove,
			list(create, put, put, remove), "<nil>", "trying again"},
		"expired and refused put": {succeed, time.Hour, refusals{put: waitedOut}, remove,
			list(put, put, put, put, remove), "<nil>", retried},
	} {
		t.Run(name, func(t *testing.T) {
			worker := run(t, try.beat, try.do, try.refuse, order)
			if strings.Contains(try.said, "comes back") {
				isSaid := func() bool { return strings.Contains(worker.stderr.String(), try.said) }
				until(t, try.said, isSaid)
			}
			calls, records, heard := worker.end(try.awaited, 1)
			calls = strings.TrimSuffix(calls, ", "+put) // an abandoned call may arrive late
			hasRecord := strings.Contains(worker.stdout.String(), `"status": "`)
			if !strings.HasSuffix(calls, try.last) || !strings.Contains(heard, try.said) ||
				strings.Contains(heard, "injected") || hasRecord != (name != "hangs") ||
				(try.error == "") != (len(records) == 0) {
				t.Fatal(calls, records, heard, worker.stdout)
			}
			// readers of the log identify an event by its time, stream and text
			for _, record := range records {
				if !strings.Contains(fmt.Sprint(record["error_message"]), try.error) ||
					worker.events[0] != worker.events[len(records)-1] {
					t.Error(records)
				}
			}
		})
	}
}

// waitedOut are errors that pass, and retried is the message about the second.
var waitedOut = []string{"ExpiredTokenException", "AccessDenied", "ServiceUnavailable"}

const retried = "AccessDenied; trying again until it works\n"

func TestHeartbeatsHoldAMessageUntilItsRecordIsInTheLog(t *testing.T) {
	begin := make(chan bool)
	worker := run(t, oftBeat, func(context.Context) error { <-begin; return nil }, refusals{
		hide: {"RequestThrottled", "ExpiredTokenException"}, put: {"ThrottlingException", always},
	}, order)
	until(t, "heartbeats", func() bool { return worker.count(hide+" 60") >= 5 })
	close(begin)
	until(t, put, func() bool { return worker.count(put) > 0 })
	beats := worker.count(hide)
	until(t, "more heartbeats", func() bool { return worker.count(hide) > beats+2 })
	if worker.count(remove) > 0 {
		t.Error("deleted without a record")
	}
	worker.mutex.Lock()
	worker.refuse[put] = nil
	worker.mutex.Unlock()
	until(t, remove, func() bool { return worker.count(remove) == 1 })
	time.Sleep(5 * oftBeat)
	calls, _, heard := worker.end(remove, 1)
	if !strings.HasSuffix(calls, remove) || !strings.Contains(heard, "RequestThrottled") {
		t.Error("a heartbeat after the end", calls, heard)
	}
}

func TestManyLinesGoInBatchesThatCloudWatchTakes(t *testing.T) {
	r := run(t, time.Hour, succeed, refusals{put: {"ThrottlingException", "ThrottlingException"}})
	log := r.worker.log
	for range 30 {
		_, _ = log.Write([]byte(strings.Repeat("x", 100_000) + "\n"))
		if len(log.pending) > 10 {
			t.Fatal(len(log.pending))
		}
	}
	_, _ = log.Write([]byte(strings.Repeat("y\n", 25_000)))
	if err := log.Flush(t.Context()); err != nil || len(log.pending) > 0 ||
		len(r.events) != 25_030 || r.events[25_029].Message != "y" {
		t.Error(err, len(log.pending), len(r.events))
	}
}

func TestTheVerbEndsWhenItIsToldToStopAndSaysWhatIsMissing(t *testing.T) {
	verb := Verb(func(context.Context, func(string) string) (sandbox.Operation, error) {
		return task(succeed), nil
	})
	for missing, word := range map[string]string{
		"":           "receiving messages from http://127.0.0.1:",
		"QUEUE_URL":  "QUEUE_URL",
		"AWS_REGION": "AWS_DEFAULT_REGION",
	} {
		aws, stderr := startAWS(t, nil, order), newOutput(t)
		ctx, stop := context.WithCancel(t.Context())
		status := 2
		if missing == "" {
			status = 0
			go func() { until(t, remove, func() bool { return aws.count(remove) == 1 }); stop() }()
		} else {
			t.Setenv("AWS_DEFAULT_REGION", "")
			t.Setenv(missing, "")
		}
		got := host.Main(ctx, []host.Verb{verb}, []string{"work"}, io.Discard, stderr)
		stop()
		said := stderr.String()
		if got != status || strings.Count(said, "\n") != 1 || !strings.Contains(said, word) {
			t.Error(missing, got, said)
		}
	}
}
