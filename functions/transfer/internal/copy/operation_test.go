package copy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
)

const from, to = "source-bucket", "destination-bucket"

// function is a sandbox whose log can be read back.
type function struct {
	*sandbox.Sandbox
	*operation
	t          *testing.T
	experiment string
	log        bytes.Buffer
}

// start makes the function of an environment with changes ("NAME=value"). Pauses before retries are short.
func start(t *testing.T, changes ...string) *function {
	t.Helper()
	values := map[string]string{
		"EXPERIMENT": "copy", "CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "512", "EXPERIMENT_TAG": "experiment 01", "AWS_REGION": "us-east-1",
		"BUCKET_NAME": from, "SOURCE_PREFIX": "source/", "DESTINATION_BUCKET_NAME": to, "OBJECT_COUNT": "1000", "KEY_ORDER": "none",
		"INSTANCE_TYPE": "m5a.8xlarge",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		values[name] = value
	}
	made := New(context.Background(), func(name string) string { return values[name] })
	o := made.(*operation)
	if o.wrong == nil {
		o.route.from.Retry.FirstPause, o.route.to.Retry.FirstPause = time.Millisecond, time.Millisecond
	}
	f := &function{t: t, operation: o, experiment: values["EXPERIMENT"]}
	f.Sandbox = sandbox.New(made, &f.log)
	return f
}

type failedObject struct {
	Slice, Line                                    *int64
	Source, Destination, Error_type, Error_message string
}

// invoke delivers one message for the second time, and returns its record and the failed objects of the lines before.
func (f *function) invoke(body string, remaining ...time.Duration) (map[string]any, []failedObject) {
	f.t.Helper()
	f.log.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), append(remaining, time.Minute)[0])
	defer cancel()
	event, _ := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId": "message-1", "body": body, "eventSource": "aws:sqs", "attributes": map[string]string{"ApproximateReceiveCount": "2"},
	}}})
	if _, err := f.Handle(ctx, event); err != nil {
		f.t.Fatal(err)
	}
	lines, failed := strings.Split(strings.TrimSuffix(f.log.String(), "\n"), "\n"), []failedObject{}
	for _, line := range lines[:len(lines)-1] {
		var read struct{ Failed_objects []failedObject }
		err := json.Unmarshal([]byte(line), &read)
		identified := strings.HasPrefix(line, `{"run_id": "run-1", "cell": "c", "seq": 7, "attempt": 2, "failed_objects": [{"slice": `)
		if err != nil || !identified || len(line) > longestLogLine {
			f.t.Fatalf("%v: %.300s", err, line)
		}
		failed = append(failed, read.Failed_objects...)
	}
	return s3test.NewFunction(f.t, f.experiment, f.operation).Record(lines[len(lines)-1]), failed
}

// ordered is a work order of some parallel calls, and what else it says.
func ordered(parallel int, changes ...string) string {
	return fmt.Sprintf(`{"run_id": "run-1", "cell": "c", "seq": 7, "parallel_limit": %d`, parallel) + strings.Join(append([]string{""}, changes...), ", ") + "}"
}

// ofSlices are those of a manifest in slices.
func ofSlices(first, number int) string {
	return fmt.Sprintf(`"manifest": "manifest/m/", "first_slice": %d, "slices": %d`, first, number)
}

// fill puts n objects of some bytes below source/.
func fill(store *s3test.Store, n, bytes int) {
	for i := range n {
		store.Put(from, fmt.Sprintf("source/%d.mp4", i+1), s3test.Stored{Body: s3test.Random(bytes)})
	}
}

// slice puts one slice of a manifest.
func slice(store *s3test.Store, number int, rows ...string) {
	store.Put(from, fmt.Sprintf("manifest/m/%06d.csv", number), s3test.Stored{Body: []byte(strings.Join(rows, "\n") + "\n")})
}

// many are so many rows of one source.
func many(n int, source string) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf("%s,copies/%d", source, i))
	}
	return rows
}

