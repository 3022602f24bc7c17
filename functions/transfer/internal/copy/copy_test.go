package copy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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

// start makes the function of an environment with changes ("NAME=value"), whose credentials can be
// renewed. Pauses are short.
func start(t *testing.T, store *s3test.Store, changes ...string) *function {
	t.Helper()
	environment := map[string]string{
		"EXPERIMENT": "copy", "CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "512",
		"EXPERIMENT_TAG": "tag", "AWS_REGION": "us-east-1", "BUCKET_NAME": from,
		"SOURCE_PREFIX": "source/", "DESTINATION_BUCKET_NAME": to, "OBJECT_COUNT": "1000",
		"INSTANCE_TYPE": "m5a.8xlarge",
	}
	made := New(context.Background(), s3test.Lookup(environment, changes...)).(*operation)
	if made.wrong == nil {
		made.route.from.Retry.FirstPause = time.Millisecond
		made.route.to.Retry.FirstPause = time.Millisecond
		made.route.to.Credentials = aws.NewCredentialsCache(&renewing{})
	}
	return &function{s3test.NewFunction(t, environment["EXPERIMENT"], made), made, store, t}
}

// gives delivers one message. Its record must have these values and count every request. It returns
// the record and, sorted, the failed objects logged before it: slice and line or source,
// error_type.
func (f *function) gives(want values, body string,
	remaining ...time.Duration) (record values, fates string) {
	f.t.Helper()
	requests, calls := f.store.Requests.Load(), f.store.Copies.Load()
	record = f.Gives(want, body, remaining...)
	s3test.Expect(f.t, record, values{"requests": int(f.store.Requests.Load() - requests),
		"calls": int(f.store.Copies.Load() - calls)})
	var all []string
	for _, line := range f.Before {
		var read struct {
			Failed_objects []struct {
				Slice, Line        *int64
				Source, Error_type string
			}
		}
		const begin = `{"run_id": "run-1", "cell": "c", "seq": 7, "attempt": 2, ` +
			`"failed_objects": [{"slice": `
		if err := json.Unmarshal([]byte(line), &read); err != nil ||
			!strings.HasPrefix(line, begin) || len(line) > longestLogLine {
			f.t.Fatalf("%v: %.300s", err, line)
		}
		for _, object := range read.Failed_objects {
			if object.Slice != nil {
				object.Source = fmt.Sprintf("%d:%02d", *object.Slice, *object.Line)
			}
			all = append(all, object.Source+" "+object.Error_type)
		}
	}
	slices.Sort(all)
	return record, strings.Join(all, ", ")
}

// ordered is a work order with a parallel limit and further keys.
func ordered(parallel int, more ...string) string {
	more = append([]string{fmt.Sprintf(`"parallel_limit": %d`, parallel)}, more...)
	return `{"run_id": "run-1", "cell": "c", "seq": 7, ` + strings.Join(more, ", ") + "}"
}

// ofSlices are the keys of an order that copies slices of a manifest.
func ofSlices(first, number int) string {
	return fmt.Sprintf(`"manifest": "manifest/m/", "first_slice": %d, "slices": %d`, first, number)
}

// slice puts one slice of a manifest.
func slice(store *s3test.Store, number int, rows ...string) {
	store.Put(from, fmt.Sprintf("manifest/m/%06d.csv", number),
		s3test.Stored{Body: []byte(strings.Join(rows, "\n") + "\n")})
}

// many returns n rows of one source.
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
	slowDown = failure.SlowDown
)

func TestTheDestinationIsEmptiedAndEveryObjectBelowThePrefixCopied(t *testing.T) {
	store := serve(t, 700)
	store.PageKeys = 300
	store.Put(from, "source/", s3test.Stored{})
	store.Put(from, "other/1", s3test.Stored{})
	for i := range 2345 {
		store.Put(to, fmt.Sprintf("old/%d & <é>+%%\r", i), s3test.Stored{})
	}
	record, failed := start(t, store).gives(values{
		"status": "ok", "method": "copy_object", "bytes": 7000, "warm_up": 0, "parallel_limit": 50,
		"pace": "fixed", "calls_per_s_cap": nil, "object_count": 1000, "key_order": "none",
		"planned": 700, "copied": 700, "already_there": 0, "failed": 0, "calls": 700,
		"slowdowns": 0, "retries": 0, "emptied": 2345, "first_slice": nil, "slices": nil,
		"retry_mode": "standard", "retry_attempts": 4, "sdk": "none", "experiment": "copy",
	}, ordered(50, emptying))
	if keys := store.Keys(to); len(keys) != 700 || keys[0] != "1.mp4" || failed != "" {
		t.Error(keys, failed)
	}
	number := func(key string) float64 { return record[key].(float64) }
	if rate := number("calls_per_s") * number("elapsed_seconds"); rate < 699 || rate > 701 ||
		number("peak_memory_mb") < 1 || number("call_p50_ms") <= 0 ||
		number("call_max_ms") < number("call_p99_ms") || number("emptying_seconds") <= 0 ||
		!strings.HasSuffix(record["trajectory"].(string), ":0") {
		t.Error(record)
	}
}

