package express

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

// function is the operation as Lambda runs it.
type function struct {
	*s3test.Function
	*operation
}

// start makes the function of an environment with changes ("NAME=value"). Pauses before retries are short.
func start(t *testing.T, changes ...string) *function {
	t.Helper()
	made := New(context.Background(), s3test.Lookup(map[string]string{
		"EXPERIMENT": "express", "CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "2048", "EXPERIMENT_TAG": "experiment 01", "AWS_REGION": "us-east-1",
		"OPERATION": "upload", "PLACEMENT": "any_zone", "BUCKET_NAME": general, "EXPRESS_BUCKET_NAME": directory,
	}, changes...)).(*operation)
	for _, b := range made.buckets {
		if b != nil {
			b.Retry.FirstPause = time.Millisecond
		}
	}
	return &function{s3test.NewFunction(t, "express", made), made}
}

// class is the change of an order for a class.
func class(of string) string { return fmt.Sprintf(`"storage_class": %q`, of) }

func TestASliceIsUploadedAndDownloadedInBothClassesAndTheRecordSaysSo(t *testing.T) {
	s := startStub(t)
	up, down := start(t), start(t, "OPERATION=download", "PLACEMENT=same_zone")
	for _, c := range []struct {
		class, bucket string
		sessions      any
	}{{standard, general, 0}, {oneZone, directory, 1}} {
		record := up.Invoke(ordered(class(c.class)))
		s3test.Expect(t, record, map[string]any{"status": "ok", "method": "put_object", "operation": "upload", "storage_class": c.class, "bytes": 4000,
			"placement": "any_zone", "object_bytes": 1000, "object_count": 100, "parallel_limit": 8, "slices": 25, "first_object": 20, "objects": 4,
			"sessions": c.sessions, "requests": 4 + c.sessions.(int), "retries": 0, "retry_mode": "standard", "retry_attempts": 4, "sdk": bucket.SDK,
			"experiment": "express"})
		record = down.Invoke(ordered(class(c.class)))
		s3test.Expect(t, record, map[string]any{"status": "ok", "method": "get_object", "operation": "download", "placement": "same_zone", "bytes": 4000,
			"sessions": c.sessions})
		if elapsed := record["elapsed_seconds"].(float64); elapsed <= 0 || record["set_seconds"].(float64) < 24.99*elapsed ||
			record["objects_per_s"].(float64) < 3.99/elapsed || record["request_p50_ms"].(float64) > record["request_max_ms"].(float64) ||
			record["request_max_ms"].(float64) > 1000*elapsed {
			t.Error(record)
		}
		if took := record["session_ms"]; (took != nil) != (c.class == oneZone) {
			t.Error(took)
		}
		for i := range int64(100) {
			if found, there := s.objects[c.bucket+"/"+(set{1000, 100}).key(i)]; there != (i >= 20 && i < 24) || there && found.bytes != 1000 {
				t.Error(i, found)
			}
		}
	}
	if !slices.Equal(s.modes, []string{"ReadWrite", "ReadOnly"}) {
		t.Error(s.modes)
	}
}

func TestOneSessionServesHoweverManyRequestsAtOnceAndEveryMessageHasItsOwn(t *testing.T) {
	s := startStub(t)
	f, order := start(t), ordered(`"parallel_limit": 100`, `"first_object": 0`, `"objects": 100`)
	for number := range 2 {
		s3test.Expect(t, f.Invoke(order), map[string]any{"status": "ok", "sessions": 1, "requests": 101})
		if asked := s.count("session"); asked != number+1 {
			t.Error(asked)
		}
	}
}

func TestASessionIsRenewedBeforeItExpires(t *testing.T) {
	s := startStub(t)
	s.life, s.silent = 20*time.Second+300*time.Millisecond, 50*time.Millisecond
	s.refuse = func(_ *http.Request, kind string, asked int) (int, string) {
		if kind == "session" && asked == 2 {
			s.life = time.Hour
		}
		return 0, ""
	}
	record := start(t).Invoke(ordered(`"parallel_limit": 2`, `"first_object": 0`, `"objects": 20`))
	s3test.Expect(t, record, map[string]any{"status": "ok", "sessions": 2, "requests": 22, "retries": 0})
}