func TestTheDestinationIsEmptiedAndEveryObjectBelowThePrefixCopied(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	store.PageKeys = 300
	fill(store, 700, 10)
	store.Put(from, "source/", s3test.Stored{})
	store.Put(from, "other/1", s3test.Stored{})
	for i := range 2345 {
		store.Put(to, fmt.Sprintf("old/%d & <é>+%%\r", i), s3test.Stored{})
	}
	f := start(t)
	record, failed := f.invoke(ordered(50, `"empty_first": 1`))
	s3test.Expect(t, record, map[string]any{
		"status": "ok", "concurrency_limit": 1, "memory_size": 512, "method": "copy_object", "bytes": 7000, "warm_up": 0, "parallel_limit": 50,
		"pace": "fixed", "calls_per_s_cap": nil, "object_count": 1000, "key_order": "none", "planned": 700, "copied": 700, "already_there": 0,
		"failed": 0, "calls": 700, "slowdowns": 0, "retries": 0, "emptied": 2345, "first_slice": nil, "slices": nil, "retry_mode": "standard",
		"retry_attempts": 4, "sdk": "none", "experiment": "copy", "requests": float64(store.Requests.Load()),
	})
	if keys := store.Keys(to); len(keys) != 700 || keys[0] != "1.mp4" || len(failed) != 0 {
		t.Errorf("%d keys, %v", len(keys), failed)
	}
	rate, elapsed := record["calls_per_s"].(float64), record["elapsed_seconds"].(float64)
	if rate*elapsed < 699 || rate*elapsed > 701 || record["peak_memory_mb"].(float64) < 1 || record["call_p50_ms"].(float64) <= 0 ||
		record["call_max_ms"].(float64) < record["call_p99_ms"].(float64) || record["emptying_seconds"].(float64) <= 0 {
		t.Error(record)
	}
	if !regexp.MustCompile(`^\d+:\d+:\d+:0( \d+:\d+:\d+:0)*$`).MatchString(record["trajectory"].(string)) {
		t.Error(record["trajectory"])
	}
}

func TestARowThatCantBeCopiedIsReportedWithItsLineAndTheOthersAreCopied(t *testing.T) {
	store := s3test.StartStore(t, from)
	odd := "masters/a b+%é?&=#/" + strings.Repeat("ü", 502) // 1,024 bytes
	store.Put(from, odd, s3test.Stored{Body: []byte("odd")})
	store.Put(from, "masters/1", s3test.Stored{Body: []byte("one")})
	store.Put(from, "masters/secret/1", s3test.Stored{})
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		if strings.Contains(source, "masters/secret/") {
			return 403, "AccessDenied"
		}
		return 0, ""
	}
	escaped := url.QueryEscape(odd)
	oddCopy := "copies/" + odd[len("masters/"):]
	slice(store, 3, "masters/1,copies/1,3", escaped+","+url.QueryEscape(oddCopy)+"\r")
	slice(store, 4, "masters/1,copies/2", "nonsense", "masters/1", "masters/1,copies/%zz", ",copies/3", "masters/1,copies/4,many", "",
		"masters/missing,copies/5", "masters/secret/1,copies/6", "masters/1,masters/1", "copies/1,copies/1", "masters/1,elsewhere/1",
		"masters/1,copies/"+strings.Repeat("x", 1018), "masters/1,copies/7,5368709121", "masters/1,copies/"+strings.Repeat("x", 60_000),
		"masters/1,copies/%ff", "masters/1,copies/8")
	f := start(t, "EXPERIMENT=copy_host", "DESTINATION_BUCKET_NAME="+from, "DESTINATION_PREFIX=copies/", "KEY_ORDER=straight", "MEMORY_SIZE=", "SOURCE_PREFIX=")
	record, failed := f.invoke(ordered(4, ofSlices(3, 2)))
	s3test.Expect(t, record, map[string]any{
		"status": "ok", "planned": 18, "copied": 4, "failed": 14, "malformed": 6, "bytes": 3, "first_slice": 3, "slices": 2,
		"instance_type": "m5a.8xlarge", "experiment": "copy_host",
	})
	found := map[int64]string{}
	for _, one := range failed {
		if *one.Slice != 4 || one.Error_message == "" {
			t.Error(one)
		}
		found[*one.Line] = one.Error_type
	}
	want := map[int64]string{
		2: "MalformedRow", 3: "MalformedRow", 4: "MalformedRow", 5: "MalformedRow", 6: "MalformedRow", 8: "NoSuchKey",
		9: "AccessDenied", 10: "RowRefused", 11: "RowRefused", 12: "RowRefused", 13: "RowRefused", 14: "ObjectTooLarge", 15: "RowRefused",
		16: "MalformedRow",
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%v\nisn't\n%v", found, want)
	}
	for _, key := range []string{oddCopy, "copies/1", "copies/2", "copies/8"} {
		if !slices.Contains(store.Keys(from), key) {
			t.Errorf("%q isn't copied", key)
		}
	}
}

