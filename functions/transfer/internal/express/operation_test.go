package express

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

const (
	general   = "stampede-test"
	directory = "stampede-test--use1-az4--x-s3"
)

type values = map[string]any

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

// ordered is a work order of four objects of 1,000 bytes.
func ordered(changes ...string) string {
	return s3test.Order(map[string]string{"storage_class": `"express"`, "object_bytes": "1000", "object_count": "100", "slices": "25",
		"parallel_limit": "8", "first_object": "20", "objects": "4"}, changes...)
}

const (
	inStandard = `"storage_class": "standard"`
	oneAtATime = `"parallel_limit": 1`
)

// many is the change of an order to more objects.
func many(parallel, objects int) string {
	return ordered(fmt.Sprintf(`"parallel_limit": %d`, parallel), `"first_object": 0`, fmt.Sprintf(`"objects": %d`, objects))
}

func serve(t *testing.T) *s3test.Store { return s3test.StartStore(t, general, directory) }

func TestASliceIsUploadedAndDownloadedInBothClassesAndTheRecordSaysSo(t *testing.T) {
	s := serve(t)
	up, down := start(t), start(t, "OPERATION=download", "PLACEMENT=same_zone")
	for _, c := range []struct {
		class, bucket string
		sessions      int
	}{{standard, general, 0}, {oneZone, directory, 1}} {
		order := ordered(fmt.Sprintf(`"storage_class": %q`, c.class), `"warm_up": 1`)
		s3test.Expect(t, up.Invoke(order), values{"status": "ok", "method": "put_object", "operation": "upload", "storage_class": c.class, "bytes": 4000,
			"placement": "any_zone", "object_bytes": 1000, "object_count": 100, "parallel_limit": 8, "slices": 25, "first_object": 20, "objects": 4,
			"sessions": c.sessions, "requests": 4 + c.sessions, "retries": 0, "retry_mode": "standard", "retry_attempts": 4, "sdk": bucket.SDK,
			"experiment": "express", "warm_up": 1})
		record := down.Invoke(order)
		s3test.Expect(t, record, values{"status": "ok", "method": "get_object", "operation": "download", "placement": "same_zone", "bytes": 4000,
			"sessions": c.sessions})
		if elapsed := record["elapsed_seconds"].(float64); elapsed <= 0 || record["set_seconds"].(float64) < 24.99*elapsed ||
			record["objects_per_s"].(float64) < 3.99/elapsed || record["request_p50_ms"].(float64) > record["request_max_ms"].(float64) ||
			record["request_max_ms"].(float64) > 1000*elapsed || (record["session_ms"] != nil) != (c.class == oneZone) {
			t.Error(record)
		}
		if keys := s.Keys(c.bucket); len(keys) != 4 || keys[0] != (set{1000, 100}).key(20) || keys[3] != (set{1000, 100}).key(23) {
			t.Error(keys)
		}
	}
	if modes := fmt.Sprint(s.ForgetSessions()); modes != "[ReadWrite ReadOnly]" {
		t.Error(modes)
	}
}

// after does something before the answer to a request of a kind, from one number on; all requests take a while.
func after(s *s3test.Store, while time.Duration, kind string, from int, do func() (status int, code string)) {
	s.Refuse = s3test.Numbered(func(asked string, number int) (int, string) {
		if time.Sleep(while); asked == kind && number >= from {
			return do()
		}
		return 0, ""
	})
}

