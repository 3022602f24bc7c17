package function

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

const (
	timeout   = time.Minute
	workOrder = `{"run_id": "r", "cell": "c", "seq": 7, "round": 2, "payload": 3}`
	// replied is the exit status of a program whose reply was accepted and that got no more events.
	replied = 6
)

// posted is what Lambda's runtime API was told.
type posted struct {
	Path, Body      string
	Header, Trailer http.Header
	Length          int64
}

// sandboxed is a sandbox: a runtime API with events to hand out, an SQS, and the proxy's process.
type sandboxed struct {
	t       testing.TB
	process *exec.Cmd
	log     bytes.Buffer
	timeout time.Duration
	events  chan string
	posts   chan posted
	asked   chan map[string]any // calls of SQS's ChangeMessageVisibility
}

func (l *sandboxed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if path, isRuntime := strings.CutPrefix(r.URL.Path, apiPath); !isRuntime {
		var call map[string]any
		_ = json.Unmarshal(body, &call)
		l.asked <- call
		_, _ = io.WriteString(w, "{}")
	} else if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusAccepted)
		l.posts <- posted{path, string(body), r.Header, r.Trailer, r.ContentLength}
	} else if event, more := <-l.events; more {
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-1")
		w.Header().Set("Lambda-Runtime-Trace-Id", "Root=1-5bef4de7")
		w.Header().Set("Lambda-Runtime-Deadline-Ms",
			fmt.Sprint(time.Now().Add(l.timeout).UnixMilli()))
		_, _ = io.WriteString(w, event)
	} else {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// start makes a sandbox whose environment has changes ("NAME=value").
func start(t testing.TB, timeout time.Duration, changes ...string) *sandboxed {
	return startAs(t, []string{"proxy"}, timeout, changes...)
}

// startAs makes a sandbox with a command of its own. The words proxy and bootstrap stand for the
// proxy and the program.
func startAs(t testing.TB, command []string, timeout time.Duration, changes ...string) *sandboxed {
	t.Helper()
	l := &sandboxed{t: t, timeout: timeout, events: make(chan string), posts: make(chan posted, 10),
		asked: make(chan map[string]any, 10)}
	api, folder, words := httptest.NewServer(l), t.TempDir(), slices.Clone(command)
	t.Cleanup(api.Close)
	for _, name := range []string{"proxy", "bootstrap"} {
		if err := os.Symlink(os.Args[0], filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		if at := slices.Index(words, name); at >= 0 {
			words[at] = filepath.Join(folder, name)
		}
	}
	l.process = exec.Command(words[0], words[1:]...)
	l.process.Stdout, l.process.Stderr = &l.log, os.Stderr
	l.process.Env = append(append(os.Environ(),
		"AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"),
		"STAMPEDE_BOOTSTRAP="+filepath.Join(folder, "bootstrap"), "CONCURRENCY_LIMIT=10",
		"MEMORY_SIZE=1024", "EXPERIMENT_TAG=tag", "STAMPEDE_PACKAGE=thumbnail",
		"STAMPEDE_RUNTIME=provided.al2023", "STAMPEDE_ARCHITECTURE=x86_64",
		"AWS_REGION=us-east-1", "AWS_ENDPOINT_URL_SQS="+api.URL, "AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true"), changes...)
	if err := l.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.process.Process.Kill() })
	return l
}

// within receives a value that has to come soon.
func within[T any](t testing.TB, from chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(10 * time.Second):
		t.Fatalf("no %T", value)
	}
	return value
}

// send hands out an event and returns what Lambda was told of it.
func (l *sandboxed) send(event string) posted {
	l.t.Helper()
	l.events <- event
	return within(l.t, l.posts)
}

// end lets the sandbox end, and returns its records and all lines of its log.
func (l *sandboxed) end() (records []map[string]any, lines []string) {
	l.t.Helper()
	close(l.events)
	_ = l.process.Wait()
	lines = strings.Split(strings.TrimSpace(l.log.String()), "\n")
	for _, line := range lines {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) == nil && record != nil {
			records = append(records, record)
		}
	}
	return records, lines
}

