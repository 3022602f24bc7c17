package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// obeying is an operation that takes every event with a "run_id" as an order, or fails for "seq" 1.
type obeying struct{}

func (o *obeying) Labels() *environment.Labels { return nil }

func (o *obeying) Invoked(event json.RawMessage) (string, bool) {
	return string(event), bytes.Contains(event, []byte("run_id"))
}

func (o *obeying) Do(_ context.Context, message sqsevent.Message, _ io.Writer, _ time.Time) (
	*workorder.Order, record.Outcome) {
	_, order := workorder.Open(message.Body)
	outcome := record.Outcome{TimeKey: "elapsed_seconds", ElapsedSeconds: 1.5}
	if order.Seq == 1 {
		outcome.Err = failure.New(failure.NoSuchKey, "it isn't there")
	}
	return &order, outcome
}

// invoke does what Lambda does. It returns the caller's answer, or type and text of the error, with
// {RECORD} in the place of the logged record, and the log.
func invoke(event string) (answer, logged string) {
	var log, compact bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	payload, err := lambda.NewHandler(New(&obeying{}, &log).Handle).Invoke(ctx, []byte(event))
	answer, logged = string(payload), strings.TrimSuffix(log.String(), "\n")
	if err != nil {
		told, _ := json.Marshal(err) // like the runtime
		var failed struct{ ErrorType, ErrorMessage string }
		_ = json.Unmarshal(told, &failed)
		answer = failed.ErrorType + ": " + failed.ErrorMessage + err.Error()
	}
	if json.Compact(&compact, []byte(logged)) == nil {
		forms := strings.NewReplacer(logged, "{RECORD}", compact.String(), "{RECORD}")
		answer = forms.Replace(answer)
	}
	return answer, logged
}

func TestAnEventIsAnsweredAndLeavesARecordThatFits(t *testing.T) {
	const order = `{"run_id": "direct <&>", "cell": "c", "seq": %SEQ%}`
	const sqs = `{"Records": [{"eventSource": "aws:sqs", "messageId": "m",
		"body": "{\"run_id\": \"r\", \"cell\": \"c\", \"seq\": %SEQ%}",
		"attributes": {"ApproximateReceiveCount": "3"}}]}`
	for _, c := range []struct{ event, seq, answer, record string }{
		{order, "0", "{RECORD}", `"run_id": "direct <&>", "cell": "c", "seq": 0, ` +
			`"message_id": null, "request_id": "request-1"`},
		{order, "1", "NoSuchKey: {RECORD}", `"error_type": "NoSuchKey"`},
		{sqs, "0", `{"batchItemFailures":[]}`,
			`"run_id": "r", "cell": "c", "seq": 0, "message_id": "m"`},
		{sqs, "1", `{"batchItemFailures":[{"itemIdentifier":"m"}]}`, `"attempt": 3`},
	} {
		answer, logged := invoke(strings.Replace(c.event, "%SEQ%", c.seq, 1))
		if !strings.HasPrefix(answer, c.answer) || !strings.Contains(logged, c.record) ||
			!strings.Contains(logged, `"cold_start": 1`) {
			t.Error(answer, logged)
		}
	}
	if NewRecorder(nil).id == NewRecorder(nil).id {
		t.Error("two sandboxes share an id")
	}
}

func TestAnEventThatTheOperationDoesntKnowIsAnErrorWithoutARecord(t *testing.T) {
	for _, event := range []string{`{"parallel_limit": "100"}`, `{"Records": []}`,
		`{"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}`,
		`{"Records": [{"eventSource": "aws:s3", "messageId": "m", "body": "",
			"attributes": {"ApproximateReceiveCount": "1"}}]}`} {
		answer, logged := invoke(event)
		if !strings.Contains(answer, "this function takes SQS events") || logged != "" {
			t.Error(answer, logged)
		}
	}
}
