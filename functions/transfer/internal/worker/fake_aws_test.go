package worker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/transfer/internal/s3test/recorded"
)

const (
	receive = "ReceiveMessage"
	hide    = "ChangeMessageVisibility"
	remove  = "DeleteMessage"
	create  = "CreateLogStream"
	put     = "PutLogEvents"
)

// The codes that a call is refused with, one after the other; with always behind it, a code repeats for ever. Two are of
// PutLogEvents alone: the lines are dropped by an answer 200; the lines are taken, and the answer is lost. One is what SQS was
// recorded to answer for a handle that has expired.
const (
	always  = "*"
	dropped = "dropped"
	lost    = "lost"
	gone    = "gone"
)

type refusals map[string][]string

type event struct {
	Message   string
	Timestamp int64
}

type request struct {
	WaitTimeSeconds, VisibilityTimeout, MaxNumberOfMessages int
	ReceiptHandle, LogGroupName, LogStreamName              string
	LogEvents                                               []event
}

// fakeAWS is SQS and CloudWatch Logs on loopback: it hands out the messages once each, takes log events by the rules of
// PutLogEvents, and refuses as told.
type fakeAWS struct {
	t      *testing.T
	mutex  sync.Mutex
	bodies []string
	refuse refusals
	events []event
	calls  []string // in their order but those of ReceiveMessage, of ChangeMessageVisibility with the seconds
}

func startAWS(t *testing.T, refuse refusals, bodies ...string) *fakeAWS {
	t.Helper()
	f := &fakeAWS{t: t, bodies: bodies, refuse: refuse}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true", "QUEUE_URL": server.URL + "/000000000000/orders", "LOG_GROUP_NAME": "/stampede/test",
	} {
		t.Setenv(name, value)
	}
	return f
}

func (f *fakeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var asked request
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return // a worker that was told to stop in the middle of a call
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch name {
	case receive:
	case hide:
		f.calls = append(f.calls, fmt.Sprintf("%s %d", name, asked.VisibilityTimeout))
	default:
		f.calls = append(f.calls, name)
	}
	code := ""
	if codes := f.refuse[name]; len(codes) > 0 {
		code = codes[0]
		if len(codes) == 1 || codes[1] != always {
			f.refuse[name] = codes[1:]
		}
	}
	answer := "{}"
	switch {
	case code == dropped:
		answer = `{"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": 0}}`
	case code == gone: // the code that the SDK gives is that of the older protocol, from the head
		recorded := recorded.Answer(f.t, "sqs-27").Answer
		w.Header().Set("X-Amzn-Query-Error", recorded.Code+";Sender")
		w.WriteHeader(recorded.Status)
		answer = fmt.Sprintf(`{"__type": "com.amazonaws.sqs#%s", "message": %q}`, recorded.QueryErrorCode, recorded.Message)
	case code != "" && code != lost:
		w.WriteHeader(400)
		answer = fmt.Sprintf(`{"__type": "%s", "message": "{\"injected\": 1}"}`, code)
	case name == receive:
		answer = f.receive(asked)
	case name == put:
		f.put(asked)
	case (name == hide || name == remove) && asked.ReceiptHandle == "":
		f.t.Errorf("%s without a receipt handle", name)
	}
	if code == lost {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write([]byte(answer))
}

func (f *fakeAWS) receive(asked request) string {
	if asked.MaxNumberOfMessages != 1 || asked.VisibilityTimeout != 60 || asked.WaitTimeSeconds < 1 || asked.WaitTimeSeconds > 20 {
		f.t.Errorf("receiving with %+v", asked)
	}
	if len(f.bodies) == 0 {
		f.mutex.Unlock()
		time.Sleep(20 * time.Millisecond) // a long poll of a test
		f.mutex.Lock()
		return "{}"
	}
	body := f.bodies[0]
	f.bodies = f.bodies[1:]
	return fmt.Sprintf(`{"Messages": [{"MessageId": "message-%d", "ReceiptHandle": "handle", "Body": %q, "Attributes": {"ApproximateReceiveCount": "2"}}]}`,
		len(f.events)+1, body)
}

func (f *fakeAWS) put(asked request) {
	bytes, lastMs := 0, int64(0)
	for _, event := range asked.LogEvents {
		bytes += len(event.Message) + 26
		if event.Timestamp < lastMs {
			f.t.Error("events out of the order of time")
		}
		lastMs = event.Timestamp
	}
	if bytes > 1<<20 || len(asked.LogEvents) > 10_000 || asked.LogGroupName != "/stampede/test" || strings.ContainsAny(asked.LogStreamName, ":*") {
		f.t.Errorf("%d bytes in %d events for %s in %s", bytes, len(asked.LogEvents), asked.LogStreamName, asked.LogGroupName)
	}
	f.events = append(f.events, asked.LogEvents...)
}

// seen returns the calls but those of ReceiveMessage, and the records in the log, as they are now.
func (f *fakeAWS) seen() (calls string, records []map[string]any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, event := range f.events {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(event.Message), &record); err != nil {
			f.t.Errorf("%v: %s", err, event.Message)
		}
		records = append(records, record)
	}
	return strings.Join(f.calls, ", "), records
}

func (f *fakeAWS) refuses(name string, codes ...string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.refuse[name] = codes
}

func (f *fakeAWS) count(call string) int {
	calls, _ := f.seen()
	return strings.Count(calls, call)
}
