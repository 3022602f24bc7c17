package express

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

const (
	general   = "stampede-test"
	directory = "stampede-test--use1-az4--x-s3"
)

type values = map[string]any

// start makes the function of an environment with changes ("NAME=value"). Retries are fast.
func start(t *testing.T, changes ...string) (*s3test.Function, *operation) {
	t.Helper()
	made := New(context.Background(), s3test.Lookup(map[string]string{
		"EXPERIMENT": "express", "CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "2048",
		"EXPERIMENT_TAG": "tag", "AWS_REGION": "us-east-1", "OPERATION": "upload",
		"PLACEMENT": "any_zone", "BUCKET_NAME": general, "EXPRESS_BUCKET_NAME": directory,
	}, changes...)).(*operation)
	for _, b := range made.buckets {
		if b != nil {
			b.Retry.FirstPause = time.Millisecond
		}
	}
	return s3test.NewFunction(t, "express", made), made
}

// gives delivers one message, whose record must have these values.
func gives(t *testing.T, want values, change, body string, remaining ...time.Duration) values {
	t.Helper()
	f, _ := start(t, change)
	return f.Gives(want, body, remaining...)
}

// ordered is a work order of four objects of 1,000 bytes.
func ordered(changes ...string) string {
	return s3test.Order(map[string]string{"storage_class": `"express"`, "object_bytes": "1000",
		"object_count": "100", "slices": "25", "parallel_limit": "8", "first_object": "20",
		"objects": "4"}, changes...)
}

const (
	inStandard = `"storage_class": "standard"`
	oneAtATime = `"parallel_limit": 1`
	uploading  = "OPERATION=upload"
	getting    = "OPERATION=download"
)

var ok = values{"status": "ok"}

// many is a work order of more objects.
func many(parallel, objects int, changes ...string) string {
	return ordered(append(changes, `"first_object": 0`, fmt.Sprintf(`"objects": %d`, objects),
		fmt.Sprintf(`"parallel_limit": %d`, parallel))...)
}

func serve(t *testing.T) *s3test.Store { return s3test.StartStore(t, general, directory) }

func TestASliceIsUploadedAndDownloadedInBothClassesAndTheRecordSaysSo(t *testing.T) {
	s := serve(t)
	up, _ := start(t)
	down, _ := start(t, getting, "PLACEMENT=same_zone")
	for _, c := range []struct {
		class, bucket string
		sessions      int
	}{{standard, general, 0}, {oneZone, directory, 1}} {
		order := ordered(fmt.Sprintf(`"storage_class": %q`, c.class), `"warm_up": 1`)
		up.Gives(values{"status": "ok", "method": "put_object", "operation": "upload",
			"storage_class": c.class, "bytes": 4000, "placement": "any_zone", "object_bytes": 1000,
			"object_count": 100, "parallel_limit": 8, "slices": 25, "first_object": 20,
			"objects": 4, "sessions": c.sessions, "requests": 4 + c.sessions, "retries": 0,
			"retry_mode": "standard", "retry_attempts": 4, "sdk": bucket.SDK,
			"experiment": "express", "warm_up": 1}, order)
		record := down.Gives(values{"status": "ok", "method": "get_object", "operation": "download",
			"placement": "same_zone", "bytes": 4000, "sessions": c.sessions}, order)
		number := func(key string) float64 { return record[key].(float64) }
		if elapsed := number("elapsed_seconds"); elapsed <= 0 ||
			number("set_seconds") < 24.99*elapsed || number("objects_per_s") < 3.99/elapsed ||
			number("request_p50_ms") > number("request_max_ms") ||
			number("request_max_ms") > 1000*elapsed ||
			(record["session_ms"] != nil) != (c.class == oneZone) {
			t.Error(record)
		}
		uploaded, keys := set{1000, 100}, s.Keys(c.bucket)
		if len(keys) != 4 || keys[0] != uploaded.key(20) || keys[3] != uploaded.key(23) {
			t.Error(keys)
		}
	}
	if modes := fmt.Sprint(s.ForgetSessions()); modes != "[ReadWrite ReadOnly]" {
		t.Error(modes)
	}
}

// after calls do before the answers to requests of a kind, beginning with the given number. Every
// request takes a while.
func after(s *s3test.Store, while time.Duration, kind string, from int,
	do func() (status int, code string)) {
	s.Refuse = s3test.Numbered(func(asked string, number int) (int, string) {
		if time.Sleep(while); asked == kind && number >= from {
			return do()
		}
		return 0, ""
	})
}

