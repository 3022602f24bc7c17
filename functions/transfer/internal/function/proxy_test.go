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
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stampede/transfer/internal/agreed"
	"stampede/transfer/internal/failure"
)

const (
	timeout   = time.Minute
	workOrder = `{"run_id": "r", "cell": "c", "seq": 7, "round": 2, "payload": 3}`
)

// posted is what Lambda's runtime API was told.
type posted struct {
	Path, Body      string
	Header, Trailer http.Header
	Length          int64
}

// sandboxed is a sandbox: a runtime API with events to hand out, and the proxy's process.
type sandboxed struct {
	t       testing.TB
	process *exec.Cmd
	log     bytes.Buffer
	events  chan string
	timeout time.Duration
	ended   chan struct{}
	mutex   sync.Mutex
	posts   []posted
	told    chan struct{}       // of each post
	asked   chan map[string]any // what SQS was asked to change
}

// sqs is the queue's service.
func (l *sandboxed) sqs(w http.ResponseWriter, r *http.Request) {
	var call map[string]any
	_ = json.NewDecoder(r.Body).Decode(&call)
	l.asked <- call
	_, _ = io.WriteString(w, "{}")
}

func (l *sandboxed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		select {
		case event := <-l.events:
			for name, value := range map[string]string{
				"Lambda-Runtime-Aws-Request-Id": "request-1", "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7", "Content-Type": "application/json",
				"Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:f",
				"Lambda-Runtime-Deadline-Ms":          fmt.Sprint(time.Now().Add(l.timeout).UnixMilli()),
			} {
				w.Header().Set(name, value)
			}
			_, _ = io.WriteString(w, event)
		case <-l.ended:
			w.WriteHeader(http.StatusInternalServerError)
		case <-r.Context().Done():
		}
		return
	}
	body, _ := io.ReadAll(r.Body)
	l.mutex.Lock()
	l.posts = append(l.posts, posted{strings.TrimPrefix(r.URL.Path, apiPath), string(body), r.Header, r.Trailer, r.ContentLength})
	l.mutex.Unlock()
	w.Header().Set("X-Of-Lambda", "yes")
	w.WriteHeader(http.StatusAccepted)
	l.told <- struct{}{}
}

// start makes a sandbox whose environment has changes ("NAME=value").
func start(t testing.TB, timeout time.Duration, changes ...string) *sandboxed {
	return startAs(t, []string{"proxy"}, timeout, changes...)
}

// startAs makes one that begins with another command, in which proxy and bootstrap are the proxy and the program.
func startAs(t testing.TB, command []string, timeout time.Duration, changes ...string) *sandboxed {
	t.Helper()
	l := &sandboxed{t: t, timeout: timeout, events: make(chan string), ended: make(chan struct{}), told: make(chan struct{}, 10),
		asked: make(chan map[string]any, 10)}
	api, queue := httptest.NewServer(l), httptest.NewServer(http.HandlerFunc(l.sqs))
	t.Cleanup(api.Close)
	t.Cleanup(queue.Close)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, words := t.TempDir(), slices.Clone(command)
	for _, name := range []string{"proxy", "bootstrap"} {
		if err := os.Symlink(binary, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		if at := slices.Index(words, name); at >= 0 {
			words[at] = filepath.Join(folder, name)
		}
	}
	l.process = exec.Command(words[0], words[1:]...)
	l.process.Stdout, l.process.Stderr = &l.log, os.Stderr
	l.process.Env = append(append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"),
		"STAMPEDE_BOOTSTRAP="+filepath.Join(folder, "bootstrap"), "CONCURRENCY_LIMIT=10", "MEMORY_SIZE=1024", "EXPERIMENT_TAG=tag",
		"STAMPEDE_PACKAGE=thumbnail", "STAMPEDE_RUNTIME=provided.al2023", "STAMPEDE_ARCHITECTURE=x86_64",
		"AWS_ENDPOINT_URL_SQS="+queue.URL, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true"), changes...)
	if err := l.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.process.Process.Kill() })
	return l
}

// send hands out an event and returns what Lambda was told of it; nothing when the process ended instead.
func (l *sandboxed) send(event string) posted {
	l.t.Helper()
	l.events <- event
	select {
	case <-l.told:
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return l.posts[len(l.posts)-1]
	case <-time.After(10 * time.Second):
		l.t.Fatal("no reply")
	}
	return posted{}
}

