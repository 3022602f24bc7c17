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
	type try struct {
		attempt       int64
		queue, handle string
		remaining     time.Duration
		status        int
		pause         time.Duration
		seconds       int // 0: it isn't asked
	}
	const queue = "arn:aws-eusc:sqs:eusc-de-east-1:000000000000:queue"
	for name, try := range map[string]try{
		"fifth":             {5, queue, "handle", time.Minute, 200, 0, 32},
		"late":              {999_999_999, queue, "handle", time.Minute, 200, 0, 32},
		"no answer":         {1, queue, "handle", time.Minute, 200, time.Minute, 2},
		"no time":           {1, queue, "handle", 1900 * time.Millisecond, 200, 0, 0},
		"no receipt handle": {1, queue, "", time.Minute, 200, 0, 0},
		"no queue":          {1, "arn:aws:s3:::queue", "handle", time.Minute, 200, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := make(chan call, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked call
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.ChangeMessageVisibility" {
					t.Errorf("%v: %v", r.Header, err)
				}
				calls <- asked
				select {
				case <-time.After(try.pause):
				case <-r.Context().Done():
				}
				w.WriteHeader(try.status)
				_, _ = w.Write([]byte("{}"))
			}))
			defer server.Close()
			for name, value := range map[string]string{
				"AWS_ENDPOINT_URL_SQS": server.URL, "AWS_REGION": "eusc-de-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
				"AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
			} {
				t.Setenv(name, value)
			}
			began, message := time.Now(), sqsevent.Message{ID: "m", Attempt: try.attempt, ReceiptHandle: try.handle, QueueARN: try.queue}
			err := (&Recorder{}).hasten(context.Background(), message, began.Add(try.remaining))
			if (err != nil) != (try.status != 200 || try.pause > 0) || time.Since(began) > 4*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			want := call{}
			if try.seconds > 0 {
				want = call{"https://sqs.eusc-de-east-1.amazonaws.eu/000000000000/queue", "handle", try.seconds}
			}
			if close(calls); <-calls != want || len(calls) > 0 {
				t.Error("SQS was asked for something else")
			}
		})
	}
}
