package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"stampede/transfer/internal/sqsevent"
)

type call struct {
	QueueUrl, ReceiptHandle string
	VisibilityTimeout       int
}

// startSQS runs an SQS that answers with a status, after a pause, and returns what it is asked.
func startSQS(t *testing.T, status int, pause time.Duration) chan call {
	t.Helper()
	calls, ended := make(chan call, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked call
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.ChangeMessageVisibility" {
			t.Errorf("%v: %v", r.Header, err)
		}
		calls <- asked
		select {
		case <-time.After(pause):
		case <-ended:
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(func() { close(ended); server.Close() })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SQS": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return calls
}

// hasten asks SQS for a message that failed.
func hasten(attempt int64, queueARN, handle string, remaining time.Duration) error {
	message := sqsevent.Message{ID: "m", Attempt: attempt, ReceiptHandle: handle, QueueARN: queueARN}
	return (&Recorder{}).hasten(context.Background(), message, time.Now().Add(remaining))
}

const queueARN = "arn:aws:sqs:us-east-1:000000000000:stampede-queue"

func TestAFailedMessageComesBackAfterATimeThatDoublesUpTo32Seconds(t *testing.T) {
	calls := startSQS(t, 200, 0)
	for attempt, delay := range map[int64]int{1: 2, 2: 4, 5: 32, 999_999_999: 32} {
		err, want := hasten(attempt, queueARN, "handle", time.Minute), call{"https://sqs.us-east-1.amazonaws.com/000000000000/stampede-queue", "handle", delay}
		if err != nil || len(calls) != 1 || <-calls != want {
			t.Error(attempt, err)
		}
	}
	t.Setenv("AWS_REGION", "eusc-de-east-1")
	if err := hasten(1, queueARN, "handle", time.Minute); err != nil || (<-calls).QueueUrl != "https://sqs.eusc-de-east-1.amazonaws.eu/000000000000/stampede-queue" {
		t.Error(err)
	}
}

func TestACallThatFailsIsTriedOnceAndEndsSoon(t *testing.T) {
	for status, pause := range map[int]time.Duration{403: 0, 503: 0, 200: 10 * time.Second} {
		calls, began := startSQS(t, status, pause), time.Now()
		if err := hasten(1, queueARN, "handle", time.Minute); err == nil || len(calls) != 1 || time.Since(began) > 4*time.Second {
			t.Errorf("%d: %v after %v and %d calls", status, err, time.Since(began), len(calls))
		}
	}
}

func TestNothingIsAskedWithoutTimeOrWithoutKnowingWhatFor(t *testing.T) {
	calls := startSQS(t, 200, 0)
	for name, err := range map[string]error{
		"too late":          hasten(1, queueARN, "handle", 1900*time.Millisecond),
		"no receipt handle": hasten(1, queueARN, "", time.Minute),
		"not a queue":       hasten(1, "arn:aws:s3:::stampede-queue", "handle", time.Minute),
	} {
		if err != nil || len(calls) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