func TestARowThatCantBeCopiedIsReportedWithItsLineAndTheOthersAreCopied(t *testing.T) {
	store := serve(t, 0)
	odd := "masters/a b+%é?&=#/" + strings.Repeat("ü", 502) // 1,024 bytes
	for _, key := range []string{odd, "masters/1", "masters/secret/1"} {
		store.Put(from, key, s3test.Stored{Body: []byte("odd")})
	}
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		return map[bool]int{true: 403}[strings.Contains(source, "secret")], "AccessDenied"
	}
	oddCopy := "copies/" + odd[len("masters/"):]
	slice(store, 3, "masters/1,copies/1,3", url.QueryEscape(odd)+","+url.QueryEscape(oddCopy)+"\r")
	slice(store, 4, "masters/1,copies/2", "nonsense", "masters/1", "masters/1,copies/%zz",
		",copies/3", "masters/1,copies/4,many", "",
		"masters/missing,copies/5", "masters/secret/1,copies/6", "masters/1,masters/1",
		"copies/1,copies/1", "masters/1,elsewhere/1", "masters/1,copies/"+strings.Repeat("x", 1018),
		"masters/1,copies/"+strings.Repeat("x", 60_000),
		"masters/1,copies/%ff", "masters/1,copies/8")
	f := start(t, store, "EXPERIMENT=copy_host", "DESTINATION_BUCKET_NAME="+from,
		"DESTINATION_PREFIX=copies/", "KEY_ORDER=straight", "MEMORY_SIZE=", "SOURCE_PREFIX=")
	_, failed := f.gives(values{"status": "ok", "planned": 17, "copied": 4, "failed": 13,
		"malformed": 6, "bytes": 3, "first_slice": 3, "slices": 2,
		"instance_type": "m5a.8xlarge", "key_order": "straight", "experiment": "copy_host"},
		ordered(4, ofSlices(3, 2)))
	if failed != "4:02 MalformedRow, 4:03 MalformedRow, 4:04 MalformedRow, 4:05 MalformedRow, "+
		"4:06 MalformedRow, 4:08 NoSuchKey, 4:09 AccessDenied, 4:10 RowRefused, 4:11 RowRefused, "+
		"4:12 RowRefused, 4:13 RowRefused, 4:14 RowRefused, 4:15 MalformedRow" {
		t.Error(failed)
	}
	if keys := store.Keys(from); !slices.Equal(keys[:4],
		[]string{"copies/1", "copies/2", "copies/8", oddCopy}) {
		t.Error(keys)
	}
}

func TestAnObjectAtTheDestinationIsComparedAndNeverOverwritten(t *testing.T) {
	store := serve(t, 5)
	same := s3test.Random(10)
	for i := range 20 {
		store.Put(from, fmt.Sprintf("source/%d", i),
			s3test.Stored{Body: same, ETag: `"0123-2"`, NoChecksum: true})
	}
	store.Lost = 5 // copies made without an answer
	var conflict sync.Once
	store.Refuse = func(_ *http.Request, _, key, _ string) (status int, code string) {
		if key == "0" { // could be this worker's own copy, but is too old
			conflict.Do(func() { status, code = 409, "ConditionalRequestConflict" })
		}
		return status, code
	}
	before := time.Now().Add(-time.Minute)
	for key, object := range map[string]s3test.Stored{
		"1.mp4": {Body: same}, "2.mp4": {Body: same, ETag: `"another"`}, "3.mp4": {Body: same[:9]},
		"4.mp4": {Body: same, ETag: `"another"`, Checksum: "another"},
		"0":     {Body: same, NoChecksum: true, Modified: before},
		"1":     {Body: same[:9], NoChecksum: true, Modified: before},
		"2":     {Body: same, NoChecksum: true},
	} {
		store.Put(to, key, object)
	}
	_, failed := start(t, store).gives(values{"status": "ok", "planned": 25, "copied": 18,
		"already_there": 2, "failed": 5}, ordered(2))
	if failed != "source/0 ObjectNotComparable, source/1 ObjectDiffers, "+
		"source/2 ObjectNotComparable, source/3.mp4 ObjectDiffers, source/4.mp4 ObjectDiffers" {
		t.Error(failed)
	}
}

