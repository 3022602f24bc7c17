package worker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/agreed"
)

const (
	receive = "ReceiveMessage"
	hide    = "ChangeMessageVisibility"
	remove  = "DeleteMessage"
	create  = "CreateLogStream"
	put     = "PutLogEvents"
)

// Codes that a call is refused with, one after the other.
const (
	always  = "*"       // after a code: it repeats for ever
	dropped = "dropped" // PutLogEvents answers 200 and drops the lines
	lost    = "lost"    // PutLogEvents takes the lines, but its answer is lost
	gone    = "gone"    // SQS's recorded answer for an expired handle
)

type refusals map[string][]string

type request struct {
	WaitTimeSeconds, VisibilityTimeout, MaxNumberOfMessages int
	ReceiptHandle, LogGroupName, LogStreamName              string
	LogEvents                                               []event
}

type event struct {
	Message   string
	Timestamp int64
}

// fakeAWS is SQS and CloudWatch Logs on loopback: it hands out each message once, checks log events
// by the rules of PutLogEvents, and refuses as told.
type fakeAWS struct {
	t      *testing.T
	mutex  sync.Mutex
	bodies []string
	refuse refusals
	events []event
	calls  []string // in order, without ReceiveMessage; ChangeMessageVisibility with its seconds
}

func startAWS(t *testing.T, refuse refusals, bodies ...string) *fakeAWS {
	t.Helper()
	f := &fakeAWS{t: t, bodies: bodies, refuse: refuse}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	s3test.Isolate(t, server.URL)
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL)
	t.Setenv("QUEUE_URL", server.URL+"/000000000000/orders")
	t.Setenv("LOG_GROUP_NAME", "/stampede/test")
	return f
}

func (f *fakeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var asked request
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		return // a worker that was told to stop in the middle of a call
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if name == hide {
		f.calls = append(f.calls, fmt.Sprint(name, " ", asked.VisibilityTimeout))
	} else if name != receive {
		f.calls = append(f.calls, name)
	}
	answer := "{}"
	switch code := f.refusal(name); {
	case code == dropped:
		answer = `{"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": 0}}`
	case code == gone: // the SDK takes the code from a header of the older protocol
		recorded := agreed.Recorded(f.t, "sqs-27")
		w.Header().Set("X-Amzn-Query-Error", recorded.Code+";Sender")
		w.WriteHeader(recorded.Status)
		answer = fmt.Sprintf(`{"__type": "com.amazonaws.sqs#%s", "message": %q}`,
			recorded.QueryErrorCode, recorded.Message)
	case code != "" && code != lost:
		w.WriteHeader(400)
		answer = fmt.Sprintf(`{"__type": "%s", "message": "{\"injected\": 1}"}`, code)
	case name == receive:
		answer = f.receive(asked)
	case name == put:
		f.put(asked)
		if code == lost {
			panic(http.ErrAbortHandler)
		}
	case name != create && asked.ReceiptHandle != "handle":
		f.t.Error(name, asked)
	}
	_, _ = io.WriteString(w, answer)
}

// refusal is the next code of a call; "" for none.
func (f *fakeAWS) refusal(name string) (code string) {
	codes := f.refuse[name]
	if name == put && !slices.Contains(f.calls, create) {
		return noStream
	} else if len(codes) == 0 {
		return ""
	} else if len(codes) != 2 || codes[1] != always {
		f.refuse[name] = codes[1:]
	}
	return codes[0]
}

func (f *fakeAWS) receive(asked request) string {
	if asked.MaxNumberOfMessages != 1 || asked.VisibilityTimeout != 60 ||
		asked.WaitTimeSeconds != 20 {
		f.t.Error(asked)
	}
	if len(f.bodies) == 0 {
		f.mutex.Unlock()
		time.Sleep(20 * time.Millisecond) // the long poll
		f.mutex.Lock()
		return "{}"
	}
	body := f.bodies[0]
	f.bodies = f.bodies[1:]
	return fmt.Sprintf(`{"Messages": [{"MessageId": "message-%d", "ReceiptHandle": "handle",
		"Body": %q, "Attributes": {"ApproximateReceiveCount": "2"}}]}`, len(f.events)+1, body)
}

func (f *fakeAWS) put(asked request) {
	bytes := 0
	for _, event := range asked.LogEvents {
		bytes += len(event.Message) + 26
	}
	inOrder := slices.IsSortedFunc(asked.LogEvents,
		func(a, b event) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	if !inOrder || bytes > 1<<20 || len(asked.LogEvents) > 10_000 ||
		asked.LogGroupName != "/stampede/test" || strings.ContainsAny(asked.LogStreamName, ":*") {
		f.t.Error(bytes, len(asked.LogEvents), asked.LogGroupName, asked.LogStreamName)
	}
	f.events = append(f.events, asked.LogEvents...)
}

// seen returns the calls so far and the records in the log.
func (f *fakeAWS) seen() (calls string, records []map[string]any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, event := range f.events {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(event.Message), &record); err != nil {
			f.t.Error(err, event)
		}
		records = append(records, record)
	}
	return strings.Join(f.calls, ", "), records
}

func (f *fakeAWS) count(call string) int {
	calls, _ := f.seen()
	return strings.Count(calls, call)
}