// message is an event with one message: an order in its attribute, and a body.
func message(order string, body any) string {
	text, _ := json.Marshal(body)
	attribute := map[string]string{"dataType": "String", "stringValue": order}
	record := map[string]any{
		"eventSource": "aws:sqs", "messageId": "message-1", "body": string(text),
		"receiptHandle":     "handle",
		"eventSourceARN":    "arn:aws:sqs:us-east-1:000000000000:queue",
		"attributes":        map[string]string{"ApproximateReceiveCount": "2"},
		"messageAttributes": map[string]any{"stampede": attribute},
	}
	event, _ := json.Marshal(map[string]any{"Records": []any{record}})
	return string(event)
}

func TestAReplyIsJudgedAsLambdaAndSqsDo(t *testing.T) {
	for kind, replies := range map[string][]string{
		"": {``, `[1]`, `{"batchItemFailures": null}`, `"` + strings.Repeat("x", mostReply-2) + `"`,
			`{"BatchItemFailures": [{"itemIdentifier": "message-1"}]}`},
		"InvalidResponse":  {`done`},
		"ResponseTooLarge": {`"` + strings.Repeat("x", mostReply-1) + `"`},
		"PartialFailure": {`{"batchItemFailures": [{"itemIdentifier": "message-1"}]}`,
			`{"batchItemFailures": [{"foo": "notvalid"}]}`, `{"batchItemFailures": "message-1"}`},
	} {
		for _, reply := range replies {
			request := httptest.NewRequest(http.MethodPost, "/", nil)
			err := judge(request, []byte(reply), []string{"message-1"})["message-1"]
			got, _ := failure.Describe(err)
			if (err == nil) != (kind == "") || err != nil && got != kind {
				t.Errorf("%.60s: %s", reply, got)
			}
		}
	}
}

// What a program does with a message, what its record says, and how the sandbox ends. Lambda is
// told of a message that the program doesn't get. tests/unit/emulator has the failures of handlers.
func TestEachMessageLeavesARecordThatSaysWhatBecameOfIt(t *testing.T) {
	const tooLate = `{"run_id": "r", "cell": "c", "seq": 1, "start_at_ms": 9999999999999}`
	const failsAtStart = `PROGRAM_START={"errorType": "Own.Init", "errorMessage": "no file"}`
	for name, try := range map[string]struct {
		change, order string
		task          task
		kind, why     string
		exit          int
	}{
		"raised in a stream": {task: task{Reply: "{", Chunked: true, Trailer: "Late.Error"},
			kind: "HandlerError", why: "Late.Error: {"},
		"no order":             {order: "-"},
		"too late":             {order: tooLate, kind: "StartTooLate", why: "refused"},
		"without its settings": {change: "MEMORY_SIZE=", kind: "SettingsError", why: "refused"},
		"no program": {change: "STAMPEDE_BOOTSTRAP=/nowhere/bootstrap",
			kind: "HandlerMissing", why: "no such file", exit: 1},
		"fails at its start": {change: failsAtStart, kind: "HandlerMissing",
			why: "Own.Init: no file", exit: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, told := start(t, timeout, try.change), posted{}
			told = l.send(message(strings.TrimPrefix(cmp.Or(try.order, workOrder), "-"), try.task))
			records, _ := l.end()
			exit := l.process.ProcessState.ExitCode()
			if len(records) != 1 || len(l.posts) > 0 || exit != cmp.Or(try.exit, replied) {
				t.Fatal(records, len(l.posts), exit)
			}
			if try.kind == "" {
				s3test.Expect(t, records[0], map[string]any{"status": "ok"})
				return
			}
			body := fmt.Sprintf(`{"errorType": %q, "errorMessage": %q}`, try.kind,
				records[0]["error_message"])
			isTold := told.Path == "/invocation/request-1/error" && told.Body == body
			if try.why == "refused" && !isTold {
				t.Error(told)
			}
			s3test.Expect(t, records[0], map[string]any{"error_type": try.kind,
				"error_message": strings.TrimPrefix(try.why, "refused")})
			s3test.Expect(t, within(t, l.asked),
				map[string]any{"ReceiptHandle": "handle", "VisibilityTimeout": 4})
		})
	}
}