func TestWorkThatCantBeDoneIsAnErrorWithWhatHappenedSoFar(t *testing.T) {
	for _, c := range []struct{ change, order, word, says string }{
		{"BUCKET_NAME=nowhere", ordered(3), "NoSuchBucket", "ListObjectsV2 404 NoSuchBucket"},
		{"DESTINATION_BUCKET_NAME=nowhere", ordered(3), "NoSuchBucket", "the source or the destination bucket doesn't exist"},
		{"SOURCE_PREFIX=none/", ordered(3), "NoData", "none/"},
		{"", ordered(3, ofSlices(0, 2)), "NoSuchKey", "manifest/m/000001.csv"},
		{"SOURCE_PREFIX=", ordered(3), "WorkOrderError", "manifest"},
		{"", ordered(0), "WorkOrderError", "parallel_limit must be a whole number from 1 to 10000, not"},
		{"", ordered(3, `"first_slice": 1`), "WorkOrderError", "first_slice"},
		{"", ordered(3, `"manifest": "m/"`, `"first_slice": 1`), "WorkOrderError", "slices"},
		{"", ordered(3, `"manifest": "m"`), "WorkOrderError", "manifest"},
		{"", ordered(3, `"pace": "fast"`), "WorkOrderError", "fixed or adaptive"},
		{"", ordered(3, `"retry_mode": "adaptive"`), "WorkOrderError", "standard or legacy"},
		{"", ordered(3, `"retry_attempts": 51`), "WorkOrderError", "retry_attempts"},
		{"DESTINATION_BUCKET_NAME=", ordered(3), "SettingsError", "DESTINATION_BUCKET_NAME"},
	} {
		store := s3test.StartStore(t, from, to)
		fill(store, 5, 1)
		slice(store, 0, "source/1.mp4,a")
		record, _ := start(t, c.change).invoke(c.order)
		s3test.Expect(t, record, map[string]any{"status": "error", "error_type": c.word, "error_message": c.says, "planned": nil})
	}
}

func TestTheEndOfTheInvocationStopsInTimeAndTheNextDeliveryCopiesTheRest(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 5)
	store.Latency = 50 * time.Millisecond
	slice(store, 0, many(150, "source/1.mp4")...)
	f := start(t)
	order := ordered(2, ofSlices(0, 1))
	first, _ := f.invoke(order, 5*time.Second) // 2 s until the margin; a copy of all takes 3.75 s
	s3test.Expect(t, first, map[string]any{"status": "error", "error_type": "DeadlineExceeded", "planned": nil, "failed": 0})
	done := int(first["copied"].(float64))
	if done < 10 || done > 120 || done != len(store.Keys(to)) || int(store.Copies.Load()) != done {
		t.Errorf("%d copied of %d there: %v", done, len(store.Keys(to)), first)
	}
	store.Latency = 0
	asked := store.Requests.Load()
	second, failed := f.invoke(order)
	s3test.Expect(t, second, map[string]any{"status": "ok", "planned": 150, "already_there": done, "copied": 150 - done, "failed": 0, "bytes": 0})
	if len(failed) > 0 || len(store.Keys(to)) != 150 {
		t.Error(failed)
	}
	if asked = store.Requests.Load() - asked; asked > 150+5 {
		t.Errorf("%d requests for 150 rows, each of which needs one", asked)
	}
	asked = store.Requests.Load()
	third, _ := start(t).invoke(order) // another sandbox, which has seen none of it
	s3test.Expect(t, third, map[string]any{"status": "ok", "planned": 150, "already_there": 150, "copied": 0})
	if asked = store.Requests.Load() - asked; asked > 150+5 {
		t.Errorf("%d requests for 150 rows that are there", asked)
	}
}

