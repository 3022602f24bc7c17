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

func TestAFailedMessageComesBackAfterATimeThatDoublesUpTo32SecondsAndSqsIsAskedOnceAndNotForLong(t *testing.T) {
	const queue, url = "arn:aws-eusc:sqs:eusc-de-east-1:000000000000:queue", "https://sqs.eusc-de-east-1.amazonaws.eu/000000000000/queue"
	calls, answer := make(chan call, 10), make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked call
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.ChangeMessageVisibility" {
			t.Errorf("%v: %v", r.Header, err)
		}
		calls <- asked
		select {
		case status := <-answer:
			w.WriteHeader(status)
			_, _ = w.Write([]byte("{}"))
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SQS": server.URL, "AWS_REGION": "eusc-de-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	for _, try := range []struct {
		message   sqsevent.Message
		remaining time.Duration
		status    int // 0: no answer
		want      call
	}{
		{sqsevent.Message{Attempt: 1, QueueARN: queue, ReceiptHandle: "handle"}, time.Minute, 200, call{url, "handle", 2}},
		{sqsevent.Message{Attempt: 4, QueueARN: queue, ReceiptHandle: "handle"}, time.Minute, 503, call{url, "handle", 16}},
		{sqsevent.Message{Attempt: 999_999_999, QueueARN: queue, ReceiptHandle: "handle"}, time.Minute, 0, call{url, "handle", 32}},
		{sqsevent.Message{Attempt: 1, QueueARN: queue, ReceiptHandle: "handle"}, 1900 * time.Millisecond, 200, call{}},
		{sqsevent.Message{Attempt: 1, QueueARN: queue}, time.Minute, 200, call{}},
		{sqsevent.Message{Attempt: 1, QueueARN: "arn:aws:s3:::queue", ReceiptHandle: "handle"}, time.Minute, 200, call{}},
	} {
		isAsked := try.want != (call{})
		if isAsked && try.status > 0 {
			answer <- try.status
		}
		began := time.Now()
		err := (&Recorder{}).hasten(context.Background(), try.message, began.Add(try.remaining))
		if (err != nil) != (try.status != 200) || time.Since(began) > 4*time.Second {
			t.Errorf("%+v: %v after %v", try, err, time.Since(began))
		}
		if len(calls) > 1 || isAsked != (len(calls) == 1) || isAsked && <-calls != try.want {
			t.Errorf("%+v: SQS was asked for something else", try)
		}
	}
}
