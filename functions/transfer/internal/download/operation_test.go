package download

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"stampede/transfer/internal/agreed"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/sandbox"
)

const (
	key = "folder/sample_large_file.dat"
	mib = 1 << 20
	// Four parts of 16 MiB, the smallest that the settings allow, and a bit.
	largeBytes = 64*mib + 1000
)

// function is a sandbox whose records can be read back. Its temporary files go to folder.
type function struct {
	*sandbox.Sandbox
	t      *testing.T
	log    bytes.Buffer
	folder string
}

func start(t *testing.T, changes ...string) *function {
	t.Helper()
	f := &function{t: t, folder: t.TempDir()}
	values := map[string]string{
		"CONCURRENCY_LIMIT": "5", "MEMORY_SIZE": "1024", "EXPERIMENT_TAG": "experiment 01", "BUCKET_NAME": s3test.Bucket, "FILE_NAME": key,
		"AWS_REGION": "us-east-1", "METHOD": "go_ranges", "SINK": "tmp", "RANGE_PARALLEL": "3", "RANGE_PART_MB": "16",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		values[name] = value
	}
	t.Setenv("TMPDIR", f.folder)
	made := New(context.Background(), func(name string) string { return values[name] })
	if opened := made.(*operation).bucket; opened != nil {
		opened.Retry.FirstPause = time.Millisecond
	}
	f.Sandbox = sandbox.New(made, &f.log)
	return f
}

// invoke delivers one message and returns its record; the answer must name the message exactly when the record is an error.
func (f *function) invoke(body string, remaining time.Duration) (map[string]any, []string) {
	f.t.Helper()
	f.log.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), remaining)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	event, _ := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId": "message-1", "body": body, "eventSource": "aws:sqs", "attributes": map[string]string{"ApproximateReceiveCount": "2"},
	}}})
	told, err := f.Handle(ctx, event)
	answer, ok := told.(events.SQSEventResponse)
	if err != nil || !ok {
		f.t.Fatal(told, err)
	}
	line := f.log.String()
	if strings.Count(line, "\n") != 1 {
		f.t.Fatalf("not one line: %q", line)
	}
	record, keys := map[string]any{}, []string{}
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		f.t.Fatalf("%v: %s", err, line)
	}
	for _, found := range regexp.MustCompile(`"(\w+)": `).FindAllStringSubmatch(line, -1) {
		keys = append(keys, found[1])
	}
	failed := record["status"] == "error"
	if failed != (len(answer.BatchItemFailures) == 1) {
		f.t.Fatalf("failed messages %v for %s", answer.BatchItemFailures, line)
	}
	if left, _ := os.ReadDir(f.folder); len(left) > 0 {
		f.t.Fatalf("left behind: %v", left)
	}
	return record, keys
}

func ordered(changes ...string) string {
	return `{"run_id": "run-1", "cell": "memory_size=1024,concurrency_value=5", "seq": 7` + strings.Join(append([]string{""}, changes...), ", ") + "}"
}

// expect checks some values of a record, numbers as they are printed.
func expect(t *testing.T, record map[string]any, pairs ...any) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := fmt.Sprint(record[pairs[i].(string)]); got != fmt.Sprint(pairs[i+1]) {
			t.Errorf("%s is %s, not %v: %v", pairs[i], got, pairs[i+1], record)
		}
	}
}

func TestEveryWayDownloadsEveryByteAndWritesAllKeysInOrder(t *testing.T) {
	body := s3test.Random(largeBytes)
	for _, variant := range []struct{ method, sink, requests string }{
		{"go_stream", "discard", "1"}, {"go_stream", "memory", "1"}, {"go_stream", "tmp", "1"},
		{"go_ranges", "discard", "5"}, {"go_ranges", "memory", "5"}, {"go_ranges", "tmp", "5"},
	} {
		t.Run(variant.method+" to "+variant.sink, func(t *testing.T) {
			s3test.Start(t, key, body)
			checksum := fmt.Sprintf(`"checksum": "crc32:%08x"`, crc32.ChecksumIEEE(body))
			record, keys := start(t, "METHOD="+variant.method, "SINK="+variant.sink).
				invoke(ordered(fmt.Sprintf(`"object_bytes": %d, "warm_up": 1`, largeBytes), checksum), time.Minute)
			if !slices.Equal(keys, agreed.Keys(t, "download", false)) {
				t.Errorf("keys %v", keys)
			}
			expect(t, record, "status", "ok", "bytes", float64(largeBytes), "method", variant.method, "sink", variant.sink, "requests", variant.requests,
				"retries", 0, "retry_mode", "standard", "retry_attempts", 4, "sdk", bucket.SDK, "cold_start", 1, "attempt", 2, "seq", 7, "warm_up", 1, "request_id", "request-1")
			if first := record["first_byte_seconds"].(float64); first <= 0 || first > record["download_time_seconds"].(float64) {
				t.Errorf("first byte after %v s", first)
			}
			if record["client_cpu_seconds"].(float64) <= 0 {
				t.Error("no CPU time")
			}
		})
	}
}