// end lets the sandbox end, and returns its records and the other lines of its log.
func (l *sandboxed) end() (records []map[string]any, lines []string, state *os.ProcessState) {
	l.t.Helper()
	close(l.ended)
	_ = l.process.Wait()
	for _, line := range strings.Split(strings.TrimSuffix(l.log.String(), "\n"), "\n") {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) == nil && record != nil {
			records = append(records, record)
		} else if line != "" {
			lines = append(lines, line)
		}
	}
	return records, lines, l.process.ProcessState
}

// message is an event with one message: an order in its attribute, and a body.
func message(order string, body any) string {
	text, _ := json.Marshal(body)
	record := map[string]any{
		"eventSource": "aws:sqs", "messageId": "message-1", "body": string(text), "receiptHandle": "handle",
		"eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:queue", "attributes": map[string]string{"ApproximateReceiveCount": "2"},
		"messageAttributes": map[string]any{"stampede": map[string]string{"dataType": "String", "stringValue": order}},
	}
	event, _ := json.Marshal(map[string]any{"Records": []any{record}})
	return string(event)
}

func TestAReplyIsJudgedAsLambdaAndSqsTakeIt(t *testing.T) {
	for reply, kind := range map[string]string{
		``: "", `null`: "", `{}`: "", `"done"`: "", `[1]`: "", `{"batchItemFailures": null}`: "", `{"batchItemFailures": [ ]}`: "",
		`{"BatchItemFailures": [{"itemIdentifier": "message-1"}]}`: "",
		`done`: "InvalidResponse", `{"a": 1`: "InvalidResponse", `{"a": NaN}`: "InvalidResponse",
		`"` + strings.Repeat("x", mostReply-2) + `"`: "", `"` + strings.Repeat("x", mostReply-1) + `"`: "ResponseTooLarge",
		`{"batchItemFailures": [{"itemIdentifier": "message-1"}]}`: "PartialFailure",
		`{"batchItemFailures": [{"itemIdentifier": ""}]}`:          "PartialFailure", `{"batchItemFailures": [{"foo": "notvalid"}]}`: "PartialFailure",
		`{"batchItemFailures": "message-1"}`: "PartialFailure",
	} {
		got := ""
		if err := judge(httptest.NewRequest(http.MethodPost, "/", nil), []byte(reply), "message-1"); err != nil {
			got, _ = failure.Describe(err)
		}
		if got != kind {
			t.Errorf("%.60s: %q", reply, got)
		}
	}
}

// died is what Python prints of an exception whose text can't be had.
const died = `Traceback (most recent call last):
  File "/var/runtime/bootstrap.py", line 177, in handle_event_request
    response = request_handler(event, lambda_context)
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
app.Odd: <exception str() failed>

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/var/task/app.py", line 3, in __str__
    return self.detail
AttributeError: 'Odd' object has no attribute 'detail'
`

