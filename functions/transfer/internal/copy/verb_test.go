package copy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/s3test"
)

// command runs one command line; stdout is parsed when there is one.
func command(t *testing.T, arguments ...string) (status int, answer map[string]any, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	status = host.Main(context.Background(), Verbs, append([]string{"copy", "--source-bucket", from, "--destination-bucket", to}, arguments...), &out, &errors)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return status, answer, errors.String()
}

func TestTheVerbCopiesAPrefixAndSaysWhatHappened(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 30, 4)
	store.Put(to, "p/old", s3test.Stored{})
	status, answer, stderr := command(t, "--source-prefix", "source/", "--destination-prefix", "p/", "--empty-first", "--pace", "adaptive",
		"--parallel-limit", "5")
	expect(t, answer, map[string]any{"planned": 30, "copied": 30, "failed": 0, "emptied": 1, "bytes": 120})
	if keys := store.Keys(to); status != 0 || stderr != "" || len(keys) != 30 || keys[0] != "p/1.mp4" {
		t.Error(status, stderr, keys)
	}
	asked := store.Requests.Load()
	_, answer, _ = command(t, "--source-prefix", "source/", "--destination-prefix", "p/", "--parallel-limit", "1")
	expect(t, answer, map[string]any{"planned": 30, "copied": 0, "already_there": 30})
	if asked = store.Requests.Load() - asked; asked > 30+5 {
		t.Errorf("%d requests for 30 rows that are there", asked)
	}
}

func TestTheVerbCopiesEveryRowThroughSecondsOfSlowDown(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 300, 1)
	began := time.Now()
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		if source != "" && time.Since(began) < 500*time.Millisecond {
			return 503, "SlowDown"
		}
		return 0, ""
	}
	status, answer, stderr := command(t, "--source-prefix", "source/")
	if expect(t, answer, map[string]any{"planned": 300, "copied": 300, "failed": 0}); status != 0 {
		t.Error(status, stderr)
	}
}

func TestTheVerbInterruptedSaysSoAndWhatWasDone(t *testing.T) {
	s3test.StartStore(t, from, to)
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	var out, errors bytes.Buffer
	status := host.Main(ctx, Verbs, []string{"copy", "--source-bucket", from, "--destination-bucket", to, "--source-prefix", "a/"}, &out, &errors)
	if status != 130 || errors.String() != "transfer copy: interrupted\n" || !strings.Contains(out.String(), `"copied": 0`) {
		t.Error(status, errors.String(), out.String())
	}
}

