package copy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/agreed"
	"stampede/transfer/internal/sqsevent"
)

const from, to = "source-bucket", "destination-bucket"

type values = map[string]any

// function is a sandbox before an S3 that has the two buckets.
type function struct {
	*s3test.Function
	*operation
	store *s3test.Store
	t     *testing.T
}

// serve runs an S3 that has n objects of ten bytes below source/.
func serve(t *testing.T, n int) *s3test.Store {
	t.Helper()
	store := s3test.StartStore(t, from, to)
	for i := range n {
		store.Put(from, fmt.Sprintf("source/%d.mp4", i+1), s3test.Stored{Body: s3test.Random(10)})
	}
	return store
}

// start makes the function of an environment with changes ("NAME=value"). Pauses before retries are short.
func start(t *testing.T, store *s3test.Store, changes ...string) *function {
	t.Helper()
	environment := map[string]string{
		"EXPERIMENT": "copy", "CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "512", "EXPERIMENT_TAG": "experiment 01", "AWS_REGION": "us-east-1",
		"BUCKET_NAME": from, "SOURCE_PREFIX": "source/", "DESTINATION_BUCKET_NAME": to, "OBJECT_COUNT": "1000", "KEY_ORDER": "none",
		"INSTANCE_TYPE": "m5a.8xlarge",
	}
	made := New(context.Background(), s3test.Lookup(environment, changes...)).(*operation)
	if made.wrong == nil {
		made.route.from.Retry.FirstPause, made.route.to.Retry.FirstPause = time.Millisecond, time.Millisecond
	}
	return &function{s3test.NewFunction(t, environment["EXPERIMENT"], made), made, store, t}
}

type failedObject struct {
	Slice, Line                                    *int64
	Source, Destination, Error_type, Error_message string
}

// invoke delivers one message, and returns its record and the failed objects of the lines before. The record has all requests of it.
func (f *function) invoke(body string, remaining ...time.Duration) (record values, failed []failedObject) {
	f.t.Helper()
	requests, calls := f.store.Requests.Load(), f.store.Copies.Load()
	record = f.Invoke(body, remaining...)
	s3test.Expect(f.t, record, values{"requests": float64(f.store.Requests.Load() - requests), "calls": float64(f.store.Copies.Load() - calls)})
	for _, line := range f.Before {
		var read struct{ Failed_objects []failedObject }
		identified := strings.HasPrefix(line, `{"run_id": "run-1", "cell": "c", "seq": 7, "attempt": 2, "failed_objects": [{"slice": `)
		if err := json.Unmarshal([]byte(line), &read); err != nil || !identified || len(line) > longestLogLine {
			f.t.Fatalf("%v: %.300s", err, line)
		}
		failed = append(failed, read.Failed_objects...)
	}
	return record, failed
}