// What a program does with a message, the failure that its record names, and how the sandbox ends.
func TestEachMessageLeavesARecordThatSaysWhatBecameOfIt(t *testing.T) {
	one, three, zero := 1, 3, 0
	for name, try := range map[string]struct {
		order, kind, message string
		task                 task
		timeout              time.Duration
		posts                int
		exit                 int
	}{
		"ok":                   {task: task{Reply: `{"batchItemFailures": []}`}, posts: 1, exit: 6},
		"thrown":               {task: task{Kind: "error", Reply: `{"errorType": "ValueError", "errorMessage": "not 1"}`}, kind: "HandlerError", message: "ValueError: not 1", posts: 1, exit: 6},
		"not to be marshalled": {task: task{Kind: "error", Reply: `{"errorType": "Runtime.MarshalError", "errorMessage": "a set"}`}, kind: "InvalidResponse", message: "Runtime.MarshalError: a set", posts: 1, exit: 6},
		"dies of an exception": {task: task{Print: died, Exit: &one}, kind: "HandlerError", message: "Odd: <exception str() failed> (the program ended: exit status 1)", exit: 1},
		"exits after it caught one": {task: task{Print: died, Exit: &three}, kind: "HandlerExited",
			message: `the program ended before it replied: exit status 3, after "AttributeError: 'Odd' object has no attribute 'detail'"`, exit: 3},
		"thrown text":        {task: task{Kind: "error", Reply: "oh", Headers: map[string]string{errorType: "Own.Type"}}, kind: "HandlerError", message: "Own.Type: oh", posts: 1, exit: 6},
		"thrown in a stream": {task: task{Reply: "{", Chunked: true, Trailer: "Late.Error"}, kind: "HandlerError", message: "Late.Error: {", posts: 1, exit: 6},
		"not JSON":           {task: task{Reply: "<p>"}, kind: "InvalidResponse", message: `the reply isn't JSON: "<p>"`, posts: 1, exit: 6},
		"partial":            {task: task{Reply: `{"batchItemFailures": [{"itemIdentifier": "message-1"}]}`}, kind: "PartialFailure", message: "batchItemFailures names the message", posts: 1, exit: 6},
		"exits":              {task: task{Exit: &three}, kind: "HandlerExited", message: "the program ended before it replied: exit status 3", exit: 3},
		"exits in peace":     {task: task{Exit: &zero}, kind: "HandlerExited", message: "the program ended before it replied: exit status 0"},
		"killed":             {task: task{Killed: true}, kind: "HandlerExited", message: "the program ended before it replied: signal: killed", exit: -1},
		"no order":           {order: "-", posts: 1, exit: 6},
		"unknown key":        {order: `{"run_id": "r", "cell": "c", "seq": 1, "a": 2}`, kind: "WorkOrderError", message: "the message has the unknown key", posts: 1, exit: 6},
		"too late":           {order: `{"run_id": "r", "cell": "c", "seq": 1, "start_at_ms": 9999999999999}`, kind: "StartTooLate", message: "start_at_ms is", posts: 1, exit: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, timeout)
			event := message(strings.TrimPrefix(cmp.Or(try.order, workOrder), "-"), try.task)
			if try.posts > 0 {
				l.send(event)
			} else {
				l.events <- event
				_ = l.process.Wait()
			}
			records, _, state := l.end()
			if len(records) != 1 || len(l.posts) != try.posts || state.ExitCode() != try.exit {
				t.Fatal(records, l.posts, state)
			}
			kind, _ := records[0]["error_type"].(string)
			text, _ := records[0]["error_message"].(string)
			if kind != try.kind || !strings.HasPrefix(text, try.message) {
				t.Errorf("%s: %s", kind, text)
			}
			if try.exit == -1 && state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Error(state)
			}
		})
	}
}

func TestARecordHasTheAgreedKeysAndWhatWasMeasured(t *testing.T) {
	l := start(t, timeout)
	begun := time.Now()
	l.send(message(workOrder, task{SpinMs: 60}))
	l.send(message(workOrder, task{SleepMs: 40}))
	l.send(message(workOrder, task{Kind: "error"}))
	records, _, _ := l.end()
	for number, line := range strings.Split(strings.TrimSpace(l.log.String()), "\n") {
		var keys []string
		for _, match := range regexp.MustCompile(`"(\w+)": `).FindAllStringSubmatch(line, -1) {
			keys = append(keys, match[1])
		}
		if want := agreed.Keys(t, "function", number == 2); !slices.Equal(keys, want) {
			t.Errorf("%v instead of %v", keys, want)
		}
	}
	first, second := records[0], records[1]
	for key, value := range map[string]any{
		"run_id": "r", "cell": "c", "seq": 7.0, "round": 2.0, "payload": 3.0, "warm_up": 0.0, "message_id": "message-1", "request_id": "request-1",
		"cold_start": 1.0, "start": "cold", "attempt": 2.0, "bytes": float64(len(`{"SpinMs":60}`)), "method": nil, "status": "ok", "package": "thumbnail",
		"runtime": "provided.al2023", "architecture": "x86_64", "concurrency_limit": 10.0, "memory_size": 1024.0, "experiment_tag": "tag", "experiment": "function",
	} {
		if first[key] != value {
			t.Errorf("%s is %v", key, first[key])
		}
	}
	if second["start"] != "warm" || second["cold_start"] != 0.0 || second["init_seconds"] != nil || second["sandbox_id"] != first["sandbox_id"] {
		t.Error(second)
	}
	number := func(record map[string]any, key string) float64 { value, _ := record[key].(float64); return value }
	if elapsed, cpu := number(first, "elapsed_seconds"), number(first, "client_cpu_seconds"); cpu < 0.06 || cpu > 0.2 || elapsed < 0.05 || elapsed > 5 {
		t.Error(elapsed, cpu)
	}
	if elapsed, cpu := number(second, "elapsed_seconds"), number(second, "client_cpu_seconds"); elapsed < 0.04 || cpu > 0.03 {
		t.Error(elapsed, cpu)
	}
	if init, peak := number(first, "init_seconds"), number(first, "peak_memory_mb"); init <= 0 || init > 5 || peak < 2 || peak > 500 {
		t.Error(init, peak)
	}
	if at := int64(number(first, "started_at_ms")); at < begun.UnixMilli() || at > time.Now().UnixMilli() {
		t.Error(at)
	}
}