func TestASessionThatS3CallsExpiredIsRenewedOnceForAllRequestsUnderWay(t *testing.T) {
	s := startStub(t)
	s.silent = time.Millisecond
	s.refuse = func(_ *http.Request, kind string, asked int) (int, string) {
		if kind == http.MethodPut && asked == 30 { // in mid-run all sessions so far are forgotten
			for token, known := range s.sessions {
				known.expires = time.Time{}
				s.sessions[token] = known
			}
		}
		return 0, ""
	}
	record := start(t).Invoke(ordered(`"parallel_limit": 16`, `"first_object": 0`, `"objects": 100`))
	s3test.Expect(t, record, map[string]any{"status": "ok", "bytes": 100_000, "sessions": 2})
	if retries := record["retries"].(float64); retries < 1 || retries > 16 || record["requests"] != 102+retries {
		t.Error(record)
	}
}

func TestASessionThatIsExpiredAgainAfterItWasRenewedIsNoCredentials(t *testing.T) {
	s := startStub(t)
	s.refuse = func(_ *http.Request, kind string, _ int) (int, string) {
		return map[string]int{http.MethodPut: 400}[kind], "ExpiredToken"
	}
	record := start(t).Invoke(ordered(`"parallel_limit": 1`))
	s3test.Expect(t, record, map[string]any{"error_type": "NoCredentials", "error_message": "PutObject 400 ExpiredToken", "sessions": 2, "requests": 4, "bytes": 0,
		"request_p50_ms": nil, "set_seconds": nil})
}

func TestARefusedSessionEndsTheWorkBeforeAnyObjectAndSaysWhy(t *testing.T) {
	for code, c := range map[string]struct {
		status       int
		kind, reason string
	}{
		"AccessDenied": {403, "AccessDenied", "CreateSession 403 AccessDenied: the role may not open a session"},
		"NoSuchBucket": {404, "NoSuchBucket", "EXPRESS_BUCKET_NAME"},
		"SlowDown":     {503, "SlowDown", "(after all retries)"},
	} {
		s := startStub(t)
		s.refuse = func(_ *http.Request, kind string, _ int) (int, string) {
			return map[string]int{"session": c.status}[kind], code
		}
		record := start(t).Invoke(ordered())
		s3test.Expect(t, record, map[string]any{"error_type": c.kind, "error_message": c.reason, "bytes": 0})
		if s.count(http.MethodPut) > 0 || record["sessions"] != record["requests"] {
			t.Error(code, record)
		}
	}
}

func TestASessionThatIsRefusedInMidRunSaysWhy(t *testing.T) {
	s := startStub(t)
	s.life, s.silent = 20*time.Second+400*time.Millisecond, 20*time.Millisecond
	s.refuse = func(_ *http.Request, kind string, asked int) (int, string) {
		if kind == "session" && asked > 1 {
			return 403, "AccessDenied"
		}
		return 0, ""
	}
	record := start(t).Invoke(ordered(`"parallel_limit": 2`, `"first_object": 0`, `"objects": 100`))
	s3test.Expect(t, record, map[string]any{"error_type": "AccessDenied", "error_message": "CreateSession 403", "sessions": 2})
	if bytes := record["bytes"].(float64); bytes < 1000 || bytes > 98_000 {
		t.Error(record)
	}
}

func TestTheFirstObjectThatFailsEndsTheWork(t *testing.T) {
	s := startStub(t)
	s3test.Expect(t, start(t).Invoke(ordered(class(standard), `"objects": 80`)), map[string]any{"status": "ok"})
	s.silent = time.Millisecond
	s.refuse = func(_ *http.Request, kind string, asked int) (int, string) {
		return map[bool]int{true: 404}[kind == http.MethodGet && asked > 40], "NoSuchKey"
	}
	record := start(t, "OPERATION=download").Invoke(ordered(class(standard), `"parallel_limit": 2`, `"objects": 80`))
	s3test.Expect(t, record, map[string]any{"error_type": "NoSuchKey", "error_message": "GetObject 404 NoSuchKey: the object doesn't exist"})
	if asked, bytes := s.count(http.MethodGet), record["bytes"].(float64); asked > 42 || bytes < 39_000 || bytes > 40_000 {
		t.Error(asked, bytes)
	}
}