// What S3 does with an upload, or with a download of existing objects, and what the record says.
func TestWhateverS3DoesIsRetriedOrEndsTheWorkAndTheRecordSaysSo(t *testing.T) {
	const renewBefore = 20 * time.Second // the bucket's
	refused := func() (int, string) { return 403, "AccessDenied" }
	isThere := func(body []byte) func(*s3test.Store) {
		object := s3test.Stored{Body: body}
		return func(s *s3test.Store) { s.Put(directory, set{1000, 100}.key(22), object) }
	}
	for name, c := range map[string]struct {
		operation, order string
		s3               func(*s3test.Store)
		want             values
	}{
		"one session for many": {uploading, many(100, 100), nil,
			values{"status": "ok", "sessions": 1, "requests": 101}},
		"a session that expires": {uploading, many(2, 20), func(s *s3test.Store) {
			s.Life = renewBefore + 300*time.Millisecond
			after(s, 50*time.Millisecond, "session", 2,
				func() (int, string) { s.Life = time.Hour; return 0, "" })
		}, values{"status": "ok", "sessions": 2, "requests": 22, "retries": 0}},
		"a session that is forgotten": {uploading, many(16, 100), func(s *s3test.Store) {
			forget := sync.OnceFunc(func() { s.ForgetSessions() })
			after(s, time.Millisecond, http.MethodPut, 30,
				func() (int, string) { forget(); return 0, "" })
		}, values{"status": "ok", "bytes": 100_000, "sessions": 2}},
		"no right to one": {uploading, ordered(oneAtATime),
			func(s *s3test.Store) { after(s, 0, "session", 1, refused) },
			values{"error_type": "AccessDenied", "error_message": "may not open a session",
				"sessions": 1, "requests": 1, "request_p50_ms": nil, "set_seconds": nil}},
		"cut bodies": {getting, ordered(), func(s *s3test.Store) { s.Cuts = 2 },
			values{"status": "ok", "bytes": 4000, "retries": 2, "requests": 7}},
		"too slow": {uploading, ordered(inStandard, oneAtATime, `"objects": 80`),
			func(s *s3test.Store) { after(s, 100*time.Millisecond, "none", 0, nil) },
			values{"error_type": "DeadlineExceeded", "error_message": "timeout_s"}},
		"another object": {getting, ordered(), isThere(make([]byte, 1000)),
			values{"error_type": "ObjectChanged", "error_message": "000000022.json", "retries": 0}},
		"a long object": {getting, ordered(), isThere(set{1100, 100}.bytesOf(22)),
			values{"error_type": "SizeMismatch", "error_message": "1100"}},
		"a small disk": {getting, ordered(`"object_bytes": 1000000000`, `"object_count": 100000`,
			`"parallel_limit": 1000`, `"objects": 50000`), nil,
			values{"error_type": "NoSpace", "error_message": "don't fit", "requests": 1}},
		"half a listing": {uploading, ordered(`"only_missing": 1`), func(s *s3test.Store) {
			after(s, 0, "list", 1,
				func() (int, string) { return 200, "<ListBucketResult><nonsense" })
		}, values{"error_type": "S3Error", "error_message": "ListObjectsV2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			if c.operation == getting {
				gives(t, ok, uploading, ordered())
			}
			remaining := time.Minute
			if name == "too slow" {
				remaining = 3400 * time.Millisecond
			}
			if c.s3 != nil {
				c.s3(s)
			}
			gives(t, c.want, c.operation, c.order, remaining)
		})
	}
}

func TestWrongSettingsAndOrdersAreRefusedWithoutARequest(t *testing.T) {
	serve(t)
	for _, c := range []struct{ change, order, kind, said string }{
		{"OPERATION=count", ordered(), "SettingsError", "OPERATION"},
		{"EXPRESS_BUCKET_NAME=", ordered(), "SettingsError", "EXPRESS_BUCKET_NAME"},
		{getting, ordered(`"only_missing": 1`), "WorkOrderError", "only_missing"},
		{"", ordered(`"start_at_ms": 9000000000000`), "StartTooLate", "start_at_ms"},
		{"", ordered("storage_class"), "WorkOrderError", "storage_class"},
		{"", ordered(`"object_bytes": 99`), "WorkOrderError", "from 100 to"},
		{"", ordered(`"first_object": 100`), "WorkOrderError", "from 0 to 99"},
		{"", ordered(`"objects": 81`), "WorkOrderError", "from 1 to 80"},
		{"", ordered(`"manifest": "m/"`), "WorkOrderError", "unknown key"},
		{"AWS_", ordered(), "NoCredentials", "credentials"},
	} {
		if c.change == "AWS_" {
			t.Setenv("AWS_ACCESS_KEY_ID", "")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		}
		want := values{"error_type": c.kind, "error_message": c.said, "requests": 0}
		gives(t, want, c.change, c.order)
	}
}