func TestAMessageThatRunsIntoTheTimeoutHasItsRecordBeforeAndAReplyThatComesAfterAllCounts(t *testing.T) {
	l := start(t, 400*time.Millisecond)
	l.send(message(workOrder, task{SleepMs: 300}))
	records, _, _ := l.end()
	if len(records) != 2 || records[0]["error_type"] != "HandlerTimedOut" || records[1]["status"] != "ok" || records[1]["start"] != "cold" {
		t.Fatal(records)
	}
}

func TestTheClockBeginsAtTheCommonStart(t *testing.T) {
	l := start(t, timeout)
	at := time.Now().Add(300 * time.Millisecond).UnixMilli()
	l.send(message(fmt.Sprintf(`{"run_id": "r", "cell": "c", "seq": 1, "start_at_ms": %d}`, at), task{}))
	records, _, _ := l.end()
	if started := int64(records[0]["started_at_ms"].(float64)); started < at || records[0]["elapsed_seconds"].(float64) > 0.25 {
		t.Error(started-at, records)
	}
}

func TestEventAndReplyPassUnchanged(t *testing.T) {
	l := start(t, timeout)
	event := message(workOrder, task{Reply: "headers", Chunked: true, Headers: map[string]string{
		"Lambda-Runtime-Function-Response-Mode": "streaming", "Content-Type": "application/x-own",
	}})
	told := l.send(event)
	var seen struct {
		Headers     http.Header
		Event, Root string
	}
	if err := json.Unmarshal([]byte(told.Body), &seen); err != nil {
		t.Fatal(err, told)
	}
	if seen.Event != event || seen.Root != filepath.Dir(l.process.Path) {
		t.Error(seen)
	}
	for name, value := range map[string]string{
		"Lambda-Runtime-Trace-Id": "Root=1-5bef4de7", "Lambda-Runtime-Aws-Request-Id": "request-1", "Content-Length": fmt.Sprint(len(event)),
		"Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:f",
	} {
		if seen.Headers.Get(name) != value {
			t.Errorf("%s is %q", name, seen.Headers.Get(name))
		}
	}
	if seen.Headers.Get("Lambda-Runtime-Deadline-Ms") == "" || told.Path != "/invocation/request-1/response" || told.Length != -1 ||
		told.Header.Get("Lambda-Runtime-Function-Response-Mode") != "streaming" || told.Header.Get("Content-Type") != "application/x-own" {
		t.Error(told)
	}
	large := strings.Repeat("é", 1_000_000)
	if told := l.send(message(workOrder, task{Reply: `"` + large + `"`})); told.Body != `"`+large+`"` || told.Length != 2_000_002 {
		t.Error(told.Length)
	}
	if told := l.send(`{"by": "hand"}`); told.Path != "/invocation/request-1/response" {
		t.Error(told)
	}
	if told := l.send(message(workOrder, task{Kind: "error", Chunked: true, Trailer: "Late.Error"})); told.Trailer.Get(errorType) != "Late.Error" {
		t.Error(told)
	}
	if records, _, _ := l.end(); len(records) != 3 {
		t.Error(records)
	}
}

func TestAManagedRuntimeIsStartedAsLambdaSaysAndLogsToItsStandardOutput(t *testing.T) {
	l := startAs(t, []string{"proxy", "bootstrap", "-m", "runtime"}, timeout, "STAMPEDE_BOOTSTRAP=/nowhere", "LAMBDA_TASK_ROOT=/var/task",
		"_LAMBDA_TELEMETRY_LOG_FD=62", "AWS_LAMBDA_EXEC_WRAPPER=/opt/bootstrap")
	var seen struct {
		Args            []string
		Root, Elsewhere string
	}
	if err := json.Unmarshal([]byte(l.send(message(workOrder, task{Reply: "headers"})).Body), &seen); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen.Args, []string{"-m", "runtime"}) || seen.Root != "/var/task" || seen.Elsewhere != "" {
		t.Error(seen)
	}
	if records, _, _ := l.end(); len(records) != 1 || records[0]["status"] != "ok" {
		t.Error(records)
	}
}