func TestARecordHasTheAgreedKeysAndWhatWasMeasured(t *testing.T) {
	l, begun := start(t, timeout), float64(time.Now().UnixMilli())
	l.send(message(workOrder, task{SpinMs: 60}))
	at := float64(time.Now().Add(100 * time.Millisecond).UnixMilli())
	l.send(message(fmt.Sprintf(`{"run_id": "r", "cell": "c", "seq": 1, "start_at_ms": %.0f}`, at),
		task{SleepMs: 40, Kind: "error"}))
	records, lines := l.end()
	for number, line := range lines {
		s3test.ExpectKeys(t, line, "function", number == 1)
	}
	s3test.Expect(t, records[0], map[string]any{"seq": 7, "message_id": "message-1",
		"request_id": "request-1", "cold_start": 1, "attempt": 2, "bytes": 13, "method": nil,
		"round": 2, "warm_up": 0, "package": "thumbnail", "payload": 3, "start": "cold",
		"runtime": "provided.al2023", "architecture": "x86_64", "batch_size": 1,
		"batching_window_s": 0, "batch": 1, "batch_index": 0})
	s3test.Expect(t, records[1], map[string]any{"start": "warm", "cold_start": 0,
		"init_seconds": nil, "sandbox_id": records[0]["sandbox_id"]})
	for number, bounds := range []map[string][2]float64{
		{"elapsed_seconds": {0.05, 5}, "client_cpu_seconds": {0.06, 0.2}, "init_seconds": {1e-4, 5},
			"peak_memory_mb": {2, 500}, "started_at_ms": {begun, at}},
		{"client_cpu_seconds": {0, 0.03}, "started_at_ms": {at, at + 5000},
			"finished_at_ms": {at + 40, at + 9000}},
	} {
		for key, bound := range bounds {
			if value, _ := records[number][key].(float64); value < bound[0] || value > bound[1] {
				t.Error(number, key, value)
			}
		}
	}
}

func TestAMessageIsRecordedBeforeTheTimeoutAndALateReplyStillCounts(t *testing.T) {
	l := start(t, 400*time.Millisecond)
	l.send(message(workOrder, task{SleepMs: 300}))
	within(t, l.asked) // even with so little time left
	records, _ := l.end()
	if len(records) != 2 || records[0]["error_type"] != "HandlerTimedOut" ||
		records[1]["status"] != "ok" {
		t.Fatal(records)
	}
}

func TestEventAndReplyPassUnchanged(t *testing.T) {
	l, large := start(t, timeout), `"`+strings.Repeat("é", 1_000_000)+`"`
	event := message(workOrder, task{Reply: "seen", Chunked: true})
	told := l.send(event)
	var seen struct {
		Headers     http.Header
		Event, Root string
	}
	if err := json.Unmarshal([]byte(told.Body), &seen); err != nil || seen.Event != event ||
		seen.Root != filepath.Dir(l.process.Path) ||
		seen.Headers.Get("Lambda-Runtime-Trace-Id") != "Root=1-5bef4de7" ||
		seen.Headers.Get("Content-Length") != fmt.Sprint(len(event)) || told.Length != -1 ||
		told.Header.Get("Lambda-Runtime-Function-Response-Mode") != "streaming" {
		t.Error(err, seen, told)
	}
	replied := l.send(message(workOrder, task{Reply: large}))
	byHand := l.send(`{"by": "hand"}`)
	late := l.send(message(workOrder, task{Kind: "error", Chunked: true, Trailer: "Late.Error"}))
	if replied.Body != large || replied.Length != 2_000_002 ||
		byHand.Path != "/invocation/request-1/response" ||
		late.Trailer.Get(errorType) != "Late.Error" {
		t.Error(replied.Length, byHand, late)
	}
	if records, _ := l.end(); len(records) != 3 {
		t.Error(records)
	}
}