func TestOverTLSEveryByteArrivesAlsoAfterACut(t *testing.T) {
	body := s3test.Random(20*mib + 17)
	server := s3test.StartTLS(t, key, body)
	for _, variant := range []string{"go_stream tmp", "go_stream discard", "go_ranges tmp", "go_ranges memory"} {
		server.Cuts = 2
		method, sink, _ := strings.Cut(variant, " ")
		record, _ := start(t, "METHOD="+method, "SINK="+sink).
			invoke(ordered(fmt.Sprintf(`"checksum": "crc32:%08x"`, crc32.ChecksumIEEE(body))), time.Minute)
		expect(t, record, "status", "ok", "bytes", float64(len(body)), "retries", 2)
	}
}

func TestAServerWhoseCertificateNobodySignedIsRefused(t *testing.T) {
	server := s3test.StartTLS(t, key, s3test.Random(1000))
	t.Setenv("AWS_CA_BUNDLE", "")
	record, _ := start(t).invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "NoConnection", "bytes", 0)
	if !strings.Contains(record["error_message"].(string), "certificate") || len(server.Requests()) > 0 {
		t.Error(record)
	}
}

func TestAWrongChecksumIsAnErrorForEverySink(t *testing.T) {
	s3test.Start(t, key, s3test.Random(mib))
	for _, sink := range []string{"discard", "memory", "tmp"} {
		for _, checksum := range []string{"crc32:00000000", "sha256:" + strings.Repeat("0", 64)} {
			record, _ := start(t, "METHOD=go_stream", "SINK="+sink).invoke(ordered(`"checksum": "`+checksum+`"`), time.Minute)
			expect(t, record, "error_type", "ChecksumMismatch")
		}
	}
}

func TestFaultsThatPassAreRetriedAndCounted(t *testing.T) {
	for name, fault := range map[string]func(*s3test.Server){
		"a 503":                      func(s *s3test.Server) { s.SlowDowns = 2 },
		"a cut body":                 func(s *s3test.Server) { s.Cuts = 2 },
		"a connection that is reset": func(s *s3test.Server) { s.Resets = 2 },
	} {
		for _, variant := range []string{"go_stream tmp", "go_stream memory", "go_ranges tmp", "go_ranges discard"} {
			t.Run(name+", "+variant, func(t *testing.T) {
				body := s3test.Random(20 * mib)
				server := s3test.Start(t, key, body)
				fault(server)
				method, sink, _ := strings.Cut(variant, " ")
				record, _ := start(t, "METHOD="+method, "SINK="+sink).
					invoke(ordered(fmt.Sprintf(`"checksum": "crc32:%08x"`, crc32.ChecksumIEEE(body))), time.Minute)
				expect(t, record, "status", "ok", "bytes", float64(len(body)), "retries", 2, "requests", len(server.Requests()))
			})
		}
	}
}

func TestABodyThatIsCutAgainAndAgainArrivesAsLongAsEachTryBringsItOn(t *testing.T) {
	body := s3test.Random(64 * mib)
	server := s3test.Start(t, key, body)
	server.Cuts = 6 // after 32, 48, 56, 60, 62 and 63 MiB, more than a request is tried
	record, _ := start(t, "METHOD=go_stream", "SINK=discard").
		invoke(ordered(fmt.Sprintf(`"checksum": "crc32:%08x"`, crc32.ChecksumIEEE(body))), time.Minute)
	expect(t, record, "status", "ok", "bytes", float64(len(body)), "retries", 6)
}

func TestTheFirstByteIsThatOfTheAnswerAndNotOfABodyThatComesLater(t *testing.T) {
	server := s3test.Start(t, key, []byte("x"))
	server.Stall(500 * time.Millisecond) // after the head, before the one byte
	record, _ := start(t, "METHOD=go_stream", "SINK=memory").invoke(ordered(), time.Minute)
	if first := record["first_byte_seconds"].(float64); first >= 0.5 || record["download_time_seconds"].(float64) < 0.5 {
		t.Error(record)
	}
}