// What S3 does with an upload or a download of objects that are there, and what the record says.
func TestWhateverS3DoesIsTriedAgainOrEndsTheWorkAndTheRecordSaysSo(t *testing.T) {
	const renewBefore = 20 * time.Second // the bucket's
	refused := func() (int, string) { return 403, "AccessDenied" }
	isThere := func(body []byte) func(*s3test.Store) {
		return func(s *s3test.Store) { s.Put(directory, set{1000, 100}.key(22), s3test.Stored{Body: body}) }
	}
	for name, c := range map[string]struct {
		operation, order string
		remaining        time.Duration
		s3               func(*s3test.Store)
		want             values
	}{
		"one session for many": {upload, many(100, 100), time.Minute, func(*s3test.Store) {}, values{"status": "ok", "sessions": 1, "requests": 101}},
		"a session that expires": {upload, many(2, 20), time.Minute, func(s *s3test.Store) {
			s.Life = renewBefore + 300*time.Millisecond
			after(s, 50*time.Millisecond, "session", 2, func() (int, string) { s.Life = time.Hour; return 0, "" })
		}, values{"status": "ok", "sessions": 2, "requests": 22, "retries": 0}},
		"a session that is forgotten": {upload, many(16, 100), time.Minute, func(s *s3test.Store) {
			forget := sync.OnceFunc(func() { s.ForgetSessions() })
			after(s, time.Millisecond, http.MethodPut, 30, func() (int, string) { forget(); return 0, "" })
		}, values{"status": "ok", "bytes": 100_000, "sessions": 2}},
		"no right to one": {upload, ordered(oneAtATime), time.Minute, func(s *s3test.Store) { after(s, 0, "session", 1, refused) },
			values{"error_type": "AccessDenied", "error_message": "may not open a session", "sessions": 1, "requests": 1, "request_p50_ms": nil, "set_seconds": nil}},
		"no right any more": {upload, many(2, 100), time.Minute, func(s *s3test.Store) {
			s.Life = renewBefore + 200*time.Millisecond
			after(s, 20*time.Millisecond, "session", 2, refused)
		}, values{"error_type": "AccessDenied", "error_message": "CreateSession 403", "sessions": 2}},
		"bodies that are cut": {download, ordered(), time.Minute, func(s *s3test.Store) { s.Cuts = 2 },
			values{"status": "ok", "bytes": 4000, "retries": 2, "requests": 7}},
		"too slow": {upload, ordered(inStandard, oneAtATime, `"objects": 80`), 3400 * time.Millisecond,
			func(s *s3test.Store) { after(s, 100*time.Millisecond, "none", 0, nil) }, values{"error_type": "DeadlineExceeded", "error_message": "raise timeout_s"}},
		"another object": {download, ordered(), time.Minute, isThere(make([]byte, 1000)),
			values{"error_type": "ObjectChanged", "error_message": "000000022.json", "retries": 0}},
		"a long object": {download, ordered(), time.Minute, isThere(set{1100, 100}.bytesOf(22)),
			values{"error_type": "SizeMismatch", "error_message": "1100"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			if c.operation == download {
				s3test.Expect(t, start(t).Invoke(ordered()), values{"status": "ok"})
			}
			c.s3(s)
			s3test.Expect(t, start(t, "OPERATION="+c.operation).Invoke(c.order, c.remaining), c.want)
		})
	}
}

func TestWhatIsNoneOfThisFunctionsWorkIsRefusedWithoutARequest(t *testing.T) {
	serve(t)
	for _, c := range []struct{ environment, order, kind, said string }{
		{"OPERATION=count", ordered(), "SettingsError", "query"},
		{"OPERATION=delete", ordered(), "SettingsError", "OPERATION"},
		{"EXPRESS_BUCKET_NAME=", ordered(), "SettingsError", "EXPRESS_BUCKET_NAME"},
		{"OPERATION=download", ordered(`"only_missing": 1`), "WorkOrderError", "only_missing"},
		{"", ordered(`"start_at_ms": 9000000000000`), "StartTooLate", "start_at_ms"},
		{"", ordered("storage_class"), "WorkOrderError", "storage_class"},
		{"", ordered(`"object_bytes": 99`), "WorkOrderError", "from 100 to"},
		{"", ordered(`"first_object": 100`), "WorkOrderError", "from 0 to 99"},
		{"", ordered(`"objects": 81`), "WorkOrderError", "from 1 to 80"},
		{"", ordered(`"manifest": "m/"`), "WorkOrderError", "unknown key"},
		{"AWS_ACCESS_KEY_ID=", ordered(), "NoCredentials", "credentials"},
	} {
		if strings.HasPrefix(c.environment, "AWS_") {
			t.Setenv("AWS_ACCESS_KEY_ID", "")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		}
		s3test.Expect(t, start(t, c.environment).Invoke(c.order), values{"status": "error", "error_type": c.kind, "error_message": c.said, "requests": 0})
	}
}

