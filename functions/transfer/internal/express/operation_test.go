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
	mostAsked = 1 << 30
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

// refused answers requests of a kind from one number to another with an error, and all requests after a while.
func refused(kind string, from, to, status int, code string, after time.Duration) func(*http.Request, string, string, string) (int, string) {
	return s3test.Numbered(func(asked string, number int) (int, string) {
		if time.Sleep(after); asked == kind && number >= from && number <= to {
			return status, code
		}
		return 0, ""
	})
}

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

func TestOneSessionServesHoweverManyRequestsAtOnceAndEveryMessageHasItsOwn(t *testing.T) {
	s, f := serve(t), start(t)
	for range 2 {
		s3test.Expect(t, f.Invoke(many(100, 100)), values{"status": "ok", "sessions": 1, "requests": 101})
	}
	if sessions := s.ForgetSessions(); len(sessions) != 2 {
		t.Error(sessions)
	}
}

func TestASessionIsRenewedBeforeItExpires(t *testing.T) {
	s := serve(t)
	s.Life = renewBeforeEnd + 300*time.Millisecond
	s.Refuse = s3test.Numbered(func(kind string, number int) (int, string) {
		if time.Sleep(50 * time.Millisecond); kind == "session" && number == 2 {
			s.Life = time.Hour
		}
		return 0, ""
	})
	s3test.Expect(t, start(t).Invoke(many(2, 20)), values{"status": "ok", "sessions": 2, "requests": 22, "retries": 0})
}

// renewBeforeEnd is the bucket's.
const renewBeforeEnd = 20 * time.Second

func TestASessionThatS3CallsExpiredIsRenewedOnceForAllRequestsUnderWay(t *testing.T) {
	s := serve(t)
	s.Refuse = s3test.Numbered(func(kind string, number int) (int, string) {
		if time.Sleep(time.Millisecond); kind == http.MethodPut && number == 30 {
			s.ForgetSessions()
		}
		return 0, ""
	})
	record := start(t).Invoke(many(16, 100))
	s3test.Expect(t, record, values{"status": "ok", "bytes": 100_000, "sessions": 2})
	if retries := record["retries"].(float64); retries < 1 || retries > 16 || record["requests"] != 102+retries {
		t.Error(record)
	}
}

func TestWhatIsRefusedEndsTheWorkAndSaysWhy(t *testing.T) {
	for _, c := range []struct {
		operation, kind    string
		from, status       int
		code, word, reason string
		sessions, requests int
	}{
		{upload, "session", 1, 403, "AccessDenied", "AccessDenied", "CreateSession 403 AccessDenied: the role may not open a session", 1, 1},
		{upload, "session", 1, 404, "NoSuchBucket", "NoSuchBucket", "EXPRESS_BUCKET_NAME", 1, 1},
		{upload, "session", 1, 503, "SlowDown", "SlowDown", "(after all retries)", 4, 4},
		{upload, "session", 1, 200, "<ListBucketResult/>", "S3Error", "this server has no directory buckets", 1, 1},
		{upload, http.MethodPut, 1, 400, "ExpiredToken", "NoCredentials", "PutObject 400 ExpiredToken", 2, 4},
		{download, http.MethodGet, 4, 404, "NoSuchKey", "NoSuchKey", "GetObject 404 NoSuchKey: the object doesn't exist", 1, 5},
	} {
		s := serve(t)
		s3test.Expect(t, start(t).Invoke(ordered()), values{"status": "ok"})
		s.Refuse = refused(c.kind, c.from, mostAsked, c.status, c.code, 0)
		record := start(t, "OPERATION="+c.operation).Invoke(ordered(oneAtATime))
		s3test.Expect(t, record, values{"error_type": c.word, "error_message": c.reason, "bytes": 1000 * (c.from - 1), "sessions": c.sessions,
			"requests": c.requests})
		if c.from == 1 && (record["request_p50_ms"] != nil || record["set_seconds"] != nil) {
			t.Error(record)
		}
	}
}

