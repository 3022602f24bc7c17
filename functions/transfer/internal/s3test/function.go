package s3test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"stampede/transfer/internal/s3test/agreed"
	"stampede/transfer/internal/sandbox"
)

// Isolate sets the AWS environment of a sandbox that reaches only this S3, with a temporary folder.
func Isolate(t *testing.T, url string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test",
		"AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_ENDPOINT_URL_S3": "", "AWS_CA_BUNDLE": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:9", // nobody listens; tested elsewhere
		"TMPDIR":               t.TempDir(),
	} {
		t.Setenv(name, value)
	}
}

// Lookup is an environment with changes ("NAME=value").
func Lookup(values map[string]string, changes ...string) func(string) string {
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// Function runs an operation like Lambda, and reads its records back.
type Function struct {
	*sandbox.Sandbox
	t          *testing.T
	experiment string
	log        bytes.Buffer
	Before     []string // lines logged before the last record
}

// NewFunction makes the function of an experiment.
func NewFunction(t *testing.T, experiment string, operation sandbox.Operation) *Function {
	f := &Function{t: t, experiment: experiment}
	f.Sandbox = sandbox.New(operation, &f.log)
	return f
}

// Invoke delivers one message and returns its record. The answer must name the message if and only
// if the record is an error.
func (f *Function) Invoke(body string, remaining ...time.Duration) map[string]any {
	f.t.Helper()
	event, _ := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId": "message-1", "body": body, "eventSource": "aws:sqs",
		"attributes": map[string]string{"ApproximateReceiveCount": "2"},
	}}})
	answer, err := f.Deliver(string(event), remaining...)
	lines := strings.Split(strings.TrimSuffix(f.log.String(), "\n"), "\n")
	f.Before = lines[:len(lines)-1]
	record := f.Record(lines[len(lines)-1])
	failed, ok := answer.(events.SQSEventResponse)
	if err != nil || !ok || (record["status"] == "error") != (len(failed.BatchItemFailures) == 1) {
		f.t.Fatal(answer, err, record)
	}
	return record
}

// Gives delivers one message, whose record must have these values, and returns the record.
func (f *Function) Gives(want map[string]any, body string,
	remaining ...time.Duration) map[string]any {
	f.t.Helper()
	record := f.Invoke(body, remaining...)
	Expect(f.t, record, want)
	return record
}

// Deliver invokes the function with any event.
func (f *Function) Deliver(event string, remaining ...time.Duration) (any, error) {
	f.log.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), append(remaining, time.Minute)[0])
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	return f.Handle(ctx, json.RawMessage(event))
}

// Record parses a line as a record with the agreed keys in order, and checks that nothing is left
// in the temporary folder.
func (f *Function) Record(line string) (record map[string]any) {
	f.t.Helper()
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		f.t.Fatal(err, line)
	}
	ExpectKeys(f.t, line, f.experiment, record["status"] == "error")
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		f.t.Error(left)
	}
	return record
}

// ExpectKeys compares the keys of a record with those of its experiment.
func ExpectKeys(t *testing.T, line, experiment string, isError bool) {
	t.Helper()
	var keys []string
	for _, match := range regexp.MustCompile(`"(\w+)": `).FindAllStringSubmatch(line, -1) {
		keys = append(keys, match[1])
	}
	if want := agreed.Keys(t, experiment, isError); !slices.Equal(keys, want) {
		t.Fatal(keys, want)
	}
}

// Expect compares some values of a record. Text needs only contain the value.
func Expect(t *testing.T, record, want map[string]any) {
	t.Helper()
	for key, value := range want {
		if number, isInt := value.(int); isInt {
			value = float64(number)
		}
		text, isText := value.(string)
		if isText && !strings.Contains(fmt.Sprint(record[key]), text) ||
			!isText && record[key] != value {
			t.Errorf("%s isn't %v in %v", key, value, record)
		}
	}
}

// Order is a work order with changes (`"name": value`; a name alone removes the key).
func Order(values map[string]string, changes ...string) string {
	values["run_id"], values["cell"], values["seq"] = `"run-1"`, `"c"`, "7"
	for _, change := range changes {
		name, value, _ := strings.Cut(change, ": ")
		values[strings.Trim(name, `"`)] = value
	}
	pairs := []string{}
	for name, value := range values {
		if value != "" {
			pairs = append(pairs, fmt.Sprintf("%q: %s", name, value))
		}
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}
