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
)

const (
	receive = "ReceiveMessage"
	hide    = "ChangeMessageVisibility"
	remove  = "DeleteMessage"
	create  = "CreateLogStream"
	put     = "PutLogEvents"
)

// fakeAWS is SQS and CloudWatch Logs on loopback: it hands out the messages once each, takes log events by the rules of
// PutLogEvents, and refuses as told.
type fakeAWS struct {
	t       *testing.T
	mutex   sync.Mutex
	bodies  []string
	refuse  map[string][]string // codes that a call is refused with, one after the other; the last one "*" repeats for ever
	drop    int                 // answers of PutLogEvents that say that the events were dropped
	lose    int                 // answers of PutLogEvents that don't arrive, though the events were taken
	lines   []string
	times   []int64  // of the lines
	calls   []string // in their order, of ChangeMessageVisibility with the seconds
	batches []int    // events of each PutLogEvents
	lastMs  int64
}

type asked struct {
	WaitTimeSeconds, VisibilityTimeout, MaxNumberOfMessages int
	ReceiptHandle, LogGroupName, LogStreamName              string
	MessageSystemAttributeNames                             []string
	LogEvents                                               []struct {
		Message   string
		Timestamp int64
	}
}

func startAWS(t *testing.T, bodies ...string) *fakeAWS {
	t.Helper()
	f := &fakeAWS{t: t, bodies: bodies, refuse: map[string][]string{}}
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
	var given asked
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
		return // a worker that was told to stop in the middle of a call
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if name == hide {
		f.calls = append(f.calls, fmt.Sprintf("%s %d", name, given.VisibilityTimeout))
	} else if name != receive {
		f.calls = append(f.calls, name)
	}
	if codes := f.refuse[name]; len(codes) > 0 {
		if len(codes) == 1 || codes[1] != "*" {
			f.refuse[name] = codes[1:]
		}
		w.WriteHeader(400)
		_, _ = fmt.Fprintf(w, `{"__type": "%s", "message": "{\"injected\": 1}"}`, codes[0])
		return
	}
	switch name {
	case receive:
		f.receive(w, given)
	case put:
		f.put(w, given)
	case hide, remove:
		if given.ReceiptHandle == "" {
			f.t.Errorf("%s without a receipt handle", name)
		}
		_, _ = w.Write([]byte("{}"))
	case create:
		_, _ = w.Write([]byte("{}"))
	default:
		f.t.Errorf("asked for %s", name)
	}
}

func (f *fakeAWS) receive(w http.ResponseWriter, given asked) {
	if given.MaxNumberOfMessages != 1 || given.VisibilityTimeout != 60 || given.WaitTimeSeconds < 1 || given.WaitTimeSeconds > 20 {
		f.t.Errorf("receiving with %+v", given)
	}
	if len(f.bodies) == 0 {
		f.mutex.Unlock()
		time.Sleep(20 * time.Millisecond) // a long poll of a test
		f.mutex.Lock()
		_, _ = w.Write([]byte("{}"))
		return
	}
	number := len(f.lines) + 1
	answer, _ := json.Marshal(map[string]any{"Messages": []any{map[string]any{
		"MessageId": fmt.Sprintf("message-%d", number), "ReceiptHandle": fmt.Sprintf("handle-%d", number), "Body": f.bodies[0],
		"Attributes": map[string]string{"ApproximateReceiveCount": "2"},
	}}})
	f.bodies = f.bodies[1:]
	_, _ = w.Write(answer)
}

func (f *fakeAWS) put(w http.ResponseWriter, given asked) {
	bytes := 0
	for _, event := range given.LogEvents {
		bytes += len(event.Message) + 26
		if event.Timestamp < f.lastMs {
			f.t.Error("events out of the order of time")
		}
		f.lastMs = event.Timestamp
	}
	if bytes > 1<<20 || len(given.LogEvents) > 10_000 || given.LogGroupName != "/stampede/test" || strings.ContainsAny(given.LogStreamName, ":*") {
		f.t.Errorf("%d bytes in %d events for %s in %s", bytes, len(given.LogEvents), given.LogStreamName, given.LogGroupName)
	}
	if f.drop > 0 {
		f.drop--
		_, _ = w.Write([]byte(`{"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": 0}}`))
		return
	}
	f.batches = append(f.batches, len(given.LogEvents))
	for _, event := range given.LogEvents {
		f.lines, f.times = append(f.lines, event.Message), append(f.times, event.Timestamp)
	}
	if f.lose > 0 {
		f.lose--
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write([]byte("{}"))
}

// seen returns the calls but those of ReceiveMessage, and the records in the log, as they are now.
func (f *fakeAWS) seen() (calls string, records []map[string]any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, line := range f.lines {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			f.t.Errorf("%v: %s", err, line)
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