// fates are the failed objects in order: slice and line, or source, and why.
func fates(failed []failedObject) string {
	var all []string
	for _, object := range failed {
		place := object.Source
		if object.Slice != nil {
			place = fmt.Sprintf("%d:%02d", *object.Slice, *object.Line)
		}
		all = append(all, place+" "+object.Error_type)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// ordered is a work order of some parallel calls, and what else it says.
func ordered(parallel int, changes ...string) string {
	return fmt.Sprintf(`{"run_id": "run-1", "cell": "c", "seq": 7, "parallel_limit": %d`, parallel) + strings.Join(append([]string{""}, changes...), ", ") + "}"
}

// ofSlices are those of a manifest in slices.
func ofSlices(first, number int) string {
	return fmt.Sprintf(`"manifest": "manifest/m/", "first_slice": %d, "slices": %d`, first, number)
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

const (
	emptying = `"empty_first": 1`
	adapting = `"pace": "adaptive"`
	once     = `"retry_attempts": 1`
)

func TestTheDestinationIsEmptiedAndEveryObjectBelowThePrefixCopied(t *testing.T) {
	store := serve(t, 700)
	store.PageKeys = 300
	store.Put(from, "source/", s3test.Stored{})
	store.Put(from, "other/1", s3test.Stored{})
	for i := range 2345 {
		store.Put(to, fmt.Sprintf("old/%d & <é>+%%\r", i), s3test.Stored{})
	}
	record, failed := start(t, store).invoke(ordered(50, emptying))
	s3test.Expect(t, record, values{
		"status": "ok", "concurrency_limit": 1, "memory_size": 512, "method": "copy_object", "bytes": 7000, "warm_up": 0, "parallel_limit": 50,
		"pace": "fixed", "calls_per_s_cap": nil, "object_count": 1000, "key_order": "none", "planned": 700, "copied": 700, "already_there": 0,
		"failed": 0, "calls": 700, "slowdowns": 0, "retries": 0, "emptied": 2345, "first_slice": nil, "slices": nil, "retry_mode": "standard",
		"retry_attempts": 4, "sdk": "none", "experiment": "copy",
	})
	if keys := store.Keys(to); len(keys) != 700 || keys[0] != "1.mp4" || len(failed) != 0 {
		t.Errorf("%d keys, %v", len(keys), failed)
	}
	rate, elapsed := record["calls_per_s"].(float64), record["elapsed_seconds"].(float64)
	if rate*elapsed < 699 || rate*elapsed > 701 || record["peak_memory_mb"].(float64) < 1 || record["call_p50_ms"].(float64) <= 0 ||
		record["call_max_ms"].(float64) < record["call_p99_ms"].(float64) || record["emptying_seconds"].(float64) <= 0 ||
		!regexp.MustCompile(`^\d+:\d+:\d+:0( \d+:\d+:\d+:0)*$`).MatchString(record["trajectory"].(string)) {
		t.Error(record)
	}
}

func TestARowThatCantBeCopiedIsReportedWithItsLineAndTheOthersAreCopied(t *testing.T) {
	store := serve(t, 0)
	odd := "masters/a b+%é?&=#/" + strings.Repeat("ü", 502) // 1,024 bytes
	store.Put(from, odd, s3test.Stored{Body: []byte("odd")})
	store.Put(from, "masters/1", s3test.Stored{Body: []byte("one")})
	store.Put(from, "masters/secret/1", s3test.Stored{})
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		return map[bool]int{true: 403}[strings.Contains(source, "masters/secret/")], "AccessDenied"
	}
	oddCopy := "copies/" + odd[len("masters/"):]
	slice(store, 3, "masters/1,copies/1,3", url.QueryEscape(odd)+","+url.QueryEscape(oddCopy)+"\r")
	slice(store, 4, "masters/1,copies/2", "nonsense", "masters/1", "masters/1,copies/%zz", ",copies/3", "masters/1,copies/4,many", "",
		"masters/missing,copies/5", "masters/secret/1,copies/6", "masters/1,masters/1", "copies/1,copies/1", "masters/1,elsewhere/1",
		"masters/1,copies/"+strings.Repeat("x", 1018), "masters/1,copies/7,5368709121", "masters/1,copies/"+strings.Repeat("x", 60_000),
		"masters/1,copies/%ff", "masters/1,copies/8")
	f := start(t, store, "EXPERIMENT=copy_host", "DESTINATION_BUCKET_NAME="+from, "DESTINATION_PREFIX=copies/", "KEY_ORDER=straight", "MEMORY_SIZE=", "SOURCE_PREFIX=")
	record, failed := f.invoke(ordered(4, ofSlices(3, 2)))
	s3test.Expect(t, record, values{
		"status": "ok", "planned": 18, "copied": 4, "failed": 14, "malformed": 6, "bytes": 3, "first_slice": 3, "slices": 2,
		"instance_type": "m5a.8xlarge", "experiment": "copy_host",
	})
	if got := fates(failed); got != "4:02 MalformedRow, 4:03 MalformedRow, 4:04 MalformedRow, 4:05 MalformedRow, 4:06 MalformedRow, 4:08 NoSuchKey, "+
		"4:09 AccessDenied, 4:10 RowRefused, 4:11 RowRefused, 4:12 RowRefused, 4:13 RowRefused, 4:14 ObjectTooLarge, 4:15 RowRefused, 4:16 MalformedRow" {
		t.Error(got)
	}
	for _, key := range []string{oddCopy, "copies/1", "copies/2", "copies/8"} {
		if !slices.Contains(store.Keys(from), key) {
			t.Errorf("%q isn't copied", key)
		}
	}
}

func TestTheSameObjectIsRecognisedAnotherOneIsLeftAloneAndWhatS3CantCompareIsOurOwnCopyOrSaysSo(t *testing.T) {
	store := serve(t, 5)
	same := s3test.Random(10)
	for i := range 20 {
		store.Put(from, fmt.Sprintf("source/%d", i), s3test.Stored{Body: same, ETag: `"0123-2"`, NoChecksum: true})
	}
	store.Lost = 5 // copies made without an answer
	var conflict sync.Once
	store.Refuse = func(_ *http.Request, _, key, _ string) (status int, code string) {
		if key == "0" { // might be ours after that, but is too old
			conflict.Do(func() { status, code = 409, "ConditionalRequestConflict" })
		}
		return status, code
	}
	before := time.Now().Add(-time.Minute)
	for key, object := range map[string]s3test.Stored{
		"1.mp4": {Body: same}, "2.mp4": {Body: same, ETag: `"another"`}, "3.mp4": {Body: same[:9]},
		"4.mp4": {Body: same, ETag: `"another"`, Checksum: "another"},
		"0":     {Body: same, NoChecksum: true, Modified: before}, "1": {Body: same[:9], NoChecksum: true, Modified: before},
	} {
		store.Put(to, key, object)
	}
	record, failed := start(t, store).invoke(ordered(2))
	s3test.Expect(t, record, values{"status": "ok", "planned": 25, "copied": 19, "already_there": 2, "failed": 4})
	if got := fates(failed); got != "source/0 ObjectNotComparable, source/1 ObjectDiffers, source/3.mp4 ObjectDiffers, source/4.mp4 ObjectDiffers" {
		t.Error(got)
	}
}

// What S3 does while so many objects are copied, and what the record says of it.
func TestWhateverS3DoesEveryRowIsCopiedOrFailedAndTheRecordSaysSo(t *testing.T) {
	usual := longestSlowed
	longestSlowed = 10 * time.Millisecond
	defer func() { longestSlowed = usual }()
	copies := func(refuse func(key string, number int64) (int, string)) func(*s3test.Store) {
		return func(store *s3test.Store) {
			store.Refuse = func(_ *http.Request, _, key, source string) (int, string) {
				if source == "" {
					return 0, ""
				}
				return refuse(key, store.Copies.Load())
			}
		}
	}
	always := func(status int, code string) func(*s3test.Store) {
		return copies(func(string, int64) (int, string) { return status, code })
	}
	// What every row would meet ends the work, so that the message comes back.
	ends := func(status int, code string) func(*s3test.Store) {
		return copies(func(_ string, number int64) (int, string) { return map[bool]int{true: status}[number > 20], code })
	}
	var under, most atomic.Int64
	for name, c := range map[string]struct {
		objects, parallel int
		s3                func(*s3test.Store)
		order             []string
		want              values
		failed            string // kinds
	}{
		"lost answers, no other try": {100, 5, func(s *s3test.Store) { s.Lost = 20 }, []string{once}, values{"copied": 100, "already_there": 0}, ""},
		"all that passes": {100, 5, func(s *s3test.Store) {
			s.Faults = s3test.Faults{Lost: 20, Halved: 4, LateErrors: 3, Conflicts: 2, SlowDowns: 4}
		},
			[]string{`"retry_attempts": 11`}, values{"copied": 100, "already_there": 0, "slowdowns": 4}, ""},
		"a used up quota": {30, 30, always(503, "SlowDown"), []string{`"retry_attempts": 6`},
			values{"failed": 30, "retries": 100, "calls": 130, "slowdowns": 130, "retry_mode": "standard"}, "SlowDown"},
		"no quota": {30, 30, always(503, "SlowDown"), []string{`"retry_attempts": 6`, `"retry_mode": "legacy"`},
			values{"failed": 30, "retries": 150, "calls": 180, "retry_mode": "legacy", "retry_attempts": 6}, "SlowDown"},
		"a row that never gets through": {20, 2, copies(func(key string, _ int64) (int, string) {
			return map[bool]int{true: 503}[key[0] == '1'], map[bool]string{true: "SlowDown", false: "ServiceUnavailable"}[key == "1.mp4"]
		}), []string{adapting}, values{"copied": 9, "failed": 11}, "S3Error SlowDown"},
		"a few at a time": {300, 7, copies(func(string, int64) (int, string) {
			most.Store(max(most.Load(), under.Add(1)))
			time.Sleep(time.Millisecond)
			under.Add(-1)
			return 0, ""
		}), nil, values{"copied": 300}, ""},
		"a cap":           {40, 50, nil, []string{`"calls_per_s": 200`}, values{"copied": 40, "calls_per_s_cap": 200}, ""},
		"a cap of a pace": {40, 50, nil, []string{`"calls_per_s": 200`, adapting}, values{"copied": 40, "calls_per_s_cap": 200}, ""},
		"a wrong key":     {50, 2, ends(403, "InvalidAccessKeyId"), nil, values{"error_type": "NoCredentials", "error_message": "check access key", "copied": 20}, ""},
		"another region":  {50, 2, ends(301, "PermanentRedirect"), nil, values{"error_type": "SettingsError", "error_message": "AWS_REGION", "copied": 20}, ""},
		"no bucket":       {50, 2, ends(404, "NoSuchBucket"), nil, values{"error_type": "NoSuchBucket", "error_message": "both buckets", "copied": 20, "planned": nil}, ""},
	} {
		store := serve(t, c.objects)
		if c.s3 != nil {
			c.s3(store)
		}
		record, failed := start(t, store).invoke(ordered(c.parallel, c.order...))
		s3test.Expect(t, record, c.want)
		var kinds []string
		for _, object := range failed {
			kinds = append(kinds, object.Error_type)
		}
		slices.Sort(kinds)
		isWhole := c.want["error_type"] != nil || record["planned"] == float64(c.objects)
		if got := strings.Join(slices.Compact(kinds), " "); got != c.failed || !isWhole {
			t.Errorf("%s: %q failed: %v", name, got, record)
		}
		if rate := record["calls_per_s"].(float64); c.want["calls_per_s_cap"] != nil && rate > 225 {
			t.Errorf("%s: %f a second", name, rate)
		}
	}
	if most.Load() > 7 {
		t.Errorf("%d calls at once", most.Load())
	}
}

func TestCredentialsThatExpireUnderManyCallsCostNoRetryOfTheQuota(t *testing.T) {
	store := serve(t, 400)
	store.Refuse = func(r *http.Request, _, _, source string) (int, string) {
		if source != "" && r.Header.Get("X-Amz-Security-Token") == "1" {
			time.Sleep(50 * time.Millisecond) // until all are in flight
			return 400, "ExpiredToken"
		}
		return 0, ""
	}
	f := start(t, store)
	f.route.to.Credentials = aws.NewCredentialsCache(&renewing{})
	record, _ := f.invoke(ordered(400, once))
	s3test.Expect(t, record, values{"status": "ok", "copied": 400, "failed": 0})
}

func TestListingAndSlicesAreAsPatientWithSlowDownAsCopies(t *testing.T) {
	for code, status := range map[string]string{"SlowDown": "ok", "ServiceUnavailable": "error"} {
		for _, rows := range []string{emptying, ofSlices(0, 1)} {
			store, refused := serve(t, 3), map[string]int{}
			slice(store, 0, "source/1.mp4,a")
			store.Refuse = func(r *http.Request, bucket, key, source string) (int, string) {
				if refused[bucket+key]++; source == "" && r.Method == http.MethodGet && refused[bucket+key] < 6 {
					return 503, code
				}
				return 0, ""
			}
			record, _ := start(t, store).invoke(ordered(1, adapting, rows))
			s3test.Expect(t, record, values{"status": status})
		}
	}
}

func TestALostNetworkEndsTheWorkInsteadOfEachRow(t *testing.T) {
	store := serve(t, 0)
	slice(store, 0, many(3000, "masters/1")...)
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		return map[bool]int{true: s3test.HangUp}[source != ""], ""
	}
	record := start(t, store).Invoke(ordered(20, ofSlices(0, 1), once))
	s3test.Expect(t, record, values{"status": "error", "error_type": "ConnectionCut", "planned": nil, "copied": 0})
	if failed := record["failed"].(float64); failed < mostUnanswered || failed > mostUnanswered+20 {
		t.Error(record)
	}
}

func TestWorkThatCantBeDoneIsAnErrorThatSaysWhy(t *testing.T) {
	for _, c := range []struct{ change, order, word, says string }{
		{"BUCKET_NAME=nowhere", ordered(3), "NoSuchBucket", "ListObjectsV2"},
		{"DESTINATION_BUCKET_NAME=nowhere", ordered(3), "NoSuchBucket", "destination"},
		{"SOURCE_PREFIX=none/", ordered(3), "NoData", "none/"},
		{"", ordered(3, ofSlices(0, 2)), "NoSuchKey", "manifest/m/000001.csv"},
		{"SOURCE_PREFIX=", ordered(3), "WorkOrderError", "manifest"},
		{"", ordered(0), "WorkOrderError", "parallel_limit"},
		{"", ordered(3, `"manifest": "m/"`, `"first_slice": 1`), "WorkOrderError", "slices"},
		{"", ordered(3, `"pace": "fast"`), "WorkOrderError", "fixed or adaptive"},
		{"DESTINATION_BUCKET_NAME=", ordered(3), "SettingsError", "DESTINATION_BUCKET_NAME"},
	} {
		store := serve(t, 5)
		slice(store, 0, "source/1.mp4,a")
		record, _ := start(t, store, c.change).invoke(c.order)
		s3test.Expect(t, record, values{"status": "error", "error_type": c.word, "error_message": c.says, "planned": nil})
	}
}

func TestThePublishedPayloadIsAnOrderThatEmptiesAndListsAndOthersSayWhatTheyGive(t *testing.T) {
	for payload, want := range map[string]string{
		`{"parallel_limit": "100"}`: "100 4 empties", `{"parallel_limit": 20, "retry_attempts": "11", "retry_mode": "legacy"}`: "20 11 empties",
		`{"parallel_limit": 20, "manifest": "m/", "first_slice": 0, "slices": 1}`: "20 4 m/",
		`{"parallel_limit": 1, "key1": "value1"}`:                                 "unknown key", `{"parallel_limit": "1e2"}`: "parallel_limit",
		`{"Records": [{"eventSource": "aws:sqs"}], "parallel_limit": 1}`: "none", `{"key1": "value1"}`: "none",
	} {
		body, ok := (&operation{}).Invoked([]byte(payload))
		order, err := parse(body)
		got := "none"
		if ok && err != nil {
			got = err.Error()
		} else if ok {
			got = fmt.Sprint(order.Parallel, order.Attempts, map[bool]string{true: " empties"}[order.EmptyFirst], " ", order.Manifest)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, not %s", payload, got, want)
		}
	}
}

func TestTheEndOfTheInvocationStopsInTimeAndTheNextDeliveryCopiesTheRest(t *testing.T) {
	store := serve(t, 1)
	store.Latency = 20 * time.Millisecond
	slice(store, 0, many(150, "source/1.mp4")...)
	f, order := start(t, store), ordered(2, ofSlices(0, 1))
	first, _ := f.invoke(order, 4*time.Second) // 1 s until the margin; a copy of all takes 1.5 s
	done := len(store.Keys(to))
	s3test.Expect(t, first, values{"status": "error", "error_type": "DeadlineExceeded", "planned": nil, "failed": 0, "copied": done, "calls": done})
	if done < 10 || done > 120 {
		t.Error(first)
	}
	store.Latency = 0
	second, _ := f.invoke(order)
	s3test.Expect(t, second, values{"status": "ok", "planned": 150, "already_there": done, "copied": 150 - done, "failed": 0, "bytes": 0})
	third, _ := start(t, store).invoke(order) // another sandbox, which has seen none of it
	s3test.Expect(t, third, values{"status": "ok", "planned": 150, "already_there": 150, "copied": 0})
	if second["requests"].(float64) > 160 || third["requests"].(float64) > 160 {
		t.Error("150 rows need a request each:", second, third)
	}
}

func TestCallsUnderWayWhenTheHostIsToldToStopComeToTheirEndAndAreCounted(t *testing.T) {
	store := serve(t, 200)
	store.Latency = 50 * time.Millisecond
	ctx, stop := context.WithCancelCause(context.Background())
	told := failure.New(failure.DeadlineExceeded, "the host was stopped")
	time.AfterFunc(175*time.Millisecond, func() { stop(told) })
	line, failed, err := start(t, store).Process(ctx, sqsevent.Message{Body: ordered(20)}, time.Now().Add(time.Hour))
	there := len(store.Keys(to))
	if err != nil || failed != told || there < 20 || there > 150 || !strings.Contains(line, fmt.Sprintf(`"copied": %d, `, there)) ||
		int(store.Copies.Load()) != there || !strings.Contains(line, `"error_message": "the host was stopped"`) {
		t.Errorf("%d copies asked for, %d made: %s", store.Copies.Load(), there, line)
	}
}

func TestADeletionThatIsRefusedIsTriedAgainAndADestinationThatIsntEmptyAfterwardsIsAnError(t *testing.T) {
	for code, want := range map[string]values{
		"SlowDown": {"status": "ok", "emptied": 2}, "InternalError": {"error_type": "S3Error", "emptied": 1}, "AccessDenied": {"error_type": "AccessDenied", "emptied": 1},
		"": {"error_type": "DestinationNotEmpty", "emptied": 2, "calls": 0},
	} {
		store, refused := serve(t, 1), 10 // more than one request is tried
		store.Put(to, "a", s3test.Stored{})
		store.Put(to, "b", s3test.Stored{})
		store.Refuse = func(r *http.Request, _, key, _ string) (int, string) {
			switch {
			case r.Method == http.MethodPost && code == "":
				store.Put(to, "put by another", s3test.Stored{})
			case r.Method == http.MethodDelete && key == "b" && refused > 0 && code != "":
				refused--
				return 200, code
			}
			return 0, ""
		}
		if code == "" {
			store.PageKeys = 2 // the other's object comes behind what is listed
		}
		record, _ := start(t, store).invoke(ordered(1, emptying))
		s3test.Expect(t, record, want)
	}
}

func TestNothingButTheDestinationIsEmptiedEvenByAnOrderThatOnlyEmpties(t *testing.T) {
	for _, prefix := range []string{"", "source/", "sour", "source/deep/", "m", "program/", "slices/m/1/", "copies/"} {
		store := serve(t, 2)
		store.Put(from, "copies/a", s3test.Stored{})
		f := start(t, store, "EXPERIMENT=copy_host", "DESTINATION_BUCKET_NAME="+from, "DESTINATION_PREFIX="+prefix)
		want, left := values{"status": "error", "error_type": "SettingsError", "emptied": 0, "requests": 0}, 3
		if prefix == "copies/" {
			want, left = values{"status": "ok", "emptied": 1, "planned": 0, "elapsed_seconds": 0, "trajectory": "", "warm_up": 1, "slices": 0}, 2
		}
		record, _ := f.invoke(ordered(1, emptying, `"manifest": "slices/m/"`, `"first_slice": 0`, `"slices": 0`, `"warm_up": 1`))
		if s3test.Expect(t, record, want); len(store.Keys(from)) != left {
			t.Errorf("%q: %v", prefix, store.Keys(from))
		}
	}
}

func TestTheQuotaIsTheOneThatBothLanguagesAgreedOn(t *testing.T) {
	var rules struct {
		Ours     string            `json:"ours"`
		Standard map[string]values `json:"standard"`
	}
	agreed.Read(t, "retries.json", &rules)
	for name, want := range map[string]float64{"tokens": quotaTokens, "retry_cost": retryCost, "throttle_cost": retryCost,
		"timeout_cost": timeoutCost, "success_gain": unretriedGain, "longest_pause_s": longestPause} {
		if got := rules.Standard[rules.Ours][name]; got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
}

func TestAClientThatIgnoresSlowDownIsSaidOnce(t *testing.T) {
	var notices strings.Builder
	seen, ended, rate := observe(), make(chan struct{}), newAdaptive(0)
	rate.rate, rate.crowded = 5, crowdedSpans
	j := &job{seen: seen, failures: newFailures(io.Discard, "r", "c", 0, 1, 0), notices: &notices, pacer: &pacer{began: seen.began, rate: rate}}
	time.AfterFunc(5*look, func() { close(ended) })
	j.watch(func(error) {}, ended)
	if said := notices.String(); !strings.Contains(said, "makes only 5 a second: another client") || strings.Count(said, "\n") != 1 {
		t.Errorf("%q", said)
	}
}

func TestATrajectoryHasAPointASecondAndAtMost600(t *testing.T) {
	track, now := &trajectory{width: 1}, point{inFlight: 4, looks: 1}
	look := func(seconds float64, copied int64, ended bool) {
		now.seconds, now.copied, now.slowDowns = seconds, now.copied+copied, int64(seconds)
		track.look(now, ended)
	}
	for step := 1; step <= 100; step++ { // 5 s, looked at 20 times a second
		look(float64(step)*0.05, 10, false)
	}
	now.inFlight = 0
	look(5.5, 50, true)
	if got := track.text(); got != "1:200:4:1 2:200:4:1 3:200:4:1 4:200:4:1 5:200:4:1 6:100:0:0" {
		t.Error(got)
	}
	for step := 6; step < 5000; step++ {
		look(float64(step), 100, false)
	}
	if points := strings.Fields(track.text()); len(points) > mostPoints || len(points) < mostPoints/2 {
		t.Errorf("%d points", len(points))
	}
}