func TestWhatFailsInPassingIsTriedAgainAndCounted(t *testing.T) {
	s := startStub(t)
	refused := 0
	s.refuse = func(_ *http.Request, kind string, asked int) (int, string) {
		if kind != "session" && asked%5 == 0 && refused < 6 {
			refused++
			return []int{503, 500, 400}[refused%3], []string{"SlowDown", "InternalError", "RequestTimeout"}[refused%3]
		}
		return 0, ""
	}
	up := start(t).Invoke(ordered(`"objects": 20`))
	s.cuts = 2
	down := start(t, "OPERATION=download").Invoke(ordered(`"objects": 20`))
	s3test.Expect(t, up, map[string]any{"status": "ok", "bytes": 20_000})
	s3test.Expect(t, down, map[string]any{"status": "ok", "bytes": 20_000})
	if retries := up["retries"].(float64) + down["retries"].(float64); retries != 8 || up["requests"].(float64)+down["requests"].(float64) != 50 {
		t.Error(up, down)
	}
}

func TestTheDeadlineEndsTheWork(t *testing.T) {
	s := startStub(t)
	s.silent = 150 * time.Millisecond
	began := time.Now()
	record := start(t).Invoke(ordered(class(standard), `"parallel_limit": 1`, `"objects": 80`), 4*time.Second)
	s3test.Expect(t, record, map[string]any{"error_type": "DeadlineExceeded", "error_message": "raise timeout_s or make the slice smaller"})
	if took := time.Since(began); took > 3900*time.Millisecond || record["bytes"].(float64) < 1000 {
		t.Error(took, record)
	}
}

func TestWhatIsNoneOfThisFunctionsWorkIsRefused(t *testing.T) {
	startStub(t)
	for environment, c := range map[string]struct{ order, kind, said string }{
		"OPERATION=count":                       {ordered(), "SettingsError", "OPERATION count is a query, which stampede runs in Athena"},
		"OPERATION=aggregate":                   {ordered(), "SettingsError", "OPERATION aggregate is a query"},
		"OPERATION=delete":                      {ordered(), "SettingsError", "OPERATION must be one of upload, download, count, aggregate"},
		"PLACEMENT=elsewhere":                   {ordered(), "SettingsError", "PLACEMENT must be one of any_zone, same_zone"},
		"EXPRESS_BUCKET_NAME=":                  {ordered(), "SettingsError", "EXPRESS_BUCKET_NAME is missing"},
		"OPERATION=download":                    {ordered(`"only_missing": 1`), "WorkOrderError", "only_missing is for the function with OPERATION=upload"},
		"EXPERIMENT_TAG=what the body says":     {"nonsense", "WorkOrderError", "isn't JSON"},
		"EXPERIMENT_TAG=too late for the start": {ordered(`"start_at_ms": 9000000000000`), "StartTooLate", "start_at_ms"},
	} {
		s3test.Expect(t, start(t, environment).Invoke(c.order), map[string]any{"status": "error", "error_type": c.kind, "error_message": c.said, "requests": 0})
	}
}

func TestWithoutAnEndpointTheExpressBucketMustBeADirectoryBucket(t *testing.T) {
	startStub(t)
	plain := start(t, "EXPRESS_BUCKET_NAME="+general).Invoke(ordered())
	s3test.Expect(t, plain, map[string]any{"status": "ok", "sessions": 0, "session_ms": nil}) // a general bucket stands in
	t.Setenv("AWS_ENDPOINT_URL", "")
	for name, fits := range map[string]bool{
		"no-zone--x-s3": false, "name--use1-az4": false, "Name--use1-az4--x-s3": false, directory: true, "a-b--usw2-lax1-az1--x-s3": true,
	} {
		wrong := start(t, "EXPRESS_BUCKET_NAME="+name).wrong
		if kind, _ := failure.Describe(wrong); (wrong == nil) != fits || !fits && kind != failure.Settings {
			t.Error(name, wrong)
		}
	}
}
