package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"stampede/transfer/internal/sqsevent"
)

type call struct {
	QueueUrl, ReceiptHandle string
	VisibilityTimeout       int
}

func TestAFailedMessagesDelayDoublesUpTo32SecondsAndSqsIsAskedOnlyOnce(t *testing.T) {
	const queue = "arn:aws-eusc:sqs:eusc-de-east-1:000000000000:queue"
	const url = "https://sqs.eusc-de-east-1.amazonaws.eu/000000000000/queue"
	calls, status := make(chan call, 10), atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked call
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if calls <- asked; status.Load() == 0 { // no answer
			<-r.Context().Done()
			return
		}
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SQS": server.URL, "AWS_REGION": "eusc-de-east-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	for _, try := range []struct {
		attempt       int64
		queue, handle string
		remaining     time.Duration
		status, s     int // status 0: no answer; s 0: SQS isn't asked
	}{
		{1, queue, "handle", time.Minute, 200, 2},
		{4, queue, "handle", time.Minute, 503, 16},
		{999_999_999, queue, "handle", time.Minute, 0, 32},
		{1, queue, "handle", 1900 * time.Millisecond, 200, 0},
		{1, queue, "", time.Minute, 200, 0},
		{1, "arn:aws:s3:::queue", "handle", time.Minute, 200, 0},
	} {
		status.Store(int64(try.status))
		began := time.Now()
		failed := sqsevent.Message{Attempt: try.attempt, QueueARN: try.queue,
			ReceiptHandle: try.handle}
		err := (&Recorder{}).hasten(context.Background(), failed, began.Add(try.remaining))
		if (err != nil) != (try.status != 200) || time.Since(began) > 4*time.Second ||
			len(calls) != min(1, try.s) || try.s > 0 && <-calls != (call{url, "handle", try.s}) {
			t.Error(try, err)
		}
	}
}