func TestASessionThatIsRefusedInMidRunSaysWhy(t *testing.T) {
	s := serve(t)
	s.Life = renewBeforeEnd + 400*time.Millisecond
	s.Refuse = refused("session", 2, mostAsked, 403, "AccessDenied", 20*time.Millisecond)
	record := start(t).Invoke(many(2, 100))
	s3test.Expect(t, record, values{"error_type": "AccessDenied", "error_message": "CreateSession 403", "sessions": 2})
	if bytes := record["bytes"].(float64); bytes < 1000 || bytes > 98_000 {
		t.Error(record)
	}
}

func TestWhatFailsInPassingIsTriedAgainAndCounted(t *testing.T) {
	s := serve(t)
	s.Refuse = s3test.Numbered(func(kind string, number int) (int, string) {
		if kind == "session" || number%5 > 0 || number > 15 {
			return 0, ""
		}
		return []int{503, 500, 400}[number/5-1], []string{"SlowDown", "InternalError", "RequestTimeout"}[number/5-1]
	})
	s3test.Expect(t, start(t).Invoke(many(8, 20)), values{"status": "ok", "bytes": 20_000, "retries": 3, "requests": 24})
	s.Cuts = 2
	s3test.Expect(t, start(t, "OPERATION=download").Invoke(many(8, 20)), values{"status": "ok", "bytes": 20_000, "retries": 5, "requests": 26})
}

func TestTheDeadlineEndsTheWork(t *testing.T) {
	s, began := serve(t), time.Now()
	s.Refuse = refused("", 0, 0, 0, "", 150*time.Millisecond)
	record := start(t).Invoke(ordered(inStandard, oneAtATime, `"objects": 80`), 4*time.Second)
	s3test.Expect(t, record, values{"error_type": "DeadlineExceeded", "error_message": "raise timeout_s or make the slice smaller"})
	if took := time.Since(began); took > 3900*time.Millisecond || record["bytes"].(float64) < 1000 {
		t.Error(took, record)
	}
}