func TestTheVerbCopiesAFileOfRowsAndWritesTheFailedOnes(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	folder := t.TempDir()
	manifest, failed := filepath.Join(folder, "m.csv"), filepath.Join(folder, "failed.jsonl")
	if err := os.WriteFile(manifest, []byte("source/1.mp4,a\nsource/2.mp4,b\nnonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, answer, stderr := command(t, "--manifest", manifest, "--failed", failed)
	expect(t, answer, map[string]any{"planned": 3, "copied": 1, "failed": 2, "malformed": 1})
	text, _ := os.ReadFile(failed)
	if status != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(string(text), `"line": 2, "source": "source/2.mp4"`) ||
		!strings.Contains(string(text), `"line": 3, "source": "nonsense"`) {
		t.Error(status, stderr, string(text))
	}
	store.Put(from, "source/2.mp4", s3test.Stored{})
	_, answer, stderr = command(t, "--manifest", manifest, "--failed", failed) // as the help says: to retry, the same again
	expect(t, answer, map[string]any{"planned": 3, "copied": 1, "already_there": 1, "failed": 1})
	if text, _ = os.ReadFile(failed); strings.Contains(string(text), "source/2.mp4") {
		t.Error(stderr, string(text))
	}
}

func TestRowsThatFailedOrWereLeftAreInTheFileAtOnceAndItIsAManifest(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Latency = 50 * time.Millisecond
	folder := t.TempDir()
	manifest, failed := filepath.Join(folder, "m.csv"), filepath.Join(folder, "failed.jsonl")
	rows := "source/missing,b\nnonsense\n"
	for i := range 500 {
		rows += fmt.Sprintf("source/1.mp4,c/%d\n", i)
	}
	if err := os.WriteFile(manifest, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(1800*time.Millisecond, func() {
		if text, _ := os.ReadFile(failed); !strings.Contains(string(text), "source/missing") {
			t.Errorf("after 1.8 s the file has %q", text)
		}
	})
	status, first, stderr := command(t, "--manifest", manifest, "--failed", failed, "--parallel-limit", "2", "--seconds", "2")
	if status != 1 || !strings.Contains(stderr, "give "+failed+" as --manifest") {
		t.Error(status, stderr)
	}
	store.Put(from, "source/missing", s3test.Stored{})
	store.Latency = 0
	_, second, _ := command(t, "--manifest", failed, "--failed", filepath.Join(folder, "again.jsonl"))
	copied := first["copied"].(float64)
	expect(t, second, map[string]any{"planned": 502 - copied, "copied": 501 - copied, "already_there": 0, "failed": 1, "malformed": 1})
	if len(store.Keys(to)) != 501 {
		t.Error(len(store.Keys(to)))
	}
	if status, _, stderr := command(t, "--manifest", failed, "--failed", folder+"/./failed.jsonl"); status != 2 || !strings.Contains(stderr, "overwrite") {
		t.Error(status, stderr)
	}
}

func TestAManifestMayComeFromASpreadsheetButNotBeCutShort(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Put(from, "a,b", s3test.Stored{})
	manifest := filepath.Join(t.TempDir(), "m.csv")
	rows := "\xEF\xBB\xBFsource/1.mp4,a\r\n\n \r\n\"source/1.mp4\",\"b\"\n\"a,b\",c\n\"x,d\nsource/1.mp4,cop"
	if err := os.WriteFile(manifest, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	_, answer, stderr := command(t, "--manifest", manifest)
	expect(t, answer, map[string]any{"planned": 5, "copied": 3, "failed": 2, "malformed": 2})
	if keys := store.Keys(to); strings.Join(keys, " ") != "a b c" || !strings.Contains(stderr, "may be cut short") || !strings.Contains(stderr, `"line": 6`) {
		t.Error(keys, stderr)
	}
}

func TestWithoutAFileForThemTheFirstFailedRowsAreOnStderrAndTheRestIsCounted(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	manifest := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(manifest, []byte(strings.Repeat("missing,a\n", 3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := command(t, "--manifest", manifest)
	if named := strings.Count(stderr, "NoSuchKey"); named > 2*shownFailures+2 || !strings.Contains(stderr, "2990 more rows failed; --failed FILE") {
		t.Errorf("%d named in %.500s", named, stderr)
	}
}

func TestProgressHasTotalRateAndTimeLeft(t *testing.T) {
	usual := progressEvery
	progressEvery = 300 * time.Millisecond
	defer func() { progressEvery = usual }()
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Latency = 20 * time.Millisecond
	rows := ""
	for i := range 40 {
		rows += fmt.Sprintf("source/1.mp4,%d\n", i)
	}
	manifest := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(manifest, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := command(t, "--manifest", manifest, "--parallel-limit", "1")
	if !regexp.MustCompile(`(?m)^\d+ of 40 copied, 0 already there, 0 failed, 0 SlowDowns, \d+ rows/s, \d+s left$`).MatchString(stderr) {
		t.Error(stderr)
	}
}

func TestMoreCallsThanThisProcessMayOpenFilesAreCappedAndSaid(t *testing.T) {
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	few := usual
	few.Cur = 256
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual) }()
	var stderr bytes.Buffer
	j := &job{Policy: Policy{Parallel: 1000}}
	j.notices = &stderr
	j.capParallel()
	if j.Parallel != 256-keptFiles || !strings.HasPrefix(stderr.String(), "--parallel-limit is 224 instead of 1000: ") {
		t.Error(j.Parallel, stderr.String())
	}
}

func TestTheSourcesRegionTheStorageClassAndThePayerAreSent(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Refuse = func(r *http.Request, bucket, _, source string) (int, string) {
		region, class := "/eu-west-1/s3/", ""
		if source != "" {
			region, class = "/us-east-1/s3/", "GLACIER_IR"
		}
		if !strings.Contains(r.Header.Get("Authorization"), region) || r.Header.Get("X-Amz-Storage-Class") != class ||
			r.Header.Get("X-Amz-Request-Payer") != "requester" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		return 0, ""
	}
	status, _, stderr := command(t, "--source-prefix", "source/", "--source-region", "eu-west-1", "--storage-class", "GLACIER_IR", "--request-payer", "requester")
	if status != 0 || stderr != "" {
		t.Error(status, stderr)
	}
}

func TestAVersionOfASourceIsRefusedAndNotTakenForAKey(t *testing.T) {
	if r := parseRow("a?versionId=1,b", ownFormat); r.Err != nil || r.Source != "a" || r.Version != "1" {
		t.Error(r)
	}
	if r := parseRow("a%3FversionId=1,b", ownFormat); r.Err != nil || r.Source != "a?versionId=1" {
		t.Error(r)
	}
}

func TestHelpAndVersionGoToStdout(t *testing.T) {
	for want, arguments := range map[string][]string{"-manifest file": {"copy", "--help"}, "transfer, commit ": {"--version"}} {
		var out, errors bytes.Buffer
		if status := host.Main(context.Background(), Verbs, arguments, &out, &errors); status != 0 || errors.Len() > 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %d, %s, %s", arguments, status, out.String(), errors.String())
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAFailedRowThatCantBeWrittenIsSaid(t *testing.T) {
	failed := newFailures(full{}, "r", "c", 0, 1, 0)
	failed.add(row{}, failure.NoSuchKey, "")
	for range 2 {
		if err := failed.flush(); err != syscall.ENOSPC {
			t.Error(err)
		}
	}
}

func TestTheVerbStopsAfterItsSecondsWithoutAnError(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 500, 1)
	store.Latency = 20 * time.Millisecond
	status, answer, stderr := command(t, "--source-prefix", "source/", "--seconds", "1", "--parallel-limit", "2")
	if copied := answer["copied"].(float64); status != 0 || !strings.HasPrefix(stderr, "stopped after 1 seconds (--seconds), with ") || copied < 10 || copied > 110 || answer["planned"] != copied {
		t.Error(status, stderr, answer)
	}
}

func TestTheVerbStopsWhileItWaitsForRows(t *testing.T) {
	s3test.StartStore(t, from, to)
	idle, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	stdin := os.Stdin
	os.Stdin = idle
	defer func() { os.Stdin = stdin }()
	fifo := filepath.Join(t.TempDir(), "rows")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, manifest := range []string{"-", fifo} {
		began := time.Now()
		if status, _, stderr := command(t, "--manifest", manifest, "--seconds", "1"); status != 0 || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %d after %v: %s", manifest, status, time.Since(began), stderr)
		}
		ctx, interrupt := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, interrupt)
		var out, errors bytes.Buffer
		arguments := []string{"copy", "--source-bucket", from, "--destination-bucket", to, "--manifest", manifest}
		if status := host.Main(ctx, Verbs, arguments, &out, &errors); status != 130 {
			t.Errorf("%s: %d %s", manifest, status, errors.String())
		}
	}
}

func TestAWrongCommandLineIsOneLineAndStatus2(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		word      string
	}{
		{nil, "--source-prefix or --manifest"},
		{[]string{"--source-prefix", "a/", "--manifest", "m"}, "--source-prefix or --manifest"},
		{[]string{"--source-prefix", "a/", "--parallel-limit", "0"}, "--parallel-limit must be a whole number from 1 to 10000, not 0"},
		{[]string{"--source-prefix", "a/", "--parallel-limit", "100000"}, "--parallel-limit"},
		{[]string{"--source-prefix", "a/", "--pace", "fast"}, "--pace"},
		{[]string{"--source-prefix", "a/", "--calls-per-s", "-1"}, "--calls-per-s"},
		{[]string{"--source-prefix", "a/", "--retry-mode", "adaptive"}, "--retry-mode"},
		{[]string{"--source-prefix", "a/", "--retry-attempts", "0"}, "--retry-attempts"},
		{[]string{"--source-prefix", "a/", "--destination-bucket", ""}, "--destination-bucket is missing"},
		{[]string{"--source-prefix", "a/", "--destination-bucket", from, "--empty-first"}, "--empty-first"},
		{[]string{"--source-prefix", "a/", "--destination-bucket", from, "--destination-prefix", "a/b/", "--empty-first"}, "--empty-first"},
		{[]string{"--source-prefix", "a/", "--destination-bucket", from, "--destination-prefix", "a/b/"}, "--destination-prefix \"a/b/\" is inside"},
		{[]string{"--source-prefix", "a/", "more"}, "more"},
		{[]string{"--manifest", "nowhere"}, "--manifest nowhere can't be read: no such file or directory"},
		{[]string{"--manifest", os.TempDir()}, "--manifest " + os.TempDir() + " must be a file, not a folder"},
		{[]string{"--source-prefix", "a/", "--failed", os.TempDir()}, "must be a file, not a folder"},
		{[]string{"--source-prefix", "a/", "--failed", "nowhere/f"}, "--failed nowhere/f can't be written: no such file or directory"},
		{[]string{"--source-prefix", "a/", "--endpoint-url", "http://h/path"}, `--endpoint-url must be http://host:port or`},
		{[]string{"--source-prefix", "a/", "--tags", "a=b"}, "--tags isn't available: S3 copies the tags"},
		{[]string{"--source-prefix", "a/", "--storage-class", "COLD"}, "--storage-class must be STANDARD or"},
		{[]string{"--source-prefix", "a/", "--request-payer", "me"}, "--request-payer must be requester"},
	} {
		status, answer, stderr := command(t, c.arguments...)
		if status != 2 || answer != nil || !strings.Contains(stderr, c.word) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: %d %s", c.arguments, status, stderr)
		}
	}
}

func TestAWrongSettingIsOneLineThatNamesItsVariableAndStatus2(t *testing.T) {
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": "127.0.0.1:9", "AWS_ENDPOINT_URL_S3": "ftp://h"} {
		s3test.StartStore(t, from, to)
		t.Setenv(name, value)
		status, _, stderr := command(t, "--source-prefix", "a/")
		if status != 2 || !strings.Contains(stderr, fmt.Sprintf("%s must be http://host:port or https://host:port, not %q", name, value)) {
			t.Errorf("%s: %d %s", name, status, stderr)
		}
		t.Setenv(name, "")
	}
}

func TestAFailedRowIsCalledWhatItIsAndEmptyFirstOnlyWhereItWasGiven(t *testing.T) {
	s3test.StartStore(t, from, to)
	manifest := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(manifest, []byte("source/missing,there\n\"a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := command(t, "--manifest", manifest)
	if status != 1 || !strings.Contains(stderr, "CopyObject 404 NoSuchKey: the source doesn't exist: check the key") ||
		!strings.Contains(stderr, "must be those of CSV: extraneous") || !strings.HasSuffix(stderr, "run the command again\n") {
		t.Error(status, stderr)
	}
	if _, _, stderr = command(t, "--manifest", manifest, "--empty-first", "--destination-prefix", "t"); !strings.HasSuffix(stderr, "without --empty-first\n") {
		t.Error(stderr)
	}
}

// endless is the beginning of a manifest of so many rows, made as it is read.
type endless struct {
	left int
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.left == 0 {
			return 0, os.ErrDeadlineExceeded
		}
		e.left--
		e.rest = fmt.Appendf(nil, "masters/missing,elsewhere/%d\n", e.left)
	}
	n := copyBytes(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// copyBytes is the built-in copy, whose name this package has.
func copyBytes(to, from []byte) int { return copy(to, from) }

func TestMemoryAndGoroutinesDontGrowWithTheRows(t *testing.T) {
	heap := func(rows int) (uint64, int) {
		most := 0
		b := &bucket.Bucket{Name: from}
		j := &job{Policy: Policy{Parallel: 100}, route: &route{from: b, to: b}, prefix: "copies/", seen: observe(),
			failures: newFailures(io.Discard, "r", "c", 0, 1, 0)}
		j.rows = func(_ context.Context, take func(row) error) error {
			return manifestRows(&endless{left: rows}, ownFormat, func(r row) error {
				most = max(most, runtime.NumGoroutine())
				return take(r)
			})
		}
		if err := j.run(context.Background(), context.Background()); err != os.ErrDeadlineExceeded || j.seen.failed.Load() != int64(rows) {
			t.Fatal(err, j.seen.failed.Load())
		}
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		runtime.KeepAlive(j)
		return now.HeapAlloc, most
	}
	few, _ := heap(1_000)
	many, goroutines := heap(300_000)
	if many > few+1<<20 || goroutines > 20 {
		t.Errorf("%d bytes for 300,000 rows, %d for 1,000; %d goroutines", many, few, goroutines)
	}
}