// What S3 does while objects are copied, and what the record says of it.
func TestWhateverS3DoesEveryRowIsCopiedOrFailedAndTheRecordSaysSo(t *testing.T) {
	usual := longestSlowed
	longestSlowed = 10 * time.Millisecond
	defer func() { longestSlowed = usual }()
	type refusing = func(r *http.Request, key string, number int64) (int, string)
	copies := func(refuse refusing) func(*s3test.Store) {
		return func(store *s3test.Store) {
			store.Refuse = func(r *http.Request, _, key, source string) (int, string) {
				if source == "" {
					return 0, ""
				}
				return refuse(r, key, store.Copies.Load())
			}
		}
	}
	// after answers every copy but the first ones with an error.
	after := func(first int64, status int, code string) func(*s3test.Store) {
		return copies(func(_ *http.Request, _ string, number int64) (int, string) {
			return map[bool]int{true: status}[number > first], code
		})
	}
	var under, most atomic.Int64
	for name, c := range map[string]struct {
		objects, parallel int
		s3                func(*s3test.Store)
		order             string
		want              values
		failed            string             // its kinds
		most              map[string]float64 // values of the record
	}{
		"lost answers": {objects: 100, parallel: 5, s3: func(s *s3test.Store) { s.Lost = 20 },
			order: once, want: values{"copied": 100, "already_there": 0}},
		"a used up quota": {objects: 30, parallel: 30, s3: after(0, 503, slowDown),
			order: `"retry_attempts": 6`, failed: slowDown,
			want: values{"failed": 30, "retries": 100, "calls": 130, "slowdowns": 130,
				"retry_mode": "standard"}},
		"no quota": {objects: 30, parallel: 30, s3: after(0, 503, slowDown),
			order: `"retry_attempts": 6, "retry_mode": "legacy"`, failed: slowDown,
			want: values{"failed": 30, "retries": 150, "calls": 180, "retry_mode": "legacy",
				"retry_attempts": 6}},
		"a row that never gets through": {objects: 20, parallel: 2,
			s3: copies(func(_ *http.Request, key string, _ int64) (int, string) {
				return map[bool]int{true: 503}[key[0] == '1'],
					map[bool]string{true: slowDown, false: "ServiceUnavailable"}[key == "1.mp4"]
			}), order: adapting, want: values{"copied": 9, "failed": 11},
			failed: "S3Error SlowDown"},
		"a few at a time": {objects: 300, parallel: 7,
			s3: copies(func(*http.Request, string, int64) (int, string) {
				most.Store(max(most.Load(), under.Add(1)))
				time.Sleep(time.Millisecond)
				under.Add(-1)
				return 0, ""
			}), order: once, want: values{"copied": 300}},
		"expired credentials cost no retry": {objects: 400, parallel: 400,
			s3: copies(func(r *http.Request, _ string, _ int64) (int, string) {
				if r.Header.Get("X-Amz-Security-Token") == "1" {
					time.Sleep(50 * time.Millisecond) // until all are in flight
					return 400, "ExpiredToken"
				}
				return 0, ""
			}), order: once, want: values{"copied": 400, "failed": 0}},
		"a cap": {objects: 40, parallel: 50, order: `"calls_per_s": 200`,
			want: values{"copied": 40, "calls_per_s_cap": 200},
			most: map[string]float64{"calls_per_s": 250}},
		"a wrong key": {objects: 50, parallel: 2, s3: after(20, 403, "InvalidAccessKeyId"),
			order: once, want: values{"error_type": "NoCredentials",
				"error_message": "check access key", "copied": 20}},
		"no bucket": {objects: 50, parallel: 2, s3: after(20, 404, "NoSuchBucket"), order: once,
			want: values{"error_type": "NoSuchBucket", "error_message": "both buckets",
				"copied": 20, "planned": nil}},
		"no network": {objects: 3000, parallel: 20, s3: after(0, s3test.HangUp, ""), order: once,
			want:   values{"error_type": "ConnectionCut", "copied": 0},
			failed: "ConnectionCut", most: map[string]float64{"failed": mostUnanswered + 20}},
	} {
		store := serve(t, c.objects)
		if c.s3 != nil {
			c.s3(store)
		}
		if c.want["error_type"] == nil {
			c.want["planned"] = c.objects
		}
		record, failed := start(t, store).gives(c.want, ordered(c.parallel, c.order))
		kinds := map[string]bool{}
		for _, fate := range strings.Split(failed, ", ") {
			kinds[fate[strings.Index(fate, " ")+1:]] = true
		}
		for _, kind := range strings.Fields(c.failed) {
			kinds[kind] = !kinds[kind]
		}
		delete(kinds, "")
		for key, bound := range c.most {
			kinds[key] = record[key].(float64) > bound
		}
		for what, isWrong := range kinds {
			if isWrong {
				t.Error(name, what, record)
			}
		}
	}
	if most.Load() > 7 {
		t.Error(most.Load(), "calls at once")
	}
}