func TestWithoutAnEndpointTheExpressBucketMustBeADirectoryBucket(t *testing.T) {
	serve(t)
	standIn := values{"status": "ok", "sessions": 0, "session_ms": nil, "slices": 1}
	gives(t, standIn, "EXPRESS_BUCKET_NAME="+general, ordered("slices"))
	t.Setenv("AWS_ENDPOINT_URL", "")
	for name, fits := range map[string]bool{
		"no-zone--x-s3": false, "name--use1-az4": false, "Name--use1-az4--x-s3": false,
		directory: true, "a-b--usw2-lax1-az1--x-s3": true,
	} {
		_, made := start(t, "EXPRESS_BUCKET_NAME="+name)
		if kind, _ := failure.Describe(made.wrong); (made.wrong == nil) != fits ||
			!fits && kind != failure.Settings {
			t.Error(name, made.wrong)
		}
	}
}

func TestATemporaryFolderThatFillsUpIsNoSpace(t *testing.T) {
	serve(t)
	gives(t, ok, uploading, ordered())
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("only Linux has such a device")
	}
	defer full.Close()
	_, made := start(t, getting)
	work := &slice{order: &order{set: set{1000, 100}}, bucket: made.buckets[oneZone],
		seen: observe()}
	_ = work.bucket.Prime(t.Context(), work.seen)
	err = work.get(t.Context(), work.key(20), 0, full, make([]byte, 1000))
	kind, said := failure.Describe(err)
	if kind != failure.NoSpace || !strings.Contains(said, "ephemeral_storage_mb") {
		t.Error(kind, said)
	}
}

// openBelow counts this process's open files in a folder, also those without a name.
func openBelow(folder string) (files int) {
	descriptors, _ := filepath.Glob("/proc/self/fd/*")
	for _, descriptor := range descriptors {
		if file, _ := os.Readlink(descriptor); strings.HasPrefix(file, folder) {
			files++
		}
	}
	return files
}

// A sandbox has only 1,024 file descriptors.
func TestManyRequestsNeedOneFileAndNoConnectionsToTheOtherClass(t *testing.T) {
	s := serve(t)
	gives(t, ok, uploading, many(8, 100, inStandard))
	gives(t, ok, uploading, ordered())
	s.Refuse = s3test.Numbered(func(kind string, number int) (int, string) {
		files := openBelow(os.Getenv("TMPDIR"))
		if kind == http.MethodGet && number < 100 && files != 1 {
			t.Error(files)
		}
		return 0, ""
	})
	f, _ := start(t, getting)
	f.Gives(ok, many(50, 100, inStandard))
	before := s.Connections.Load()
	f.Gives(ok, ordered(oneAtATime))
	for deadline := time.Now().Add(time.Second); s.Connections.Load() > before-20; {
		if time.Now().After(deadline) {
			t.Fatal(before, s.Connections.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestALargeObjectIsNeverInMemory(t *testing.T) {
	content := set{60_000_000, 100}.content(20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", "60000000")
			for _, piece := range content {
				_, _ = w.Write(piece)
			}
		}
	}))
	defer server.Close()
	s3test.Isolate(t, server.URL)
	for _, operation := range []string{uploading, getting} {
		var before, after runtime.MemStats
		f, _ := start(t, operation)
		runtime.ReadMemStats(&before)
		f.Gives(values{"status": "ok", "bytes": 60_000_000},
			ordered(inStandard, `"object_bytes": 60000000`, `"objects": 1`))
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
			t.Error(made)
		}
	}
}

func TestPlacingUploadsWhatIsMissingOrHasAnotherSizeInAnyOrderOfTheListing(t *testing.T) {
	s := serve(t)
	s.PageKeys = 3
	f, _ := start(t)
	asked, there := set{1000, 40}, s3test.Stored{Body: make([]byte, 1000)}
	for _, i := range []int64{0, 10, 11, 12, 13, 15, 28, 29, 31} { // 31 is in another slice
		s.Put(directory, asked.key(i), there)
	}
	s.Put(directory, asked.key(20), s3test.Stored{Body: make([]byte, 999)})
	s.Put(directory, asked.prefix()+"16.json", there) // no key of the set
	s.Put(directory, set{1000, 41}.key(17), there)
	place := func(want values) {
		answer, err := f.Deliver(`{"place": {"storage_class": "express", "object_bytes": 1000,
			"object_count": 40, "first_object": 10, "objects": 20, "parallel_limit": 4}}`)
		if err != nil {
			t.Fatal(err)
		}
		s3test.Expect(t, f.Record(string(answer.(json.RawMessage))), want)
	}
	// one session, five pages, and 13 of the 20 objects
	place(values{"status": "ok", "operation": "upload", "bytes": 13_000, "objects": 20,
		"sessions": 1, "requests": 19, "run_id": "place"})
	if keys := s.Keys(directory); len(keys) != 24 {
		t.Error(keys)
	}
	place(values{"status": "ok", "sessions": 1, "bytes": 0, "objects_per_s": 0, "set_seconds": nil})
	for _, event := range []string{`{}`, `{"Records": [], "place": {}}`, `{"place": [1]}`} {
		if body, ok := (&operation{}).Invoked(json.RawMessage(event)); ok {
			t.Error(event, body)
		}
	}
}
