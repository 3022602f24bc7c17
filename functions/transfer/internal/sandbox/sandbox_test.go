package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/workorder"
)

// obeying is an operation that takes every event with a "run_id" as an order; it fails where "seq" is 1.
type obeying struct{}

func (o *obeying) Labels() *environment.Labels { return nil }

func (o *obeying) Invoked(event json.RawMessage) (string, bool) {
	return string(event), bytes.Contains(event, []byte("run_id"))
}

func (o *obeying) Do(_ context.Context, body string, _ time.Time) (*workorder.Order, record.Outcome) {
	_, order := workorder.Open(body)
	outcome := record.Outcome{TimeKey: "elapsed_seconds", ElapsedSeconds: 1.5}
	if order.Seq == 1 {
		outcome.Err = failure.New(failure.NoSuchKey, "it isn't there")
	}
	return &order, outcome
}

// invoke is what Lambda does: it returns the answer or the error as the caller gets it, and what was logged.
func invoke(event string) (answer map[string]any, err error, logged string) {
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"}), time.Minute)
	defer cancel()
	payload, err := lambda.NewHandler(New(&obeying{}, &log).Handle).Invoke(ctx, []byte(event))
	if err == nil {
		err = json.Unmarshal(payload, &answer)
	}
	return answer, err, log.String()
}

func TestAnEventIsAnsweredAndLeavesARecordThatFits(t *testing.T) {
	const order, sqs = `{"run_id": "direct <&>", "cell": "c", "seq": %SEQ%}`, `{"Records": [{"eventSource": "aws:sqs", "messageId": "m", ` +
		`"body": "{\"run_id\": \"r\", \"cell\": \"c\", \"seq\": %SEQ%}", "attributes": {"ApproximateReceiveCount": "3"}}]}`
	for event, want := range map[string]map[string]any{
		order: {"run_id": "direct <&>", "message_id": nil, "attempt": 1.0}, sqs: {"run_id": "r", "message_id": "m", "attempt": 3.0},
	} {
		for seq, status := range map[string]string{"0": "ok", "1": "error"} {
			answer, err, logged := invoke(strings.Replace(event, "%SEQ%", seq, 1))
			var record map[string]any
			if json.Unmarshal([]byte(logged), &record) != nil || record["status"] != status || record["request_id"] != "request-1" || record["cold_start"] != 1.0 {
				t.Fatal(answer, err, logged)
			}
			for key, value := range want {
				if record[key] != value {
					t.Errorf("%s: %v", key, record[key])
				}
			}
			told, _ := json.Marshal(err) // as the runtime tells the caller
			var failed struct{ ErrorType, ErrorMessage string }
			_ = json.Unmarshal(told, &failed)
			failures, _ := answer["batchItemFailures"].([]any)
			switch {
			case event == sqs: // the failed messages, and no others
				if err != nil || failures == nil || len(failures) != len(status)/len("error") {
					t.Error(answer, err)
				}
			case status == "ok": // the record itself
				if err != nil || !reflect.DeepEqual(record, answer) {
					t.Error(answer, err)
				}
			case failed.ErrorType != "NoSuchKey" || failed.ErrorMessage+"\n" != logged:
				t.Errorf("%s for %s", told, logged)
			}
		}
	}
}

func TestAnEventThatTheOperationDoesntKnowIsAnErrorWithoutARecord(t *testing.T) {
	for _, event := range []string{`{"parallel_limit": "100"}`, `{"Records": []}`, `{"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}`,
		`{"Records": [{"eventSource": "aws:s3", "messageId": "m", "body": "", "attributes": {"ApproximateReceiveCount": "1"}}]}`} {
		if _, err, logged := invoke(event); err == nil || !strings.HasPrefix(err.Error(), "this function takes SQS events") || logged != "" {
			t.Error(err, logged)
		}
	}
}