func TestListingAndSlicesAreAsPatientWithSlowDownAsCopies(t *testing.T) {
	for code, status := range map[string]string{slowDown: "ok", "ServiceUnavailable": "error"} {
		for _, rows := range []string{emptying, ofSlices(0, 1)} {
			store, refused := serve(t, 3), map[string]int{}
			slice(store, 0, "source/1.mp4,a")
			store.Refuse = func(r *http.Request, bucket, key, _ string) (int, string) {
				if refused[bucket+key]++; r.Method == http.MethodGet && refused[bucket+key] < 6 {
					return 503, code
				}
				return 0, ""
			}
			start(t, store).gives(values{"status": status}, ordered(1, adapting, rows))
		}
	}
}

func TestWorkThatCantBeDoneIsAnErrorThatSaysWhy(t *testing.T) {
	for _, c := range []struct{ change, order, word, says string }{
		{"BUCKET_NAME=nowhere", ordered(3), "NoSuchBucket", "ListObjectsV2"},
		{"DESTINATION_BUCKET_NAME=nowhere", ordered(3), "NoSuchBucket", "destination"},
		{"SOURCE_PREFIX=none/", ordered(3), "NoData", "none/"},
		{"", ordered(3, ofSlices(0, 2)), "NoSuchKey", "manifest/m/000001.csv"},
		{"SOURCE_PREFIX=", ordered(3), "WorkOrderError", "manifest"},
		{"", ordered(3, `"manifest": "m/"`, `"first_slice": 1`), "WorkOrderError", "slices"},
		{"", ordered(3, `"pace": "fast"`), "WorkOrderError", "adaptive"},
		{"DESTINATION_BUCKET_NAME=", ordered(3), "SettingsError", "DESTINATION_BUCKET_NAME"},
	} {
		store := serve(t, 5)
		slice(store, 0, "source/1.mp4,a")
		want := values{"error_type": c.word, "error_message": c.says, "planned": nil}
		start(t, store, c.change).gives(want, c.order)
	}
}

func TestThePublishedPayloadIsAnOrderThatEmptiesAndLists(t *testing.T) {
	for payload, want := range map[string]string{
		`{"parallel_limit": "100"}`: "100 4 true ",
		`{"parallel_limit": 20, "retry_attempts": "11", "retry_mode": "legacy"}`:  "20 11 true ",
		`{"parallel_limit": 20, "manifest": "m/", "first_slice": 0, "slices": 1}`: "20 4 false m/",
		`{"parallel_limit": 1, "key1": "value1"}`:                                 "unknown key",
		`{"parallel_limit": "1e2"}`:                                               "parallel_limit",
		`{"Records": [{"eventSource": "aws:sqs"}], "parallel_limit": 1}`:          "",
		`{"key1": "value1"}`: "",
	} {
		body, ok := (&operation{}).Invoked([]byte(payload))
		order, err := parse(body)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintln(order.Parallel, order.Attempts, order.EmptyFirst, order.Manifest)
		}
		if ok != (want != "") || !strings.Contains(got, want) {
			t.Error(payload, got)
		}
	}
}

func TestTheEndOfTheInvocationStopsInTimeAndTheNextDeliveryCopiesTheRest(t *testing.T) {
	store := serve(t, 1)
	store.Latency = 20 * time.Millisecond
	slice(store, 0, many(150, "source/1.mp4")...)
	f, order := start(t, store), ordered(2, ofSlices(0, 1))
	// 1 s until the margin; copying everything takes 1.5 s
	first, _ := f.gives(values{"error_type": "DeadlineExceeded", "planned": nil, "failed": 0},
		order, 4*time.Second)
	done := len(store.Keys(to))
	s3test.Expect(t, first, values{"copied": done, "calls": done})
	store.Latency = 0
	second, _ := f.gives(values{"status": "ok", "planned": 150, "already_there": done,
		"copied": 150 - done, "failed": 0, "bytes": 0}, order)
	// a new sandbox, without anything remembered
	third, _ := start(t, store).gives(values{"status": "ok", "planned": 150, "already_there": 150,
		"calls": 0}, order)
	requests := max(second["requests"].(float64), third["requests"].(float64)) // one for each row
	if done < 10 || done > 120 || requests > 160 {
		t.Error(done, second, third)
	}
}

