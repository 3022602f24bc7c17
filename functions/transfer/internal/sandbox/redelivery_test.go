package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"stampede/transfer/internal/sqsevent"
)

const arn = "arn:aws:sqs:us-east-1:000000000000:stampede-queue"

type call struct {
	QueueUrl, ReceiptHandle string
	VisibilityTimeout       int
}

// start runs an SQS that answers with a status, after a pause, and returns what tells what it was asked so far.
func start(t *testing.T, status int, pause time.Duration) func() []call {
	t.Helper()
	var mutex sync.Mutex
	calls, ended := []call{}, make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var one call
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.ChangeMessageVisibility" {
			t.Errorf("%v: %v", r.Header, err)
		}
		mutex.Lock()
		calls = append(calls, one)
		mutex.Unlock()
		select {
		case <-time.After(pause):
		case <-ended:
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(func() { close(ended); server.Close() })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ENDPOINT_URL_SQS": server.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return func() []call {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(calls)
	}
}

func failed(attempt int64) sqsevent.Message {
	return sqsevent.Message{ID: "m", Attempt: attempt, ReceiptHandle: "handle", QueueARN: arn}
}

func TestAFailedMessageComesBackAfterATimeThatDoublesUpTo32Seconds(t *testing.T) {
	calls := start(t, 200, 0)
	r, want := Recorder{}, []call{}
	for attempt, delay := range map[int64]int{1: 2, 2: 4, 3: 8, 4: 16, 5: 32, 6: 32, 999_999_999: 32} {
		if err := r.hasten(context.Background(), failed(attempt), time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		want = append(want, call{"https://sqs.us-east-1.amazonaws.com/000000000000/stampede-queue", "handle", delay})
	}
	if got := calls(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestTheQueueOfEveryPartitionIsNamedByItsOwnHost(t *testing.T) {
	calls := start(t, 200, 0)
	message := failed(1)
	message.QueueARN = "arn:aws-eusc:sqs:eusc-de-east-1:123456789012:q"
	if err := (&Recorder{}).hasten(context.Background(), message, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := calls()[0].QueueUrl; got != "https://sqs.eusc-de-east-1.amazonaws.eu/123456789012/q" {
		t.Error(got)
	}
}

func TestACallThatFailsIsTriedOnceAndEndsSoon(t *testing.T) {
	for name, wrong := range map[string]struct {
		status int
		pause  time.Duration
	}{"refused": {403, 0}, "throttled": {503, 0}, "a defect": {500, 0}, "silence": {200, 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			calls := start(t, wrong.status, wrong.pause)
			began := time.Now()
			err := (&Recorder{}).hasten(context.Background(), failed(1), time.Now().Add(time.Minute))
			if took := time.Since(began); err == nil || len(calls()) != 1 || took > 4*time.Second {
				t.Errorf("%v after %v and %d calls", err, took, len(calls()))
			}
		})
	}
}

func TestNothingIsAskedWithoutTimeOrWithoutKnowingWhatFor(t *testing.T) {
	calls := start(t, 200, 0)
	for name, change := range map[string]func(*sqsevent.Message, *time.Time){
		"too late":            func(_ *sqsevent.Message, deadline *time.Time) { *deadline = time.Now().Add(1900 * time.Millisecond) },
		"no receipt handle":   func(m *sqsevent.Message, _ *time.Time) { m.ReceiptHandle = "" },
		"no queue":            func(m *sqsevent.Message, _ *time.Time) { m.QueueARN = "" },
		"not a queue":         func(m *sqsevent.Message, _ *time.Time) { m.QueueARN = "arn:aws:s3:::stampede-queue" },
		"more than a queue":   func(m *sqsevent.Message, _ *time.Time) { m.QueueARN += "/other" },
		"not a region at all": func(m *sqsevent.Message, _ *time.Time) { m.QueueARN = "arn:aws:sqs:evil.example.com#:000000000000:q" },
	} {
		message, deadline := failed(1), time.Now().Add(time.Minute)
		change(&message, &deadline)
		if err := (&Recorder{}).hasten(context.Background(), message, deadline); err != nil || len(calls()) > 0 {
			t.Errorf("%s: %v, %v", name, err, calls())
		}
	}
}
