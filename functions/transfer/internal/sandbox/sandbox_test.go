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

func TestADirectInvocationIsAnsweredWithTheRecordThatIsLogged(t *testing.T) {
	answer, err, logged := invoke(`{"run_id": "direct <&>", "cell": "direct", "seq": 0}`)
	var record map[string]any
	if err != nil || json.Unmarshal([]byte(logged), &record) != nil || !reflect.DeepEqual(record, answer) {
		t.Fatal(err, answer, logged)
	}
	for key, value := range map[string]any{
		"run_id": "direct <&>", "status": "ok", "elapsed_seconds": 1.5, "message_id": nil, "request_id": "request-1", "attempt": 1.0, "cold_start": 1.0,
	} {
		if record[key] != value {
			t.Errorf("%s: %v", key, record[key])
		}
	}
}

func TestADirectInvocationThatFailsIsAnErrorOfTheFunctionAndARecord(t *testing.T) {
	_, err, logged := invoke(`{"run_id": "direct", "cell": "direct", "seq": 1}`)
	told, _ := json.Marshal(err) // as the runtime tells the caller
	var answer struct{ ErrorType, ErrorMessage string }
	_ = json.Unmarshal(told, &answer)
	if answer.ErrorType != "NoSuchKey" || answer.ErrorMessage+"\n" != logged || !strings.Contains(logged, `"status": "error"`) {
		t.Errorf("%s for %s", told, logged)
	}
}

func TestAnEventOfSqsIsNeverTakenForADirectInvocationNorOneThatTheOperationDoesntKnow(t *testing.T) {
	message := `{"eventSource": "aws:sqs", "messageId": "m", "body": "{\"run_id\": \"r\", \"cell\": \"c\", \"seq\": 0}", ` +
		`"attributes": {"ApproximateReceiveCount": "1"}}`
	answer, err, logged := invoke(`{"Records": [` + message + `]}`)
	if _, ok := answer["batchItemFailures"]; err != nil || !ok || !strings.Contains(logged, `"message_id": "m"`) {
		t.Error(answer, err, logged)
	}
	if _, err, logged = invoke(`{"parallel_limit": "100"}`); err == nil || !strings.HasPrefix(err.Error(), "this function takes SQS events") || logged != "" {
		t.Error(err, logged)
	}
}