func TestWhatIsNoneOfThisFunctionsWorkIsRefused(t *testing.T) {
	serve(t)
	for environment, c := range map[string]struct{ order, kind, said string }{
		"OPERATION=count":                       {ordered(), "SettingsError", "OPERATION count is a query, which stampede runs in Athena"},
		"OPERATION=delete":                      {ordered(), "SettingsError", "OPERATION must be one of upload, download, count, aggregate"},
		"PLACEMENT=elsewhere":                   {ordered(), "SettingsError", "PLACEMENT"},
		"EXPRESS_BUCKET_NAME=":                  {ordered(), "SettingsError", "EXPRESS_BUCKET_NAME is missing"},
		"OPERATION=download":                    {ordered(`"only_missing": 1`), "WorkOrderError", "only_missing is for the function with OPERATION=upload"},
		"EXPERIMENT_TAG=too late for the start": {ordered(`"start_at_ms": 9000000000000`), "StartTooLate", "start_at_ms"},
	} {
		s3test.Expect(t, start(t, environment).Invoke(c.order), values{"status": "error", "error_type": c.kind, "error_message": c.said, "requests": 0})
	}
	for change, said := range map[string]string{
		"storage_class":            "lacks the key storage_class: it must be standard or express",
		"object_bytes":             "lacks the key object_bytes: it must be a whole number from 100 to 1000000000",
		`"object_bytes": 99`:       "object_bytes",
		`"object_count": 10000001`: "object_count must be a whole number from 1 to 10000000",
		`"first_object": 100`:      "first_object must be a whole number from 0 to 99",
		`"objects": 81`:            "objects must be a whole number from 1 to 80",
		`"only_missing": true`:     "only_missing must be 0 or 1",
		`"manifest": "m/"`:         "unknown key",
	} {
		record := start(t).Invoke(ordered(change))
		s3test.Expect(t, record, values{"error_type": "WorkOrderError", "error_message": said, "run_id": nil, "first_object": nil, "operation": "upload"})
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

func TestAnObjectThatIsNotWhatWasUploadedIsAnError(t *testing.T) {
	key, written := set{1000, 100}.key(22), set{1000, 100}.bytesOf(22)
	for said, c := range map[string]struct{ body, kind string }{
		"000000022.json isn't what was uploaded: delete it, seed the set again": {strings.Repeat("y", 1000), "ObjectChanged"},
		"the bytes received don't match the checksum that S3 stores":            {string(written[:999]) + "!", "ChecksumMismatch"},
		"has 900 bytes instead of 1000":                                         {string(written[:900]), "SizeMismatch"},
		"has 1100 bytes instead of":                                             {string(set{1100, 100}.bytesOf(22)), "SizeMismatch"},
	} {
		s := serve(t)
		s3test.Expect(t, start(t).Invoke(ordered()), values{"status": "ok"})
		changed := s3test.Stored{Body: []byte(c.body)}
		if c.kind == "ChecksumMismatch" { // lost on the way
			changed.Checksum = "AAAAAA=="
		}
		s.Put(directory, key, changed)
		s3test.Expect(t, start(t, "OPERATION=download").Invoke(ordered()), values{"error_type": c.kind, "error_message": said, "retries": 0})
	}
}

func TestATemporaryFolderThatIsTooSmallOrFillsUpIsNoSpace(t *testing.T) {
	serve(t)
	s3test.Expect(t, start(t).Invoke(ordered()), values{"status": "ok"})
	f := start(t, "OPERATION=download")
	record := f.Invoke(ordered(`"object_bytes": 1000000000`, `"object_count": 100000`, `"parallel_limit": 1000`, `"objects": 50000`))
	s3test.Expect(t, record, values{"error_type": "NoSpace", "error_message": "1000 objects of 1000000000 bytes at a time don't fit", "requests": 1})
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

func TestPlacingThatFailsIsAnErrorOfTheFunction(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		operation, payload string
		status             int
		code, word, said   string
	}{
		{upload, placed, 403, "AccessDenied", "AccessDenied", "ListObjectsV2 403 AccessDenied"},
		{upload, placed, 200, "<ListBucketResult><nonsense", "S3Error", "ListObjectsV2: the answer isn't S3's"},
		{upload, `{}`, 0, "", "WorkOrderError", "lacks the key storage_class"},
		{download, placed, 0, "", "WorkOrderError", "only_missing is for the function with OPERATION=upload"},
	} {
		s.Refuse = refused("list", 1, mostAsked, c.status, c.code, 0)
		_, err := start(t, "OPERATION="+c.operation).place(c.payload)
		if failed, ok := err.(messages.InvokeResponse_Error); !ok || failed.Type != c.word || !strings.Contains(failed.Message, c.said) {
			t.Error(c.payload, err)
		}
	}
	for _, event := range []string{`{}`, `[]`, `null`, `{"place": {}, "more": 1}`, `{"placed": {}}`, `{"Records": [], "place": {}}`, `{"place": [1]}`} {
		if body, ok := (&operation{}).Invoked(json.RawMessage(event)); ok {
			t.Errorf("%s: %s", event, body)
		}
	}
}

func TestADirectoryBucketIsAskedAtTheHostOfItsZoneOverTLS(t *testing.T) {
	secured := httptest.NewTLSServer(serve(t))
	defer secured.Close()
	t.Setenv("AWS_ENDPOINT_URL", "")
	transport := secured.Client().Transport.(*http.Transport)
	transport.TLSClientConfig.ServerName = "example.com" // that of the test's certificate
	transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		if address == directory+".s3express-use1-az4.us-east-1.amazonaws.com:443" {
			return (&net.Dialer{}).DialContext(ctx, "tcp", secured.Listener.Addr().String())
		}
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
	}
	for _, c := range []struct {
		name string
		want values
	}{
		{directory, values{"status": "ok", "sessions": 1}},
		{"b--apne1-az4--x-s3", values{"error_type": "NoConnection", "requests": 1, "error_message": "no host b--apne1-az4--x-s3.s3express-apne1-az4." +
			"us-east-1.amazonaws.com:443: the zone in EXPRESS_BUCKET_NAME must be one of AWS_REGION"}},
	} {
		f := start(t, "EXPRESS_BUCKET_NAME="+c.name)
		b := f.buckets[oneZone]
		b.Client = sdk.New(b.Client.Options(), func(o *sdk.Options) { o.HTTPClient = &http.Client{Transport: transport} })
		s3test.Expect(t, f.Invoke(ordered(oneAtATime)), c.want)
	}
}

func TestWithoutCredentialsThereIsNoRequest(t *testing.T) {
	serve(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	s3test.Expect(t, start(t).Invoke(ordered()), values{"error_type": "NoCredentials", "error_message": "no AWS credentials found", "requests": 0})
}