func TestEveryFailureIsARecordWithItsWord(t *testing.T) {
	for _, wrong := range []struct {
		name, word string
		fault      func(*s3test.Server)
		requests   int
	}{
		{"503 for ever", "SlowDown", func(s *s3test.Server) { s.SlowDowns = 100 }, 4},
		{"500 for ever", "S3Error", func(s *s3test.Server) { s.Status = 500 }, 4},
		{"bodies always cut", "ConnectionCut", func(s *s3test.Server) { s.Cuts = 100 }, 4},
		{"403", "AccessDenied", func(s *s3test.Server) { s.Status = 403 }, 1},
		{"404", "NoSuchKey", func(s *s3test.Server) { s.Status = 404 }, 1},
		{"400", "S3Error", func(s *s3test.Server) { s.Status = 400 }, 1},
		{"replaced", "ObjectChanged", func(s *s3test.Server) { s.ReplaceAfter, s.Cuts = 1, 1 }, 2},
		{"replaced unseen", "ObjectChanged", func(s *s3test.Server) { s.ReplaceAfter, s.Cuts, s.IgnoreMatch = 1, 1, true }, 2},
		{"another size than ordered", "SizeMismatch", func(s *s3test.Server) { s.Put(key, s3test.Random(mib-1)) }, 1},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			server := s3test.Start(t, key, s3test.Random(mib))
			wrong.fault(server)
			record, keys := start(t).invoke(ordered(fmt.Sprintf(`"object_bytes": %d`, mib)), time.Minute)
			expect(t, record, "error_type", wrong.word, "requests", wrong.requests)
			if !slices.Equal(keys, agreed.Keys(t, "download", true)) {
				t.Errorf("keys %v", keys)
			}
		})
	}
}

func TestAnObjectReplacedBetweenTheRangesIsAnErrorAndNotAMix(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(largeBytes))
	server.ReplaceAfter = 2
	record, _ := start(t).invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "ObjectChanged")
}

func TestAServerThatGivesOtherRangesThanAskedForIsRefused(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(20*mib))
	server.IgnoreRange = true
	record, _ := start(t).invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "S3Error")
	server.IgnoreRange, server.ShiftRanges = false, 1
	record, _ = start(t).invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "SizeMismatch")
}

func TestAnEmptyObjectIsADownloadOfNoBytes(t *testing.T) {
	s3test.Start(t, key, nil)
	for _, sink := range []string{"discard", "memory", "tmp"} {
		record, _ := start(t, "SINK="+sink).invoke(ordered(`"object_bytes": 0`), time.Minute)
		expect(t, record, "status", "ok", "bytes", 0, "requests", 2)
	}
}

func TestADownloadThatWouldOutlastTheFunctionIsStoppedWithARecord(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(2*mib))
	server.Stall(time.Minute)
	for _, sink := range []string{"tmp", "discard"} {
		f := start(t, "SINK="+sink)
		began := time.Now()
		record, _ := f.invoke(ordered(), 3500*time.Millisecond)
		if took := time.Since(began); took < 400*time.Millisecond || took > 2*time.Second {
			t.Errorf("stopped after %v", took)
		}
		expect(t, record, "error_type", "DeadlineExceeded", "bytes", float64(mib), "retries", 0)
		server.Stall(0)
		record, _ = f.invoke(ordered(), time.Minute)
		expect(t, record, "status", "ok", "cold_start", 0)
		server.Stall(time.Minute)
	}
}

func TestTooLittleTimeToBeginIsARecordWithoutARequest(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(mib))
	record, _ := start(t).invoke(ordered(), 2*time.Second)
	expect(t, record, "error_type", "DeadlineExceeded", "requests", 0)
	record, _ = start(t).invoke(ordered(fmt.Sprintf(`"start_at_ms": %d`, time.Now().Add(time.Minute).UnixMilli())), 10*time.Second)
	expect(t, record, "error_type", "StartTooLate")
	if len(server.Requests()) > 0 {
		t.Error("asked all the same")
	}
}

func TestACommonStartIsWaitedForOutsideTheTimedPart(t *testing.T) {
	s3test.Start(t, key, s3test.Random(1000))
	at := time.Now().Add(400 * time.Millisecond).UnixMilli()
	record, _ := start(t).invoke(ordered(fmt.Sprintf(`"start_at_ms": %d`, at)), time.Minute)
	if started := int64(record["started_at_ms"].(float64)); started < at || started > at+300 {
		t.Errorf("started %d ms after the common start", started-at)
	}
}