func TestAManagedRuntimeStartsAsLambdaSaysAndEndsWithTheProxy(t *testing.T) {
	l := startAs(t, []string{"proxy", "bootstrap", "-m", "runtime"}, timeout,
		"STAMPEDE_BOOTSTRAP=/nowhere", "LAMBDA_TASK_ROOT=/var/task",
		"_LAMBDA_TELEMETRY_LOG_FD=62", "AWS_LAMBDA_EXEC_WRAPPER=/opt/bootstrap")
	var seen struct {
		Pid             int
		Args            []string
		Elsewhere, Root string
	}
	_ = json.Unmarshal([]byte(l.send(message(workOrder, task{Reply: "seen"})).Body), &seen)
	if !slices.Equal(seen.Args, []string{"-m", "runtime"}) || seen.Elsewhere != "" ||
		seen.Root != "/var/task" {
		t.Fatal(seen)
	}
	// the program doesn't notice by itself that the proxy is gone
	l.events <- message(workOrder, task{SleepMs: 60_000})
	time.Sleep(100 * time.Millisecond)
	_ = l.process.Process.Kill()
	_, _ = l.process.Process.Wait()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", seen.Pid))
		// a zombie stays where there is no init process
		if err != nil || bytes.Contains(state, []byte(") Z ")) {
			return
		} else if time.Now().After(end) {
			t.Fatal("the program still runs")
		}
	}
}

func TestARecordIsALineOfItsOwnAfterWhateverTheProgramPrinted(t *testing.T) {
	l, status := start(t, timeout), 1
	tooLong := strings.Repeat("x", 3*mostRest) // a line ends where a log event would
	for _, print := range []string{"one\ntwo and ", "three\nfour", tooLong} {
		l.send(message(workOrder, task{Print: print, SleepMs: 20}))
	}
	l.events <- message(workOrder, task{Exit: &status})
	_ = l.process.Wait()
	records, lines := l.end()
	// without what was printed before the message
	if said := records[3]["error_message"].(string); !strings.HasSuffix(said, ": exit status 1") {
		t.Error(said)
	}
	const record = `{"concurrency_limit"`
	lines = append(lines[:7], lines[len(lines)-1])
	beginnings := []string{"one", "two and ", record, "three", "four", record, "xxx", record}
	for at, beginning := range beginnings {
		if !strings.HasPrefix(lines[at], beginning) || len(lines[at]) > 2*mostRest {
			t.Errorf("%d: %.60q", at, lines[at])
		}
	}
}

// The time of an invocation whose handler does nothing, without the proxy and with it: a lower
// bound of every recorded time. The runtime is AWS's for Go, or a managed one whose command line is
// BENCH_RUNTIME. `make bench` runs this (bench/function.py).
func BenchmarkInvocation(b *testing.B) {
	managed := strings.Fields(os.Getenv("BENCH_RUNTIME"))
	bare := managed
	if len(managed) == 0 {
		bare = []string{"bootstrap"}
	}
	for _, side := range []struct {
		name    string
		command []string
	}{{"bare", bare}, {"measured", append([]string{"proxy"}, managed...)}} {
		b.Run(side.name, func(b *testing.B) {
			l := startAs(b, side.command, timeout, "PROGRAM_START=official")
			event := message(workOrder, task{})
			for range 200 {
				l.send(event)
			}
			b.ResetTimer()
			for range b.N {
				l.send(event)
			}
			b.StopTimer()
			records, _ := l.end()
			cpu := l.process.ProcessState.UserTime() + l.process.ProcessState.SystemTime()
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N+200), "cpu-us")
			if side.name == "measured" {
				var seconds []float64
				for _, record := range records[200:] {
					seconds = append(seconds, record["elapsed_seconds"].(float64))
				}
				slices.Sort(seconds)
				b.ReportMetric(seconds[b.N/2]*1e6, "recorded-us")
			}
		})
	}
}