func TestCallsUnderWayWhenTheHostIsToldToStopComeToTheirEndAndAreCounted(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 200, 5)
	store.Latency = 100 * time.Millisecond
	f := start(t)
	ctx, stop := context.WithCancelCause(context.Background())
	told := failure.New(failure.DeadlineExceeded, "the host was stopped")
	time.AfterFunc(350*time.Millisecond, func() { stop(told) })
	line, failed, err := f.Process(ctx, sqsevent.Message{Body: ordered(20)}, time.Now().Add(time.Hour))
	there := len(store.Keys(to))
	if err != nil || failed != told || there < 20 || there > 150 || !strings.Contains(line, fmt.Sprintf(`"copied": %d, `, there)) ||
		int(store.Copies.Load()) != there || !strings.Contains(line, `"error_message": "the host was stopped"`) {
		t.Errorf("%d copies asked for, %d made: %s", store.Copies.Load(), there, line)
	}
}

func TestADestinationThatIsntEmptyAfterItsEmptyingIsAnError(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Put(to, "a", s3test.Stored{})
	lists := 0
	store.Refuse = func(r *http.Request, bucket, _, _ string) (int, string) {
		if bucket == to && r.URL.Query().Has("list-type") {
			if lists++; lists == 2 {
				store.Put(to, "back again", s3test.Stored{})
			}
		}
		return 0, ""
	}
	record, _ := start(t).invoke(ordered(1, `"empty_first": 1`))
	s3test.Expect(t, record, map[string]any{"status": "error", "error_type": "DestinationNotEmpty", "emptied": 1, "calls": 0})
}

func TestADeletionThatIsRefusedIsTriedAgainOrTheReasonWhyNot(t *testing.T) {
	for code, want := range map[string]string{"SlowDown": "", "InternalError": "S3Error", "AccessDenied": "AccessDenied"} {
		store := s3test.StartStore(t, from, to)
		fill(store, 1, 1)
		store.Put(to, "a", s3test.Stored{})
		store.Put(to, "b", s3test.Stored{})
		refused := 10 // more than one request is tried
		store.Refuse = func(r *http.Request, _, key, _ string) (int, string) {
			if r.Method == http.MethodDelete && key == "b" && refused > 0 {
				refused--
				return 200, code
			}
			return 0, ""
		}
		record, _ := start(t).invoke(ordered(1, `"empty_first": 1`))
		if word, _ := record["error_type"].(string); word != want {
			t.Errorf("%s: %v", code, record)
		}
		if emptied := record["emptied"]; want == "" && emptied != 2.0 || want != "" && emptied != 1.0 {
			t.Errorf("%s: %v emptied", code, emptied)
		}
	}
}

func TestNothingButTheDestinationIsEmptied(t *testing.T) {
	for _, prefix := range []string{"", "source/", "sour", "source/deep/", "masters/x/", "m", "program/", "manifest/", "slices/", "slices/m/1/"} {
		store := s3test.StartStore(t, from)
		fill(store, 2, 1)
		f := start(t, "DESTINATION_BUCKET_NAME="+from, "DESTINATION_PREFIX="+prefix)
		record, _ := f.invoke(ordered(1, `"empty_first": 1`, `"manifest": "slices/m/"`, `"first_slice": 0`, `"slices": 0`))
		s3test.Expect(t, record, map[string]any{"status": "error", "error_type": "SettingsError", "emptied": 0})
		if len(store.Keys(from)) != 2 || store.Requests.Load() != 0 {
			t.Errorf("%q: %v", prefix, store.Keys(from))
		}
	}
}

func TestAnOrderWithoutSlicesOnlyEmpties(t *testing.T) {
	store := s3test.StartStore(t, from)
	fill(store, 2, 1)
	store.Put(from, "copies/a", s3test.Stored{})
	f := start(t, "EXPERIMENT=copy_host", "DESTINATION_BUCKET_NAME="+from, "DESTINATION_PREFIX=copies/")
	record, _ := f.invoke(ordered(1, `"empty_first": 1`, ofSlices(0, 0), `"warm_up": 1`))
	s3test.Expect(t, record, map[string]any{"status": "ok", "emptied": 1, "planned": 0, "elapsed_seconds": 0, "trajectory": "", "warm_up": 1, "slices": 0})
	if len(store.Keys(from)) != 2 {
		t.Error(store.Keys(from))
	}
}