func TestPlacingThatFailsIsAnErrorOfTheFunction(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		operation, payload string
		status             int
		code, word, said   string
	}{
		{upload, placed, 403, "AccessDenied", "AccessDenied", "ListObjectsV2"},
		{upload, placed, 200, "<ListBucketResult><nonsense", "S3Error", "ListObjectsV2"},
	} {
		after(s, 0, "list", 1, func() (int, string) { return c.status, c.code })
		_, err := start(t, "OPERATION="+c.operation).place(c.payload)
		if failed, ok := err.(messages.InvokeResponse_Error); !ok || failed.Type != c.word || !strings.Contains(failed.Message, c.said) {
			t.Error(c.payload, err)
		}
	}
	for _, event := range []string{`{}`, `{"Records": [], "place": {}}`, `{"place": [1]}`} {
		if body, ok := (&operation{}).Invoked(json.RawMessage(event)); ok {
			t.Errorf("%s: %s", event, body)
		}
	}
}

func TestWithoutAnEndpointTheExpressBucketMustBeADirectoryBucket(t *testing.T) {
	serve(t)
	plain := start(t, "EXPRESS_BUCKET_NAME="+general).Invoke(ordered("slices"))
	s3test.Expect(t, plain, values{"status": "ok", "sessions": 0, "session_ms": nil, "slices": 1}) // a general bucket stands in
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

func TestATemporaryFolderThatIsTooSmallOrFillsUpIsNoSpace(t *testing.T) {
	serve(t)
	s3test.Expect(t, start(t).Invoke(ordered()), values{"status": "ok"})
	f := start(t, "OPERATION=download")
	record := f.Invoke(ordered(`"object_bytes": 1000000000`, `"object_count": 100000`, `"parallel_limit": 1000`, `"objects": 50000`))
	s3test.Expect(t, record, values{"error_type": "NoSpace", "error_message": "don't fit", "requests": 1})
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("only Linux has such a device")
	}
	defer full.Close()
	work := &slice{order: &order{set: set{1000, 100}}, bucket: f.buckets[oneZone], seen: observe()}
	_ = work.bucket.Prime(t.Context(), work.seen)
	kind, said := failure.Describe(work.get(t.Context(), work.key(20), 0, full, make([]byte, 1000)))
	if kind != failure.NoSpace || !strings.Contains(said, "raise ephemeral_storage_mb") {
		t.Error(kind, said)
	}
}

// openBelow lists the files of this process in a folder, also those that have no name any more.
func openBelow(folder string) (files []string) {
	descriptors, _ := filepath.Glob("/proc/self/fd/*")
	for _, descriptor := range descriptors {
		if file, _ := os.Readlink(descriptor); strings.HasPrefix(file, folder) {
			files = append(files, file)
		}
	}
	return files
}

// 1,024 file descriptors are all that a sandbox has.
func TestManyRequestsAtATimeNeedOneFileMoreAndNoConnectionsOfTheOtherClass(t *testing.T) {
	s := serve(t)
	s3test.Expect(t, start(t).Invoke(ordered(inStandard, `"first_object": 0`, `"objects": 100`)), values{"status": "ok"})
	s3test.Expect(t, start(t).Invoke(ordered()), values{"status": "ok"})
	s.Refuse = s3test.Numbered(func(kind string, number int) (int, string) {
		if files := openBelow(os.Getenv("TMPDIR")); kind == http.MethodGet && number < 100 && len(files) != 1 {
			t.Error(files)
		}
		return 0, ""
	})
	f := start(t, "OPERATION=download")
	s3test.Expect(t, f.Invoke(ordered(inStandard, `"parallel_limit": 50`, `"first_object": 0`, `"objects": 100`)), values{"status": "ok"})
	before := s.Connections.Load()
	s3test.Expect(t, f.Invoke(ordered(oneAtATime)), values{"status": "ok"})
	for deadline := time.Now().Add(time.Second); s.Connections.Load() > before-20 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if after := s.Connections.Load(); after > before-20 {
		t.Error(before, after, "connections")
	}
}