func TestCallsUnderWayWhenTheHostIsToldToStopComeToTheirEndAndAreCounted(t *testing.T) {
	store := serve(t, 200)
	store.Latency = 50 * time.Millisecond
	ctx, stop := context.WithCancelCause(context.Background())
	told := failure.New(failure.DeadlineExceeded, "the host was stopped")
	time.AfterFunc(175*time.Millisecond, func() { stop(told) })
	line, failed, _ := start(t, store).Process(ctx, sqsevent.Message{Body: ordered(20)},
		time.Now().Add(time.Hour))
	there := len(store.Keys(to))
	copied := fmt.Sprintf(`"copied": %d, `, there)
	if failed != told || there < 20 || there > 150 || !strings.Contains(line, copied) ||
		int(store.Copies.Load()) != there {
		t.Error(store.Copies.Load(), there, line)
	}
}

func TestARefusedDeletionIsRetriedAndADestinationThatIsntEmptyIsAnError(t *testing.T) {
	for code, want := range map[string]values{
		slowDown:        {"status": "ok", "emptied": 2},
		"InternalError": {"error_type": "S3Error", "emptied": 1},
		"AccessDenied":  {"error_type": "AccessDenied", "emptied": 1},
		"":              {"error_type": "DestinationNotEmpty", "emptied": 2, "calls": 0},
	} {
		store, refused := serve(t, 1), 10 // more than one request is tried
		store.Put(to, "a", s3test.Stored{})
		store.Put(to, "b", s3test.Stored{})
		store.Refuse = func(r *http.Request, _, key, _ string) (int, string) {
			if r.Method == http.MethodPost && code == "" {
				store.Put(to, "put by another", s3test.Stored{})
			} else if r.Method == http.MethodDelete && key == "b" && refused > 0 && code != "" {
				refused--
				return 200, code
			}
			return 0, ""
		}
		if code == "" {
			store.PageKeys = 2 // the other's object comes behind what is listed
		}
		start(t, store).gives(want, ordered(1, emptying))
	}
}

func TestNothingButTheDestinationIsEmptiedEvenByAnOrderThatOnlyEmpties(t *testing.T) {
	for _, prefix := range []string{"", "source/", "sour", "source/deep/", "m", "program/",
		"slices/m/1/", "copies/"} {
		store := serve(t, 2)
		store.Put(from, "copies/a", s3test.Stored{})
		want, left := values{"error_type": "SettingsError", "emptied": 0, "requests": 0}, 3
		if prefix == "copies/" {
			left = 2
			want = values{"status": "ok", "emptied": 1, "planned": 0, "elapsed_seconds": 0,
				"warm_up": 1, "slices": 0}
		}
		f := start(t, store, "EXPERIMENT=copy_host", "DESTINATION_BUCKET_NAME="+from,
			"DESTINATION_PREFIX="+prefix)
		f.gives(want, ordered(1, emptying,
			`"manifest": "slices/m/", "first_slice": 0, "slices": 0, "warm_up": 1`))
		if keys := store.Keys(from); len(keys) != left {
			t.Error(prefix, keys)
		}
	}
}

func TestTheQuotaIsTheOneThatBothLanguagesAgreedOn(t *testing.T) {
	var rules struct {
		Ours     string
		Standard map[string]values
	}
	agreed.Read(t, "retries.json", &rules)
	s3test.Expect(t, rules.Standard[rules.Ours], values{
		"tokens": quotaTokens, "retry_cost": retryCost, "throttle_cost": retryCost,
		"timeout_cost": timeoutCost, "success_gain": unretriedGain, "longest_pause_s": longestPause,
	})
}

func TestThePaceHearsOfSlowDown(t *testing.T) {
	store := serve(t, 0)
	store.Refuse = func(*http.Request, string, string, string) (int, string) {
		return 503, slowDown
	}
	seen, rate := observe(), newAdaptive(0)
	j := &job{route: start(t, store).route, seen: seen,
		pacer: &pacer{began: seen.began, rate: rate}}
	if _ = j.try(t.Context(), &tries{}); rate.phase != measuring {
		t.Error(rate.phase)
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
	if points := len(track.points); points > mostPoints || points < mostPoints/2 {
		t.Error(points)
	}
}