func TestALineWithoutAnEndIsKeptBackOnlyAsLongAsAnEventMayBe(t *testing.T) {
	l := start(t, timeout)
	l.send(message(workOrder, task{Print: strings.Repeat("x", 3*mostRest)}))
	records, lines, _ := l.end()
	if len(records) != 1 || slices.ContainsFunc(lines, func(line string) bool { return len(line) > 2*mostRest }) {
		t.Error(len(records), len(lines))
	}
}

func TestAProgramThatCantStartFailsTheFirstMessageWithTheReason(t *testing.T) {
	for change, reason := range map[string]string{
		"STAMPEDE_BOOTSTRAP=/nowhere/bootstrap":                              "the program ended before it asked for a message: fork/exec /nowhere/bootstrap: no such file or directory",
		"PROGRAM_START=exit":                                                 "the program ended before it asked for a message: exit status 5",
		`PROGRAM_START={"errorType": "Own.Init", "errorMessage": "no file"}`: "the program reported an error at its start: Own.Init: no file",
	} {
		l := start(t, timeout, change)
		told := l.send(message(workOrder, task{}))
		records, _, state := l.end()
		if len(records) != 1 || records[0]["error_type"] != "HandlerMissing" || !strings.HasPrefix(records[0]["error_message"].(string), reason) ||
			records[0]["init_seconds"] != nil || state.Success() {
			t.Error(records, state)
		}
		if told.Path != "/invocation/request-1/error" || !strings.HasPrefix(told.Body, `{"errorType": "HandlerMissing", "errorMessage": "`+reason) {
			t.Error(told)
		}
	}
}

func TestWithoutItsSettingsNoMessageIsMeasured(t *testing.T) {
	l := start(t, timeout, "MEMORY_SIZE=")
	l.send(message(workOrder, task{}))
	l.send(message(workOrder, task{}))
	records, _, _ := l.end()
	if len(records) != 2 || records[1]["error_type"] != "SettingsError" || records[1]["run_id"] != "r" || records[1]["memory_size"] != nil {
		t.Error(records)
	}
}

func TestARecordIsALineOfItsOwnBehindWhateverTheProgramPrinted(t *testing.T) {
	l := start(t, timeout)
	l.send(message(workOrder, task{Print: "one\ntwo and "}))
	l.send(message(workOrder, task{Print: "three\nfour", SleepMs: 20}))
	l.end()
	lines := strings.Split(strings.TrimSpace(l.log.String()), "\n")
	for at, beginning := range []string{"one", "two and ", `{"concurrency_limit"`, "three", "four", `{"concurrency_limit"`} {
		if len(lines) != 6 || !strings.HasPrefix(lines[at], beginning) {
			t.Error(lines)
		}
	}
}

func TestAFailedMessageComesBackAfterSeconds(t *testing.T) {
	for name, l := range map[string]*sandboxed{"thrown": start(t, timeout), "no time left": start(t, 500*time.Millisecond)} {
		l.events <- message(workOrder, task{Kind: "error", SleepMs: 400})
		select {
		case call := <-l.asked:
			if call["ReceiptHandle"] != "handle" || call["VisibilityTimeout"] != 4.0 {
				t.Error(name, call)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s: SQS wasn't asked", name)
		}
	}
}

func TestTheProgramEndsWithTheProxy(t *testing.T) {
	l := start(t, timeout)
	var seen struct{ Pid int }
	_ = json.Unmarshal([]byte(l.send(message(workOrder, task{Reply: "headers"})).Body), &seen)
	_ = l.process.Process.Kill()
	_, _ = l.process.Process.Wait()
	for end := time.Now().Add(5 * time.Second); syscall.Kill(seen.Pid, 0) == nil; time.Sleep(time.Millisecond) {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", seen.Pid))
		if bytes.Contains(state, []byte(") Z ")) { // nobody waits for it on a machine without an init process
			return
		}
		if seen.Pid == 0 || time.Now().After(end) {
			t.Fatal("the program still runs")
		}
	}
}

// What an invocation takes whose handler does nothing: without the proxy, and with it. The record of such a one is what no
// handler's time can be below. The runtime is the official one for Go, or the managed one whose command line BENCH_RUNTIME is.
// `make bench` runs this (bench/function.py).
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
			records, _, state := l.end()
			b.ReportMetric(float64((state.UserTime()+state.SystemTime()).Microseconds())/float64(b.N+200), "cpu-us")
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