func TestALargeObjectIsNeverInMemory(t *testing.T) {
	content := set{60_000_000, 100}.content(20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodPut {
			return
		}
		w.Header().Set("Content-Length", "60000000")
		for _, piece := range content {
			_, _ = w.Write(piece)
		}
	}))
	defer server.Close()
	s3test.Isolate(t, server.URL)
	for _, operation := range []string{upload, download} {
		var before, after runtime.MemStats
		f := start(t, "OPERATION="+operation)
		runtime.ReadMemStats(&before)
		s3test.Expect(t, f.Invoke(ordered(inStandard, `"object_bytes": 60000000`, `"objects": 1`)), values{"status": "ok", "bytes": 60_000_000})
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
			t.Errorf("%d bytes of memory for 60,000,000", made)
		}
	}
}

// place invokes the function directly.
func (f *function) place(payload string) (map[string]any, error) {
	answer, err := f.Deliver(`{"place": ` + payload + `}`)
	if err != nil {
		return nil, err
	}
	return f.Record(string(answer.(json.RawMessage))), nil
}

const placed = `{"storage_class": "express", "object_bytes": 1000, "object_count": 40, "first_object": 10, "objects": 20, "parallel_limit": 4}`

func TestPlacingUploadsWhatIsMissingOrHasAnotherSizeWhateverOrderTheListingHas(t *testing.T) {
	s := serve(t)
	s.PageKeys = 3
	f, asked, there := start(t), set{1000, 40}, s3test.Stored{Body: make([]byte, 1000)}
	for _, i := range []int64{0, 10, 11, 12, 13, 15, 28, 29, 31} { // the last one is another slice's
		s.Put(directory, asked.key(i), there)
	}
	s.Put(directory, asked.key(20), s3test.Stored{Body: make([]byte, 999)})
	s.Put(directory, asked.prefix()+"16.json", there) // no key of the set
	s.Put(directory, set{1000, 41}.key(17), there)
	record, err := f.place(placed)
	if err != nil {
		t.Fatal(err)
	}
	// A session, five pages, and 20 objects but for seven.
	s3test.Expect(t, record, values{"status": "ok", "operation": "upload", "bytes": 13_000, "objects": 20, "sessions": 1, "requests": 19, "run_id": "place"})
	if keys := s.Keys(directory); len(keys) != 24 {
		t.Error(keys)
	}
	record, _ = f.place(placed)
	s3test.Expect(t, record, values{"status": "ok", "bytes": 0, "objects_per_s": 0, "set_seconds": nil})
}

func TestADirectoryBucketIsAskedAtTheHostOfItsZone(t *testing.T) {
	serve(t)
	t.Setenv("AWS_ENDPOINT_URL", "")
	f := start(t, "EXPRESS_BUCKET_NAME=b--apne1-az4--x-s3")
	b := f.buckets[oneZone]
	b.Client = sdk.New(b.Client.Options(), func(o *sdk.Options) {
		o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
		}}}
	})
	s3test.Expect(t, f.Invoke(ordered()), values{"error_type": "NoConnection", "requests": 1, "error_message": "no host b--apne1-az4--x-s3." +
		"s3express-apne1-az4.us-east-1.amazonaws.com:443: the zone in EXPRESS_BUCKET_NAME must be one of AWS_REGION"})
}