func TestWrongSettingsBecomeRecordsThatNameThem(t *testing.T) {
	s3test.Start(t, key, nil)
	for _, change := range []string{"MEMORY_SIZE=", "METHOD=download_file", "SINK=disk", "RANGE_PARALLEL=0", "RANGE_PART_MB=8"} {
		record, _ := start(t, change).invoke(ordered(), time.Minute)
		name, _, _ := strings.Cut(change, "=")
		expect(t, record, "error_type", "SettingsError", "memory_size", nil, "method", nil, "sink", nil, "retry_mode", nil,
			"retry_attempts", nil, "sdk", nil, "run_id", "run-1")
		if !strings.Contains(record["error_message"].(string), name) {
			t.Errorf("%v doesn't name %s", record["error_message"], name)
		}
	}
}

func TestABodyThatIsNoWorkOrderIsARecord(t *testing.T) {
	s3test.Start(t, key, nil)
	for body, key := range map[string]string{
		"hello": "JSON", ordered(`"speed": 1`): "known are run_id, cell, seq, start_at_ms, round, object_bytes, warm_up, checksum",
		ordered(`"object_bytes": -1`): "object_bytes", ordered(`"warm_up": 2`): "warm_up", ordered(`"checksum": "md5:00"`): "checksum",
	} {
		record, _ := start(t).invoke(body, time.Minute)
		expect(t, record, "error_type", "WorkOrderError", "run_id", nil, "seq", nil, "memory_size", 1024, "warm_up", 0, "retry_mode", "standard")
		if !strings.Contains(record["error_message"].(string), key) {
			t.Errorf("%s: %v", body, record["error_message"])
		}
	}
}

func TestAnObjectLargerThanTheFunctionsMemoryIsRefused(t *testing.T) {
	s3test.Start(t, key, s3test.Random(65*mib))
	record, _ := start(t, "SINK=memory", "MEMORY_SIZE=128").invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "NoMemory", "bytes", 0)
}

func TestNobodyListeningAndNoCredentialsAreRecords(t *testing.T) {
	server := s3test.Start(t, key, nil)
	free, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = free.Close()
	t.Setenv("AWS_ENDPOINT_URL", "http://"+free.Addr().String())
	record, _ := start(t).invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "NoConnection", "retries", 3)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	record, _ = start(t).invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "NoCredentials", "requests", 0)
}

func TestATemporaryFolderThatIsGoneIsARecord(t *testing.T) {
	s3test.Start(t, key, nil)
	f := start(t)
	t.Setenv("TMPDIR", f.folder+"/gone")
	record, _ := f.invoke(ordered(), time.Minute)
	expect(t, record, "error_type", "FileError")
}

func TestAWarmSandboxUsesItsConnectionAgainAndReplacesOneThatS3Closed(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(1000))
	f := start(t)
	first, _ := f.invoke(ordered(), time.Minute)
	second, _ := f.invoke(ordered(), time.Minute)
	server.Resets = 1
	third, _ := f.invoke(ordered(), time.Minute)
	expect(t, third, "status", "ok", "retries", 0)
	requests := server.Requests()
	if requests[0].RemoteAddr != requests[1].RemoteAddr || requests[2].RemoteAddr == requests[3].RemoteAddr {
		t.Error("connections aren't kept, or not replaced")
	}
	if first["sandbox_id"] != second["sandbox_id"] {
		t.Error("the sandbox changed its id")
	}
	expect(t, first, "cold_start", 1)
	expect(t, second, "cold_start", 0)
}

func TestAnEventThatIsNotOneOfSQSFails(t *testing.T) {
	s3test.Start(t, key, nil)
	f := start(t)
	for _, event := range []string{`{}`, `{"parallel_limit": 1}`, `{"Records": []}`, `{"Records": [{}]}`, `[]`, `{"Records": [{"eventSource": "aws:sqs", "messageId": "m"}]}`,
		`{"Records": [{"eventSource": "aws:sqs", "messageId": "m", "body": "b", "attributes": {"ApproximateReceiveCount": "x"}}]}`} {
		if _, err := f.Handle(context.Background(), json.RawMessage(event)); err == nil || !strings.HasPrefix(err.Error(), "this function takes SQS events") {
			t.Errorf("%s: %v", event, err)
		}
	}
	if f.log.Len() > 0 {
		t.Errorf("a record: %s", f.log.String())
	}
}
