package copy

import (
	"bytes"
	"compress/gzip"
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

// run runs one command line; stdout is parsed when there is one.
func run(ctx context.Context, t *testing.T, arguments ...string) (status int, answer map[string]any, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	status = host.Main(ctx, Verbs, append([]string{"copy", "--source-bucket", from, "--destination-bucket", to}, arguments...), &out, &errors)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return status, answer, errors.String()
}

func command(t *testing.T, arguments ...string) (status int, answer map[string]any, stderr string) {
	t.Helper()
	return run(context.Background(), t, arguments...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// manifest writes a file of rows.
func manifest(t *testing.T, rows string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(name, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func zipped(text string) string {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = io.WriteString(writer, text)
	_ = writer.Close()
	return packed.String()
}

func TestTheVerbCopiesAPrefixAndSaysWhatHappened(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 30, 4)
	store.Put(to, "p/old", s3test.Stored{})
	status, answer, stderr := command(t, "--source-prefix", "source/", "--destination-prefix", "p/", "--empty-first", "--parallel-limit", "5")
	s3test.Expect(t, answer, map[string]any{"planned": 30, "copied": 30, "failed": 0, "emptied": 1, "bytes": 120})
	if keys := store.Keys(to); status != 0 || stderr != "" || len(keys) != 30 || keys[0] != "p/1.mp4" {
		t.Error(status, stderr, keys)
	}
	asked := store.Requests.Load()
	_, answer, _ = command(t, "--source-prefix", "source/", "--destination-prefix", "p/", "--parallel-limit", "1")
	s3test.Expect(t, answer, map[string]any{"planned": 30, "copied": 0, "already_there": 30})
	if asked = store.Requests.Load() - asked; asked > 30+5 {
		t.Errorf("%d requests for 30 rows that are there", asked)
	}
	store.Put(from, "other", s3test.Stored{})
	_, answer, _ = command(t, "--source-prefix", "", "--destination-prefix", "whole/")
	s3test.Expect(t, answer, map[string]any{"planned": 31, "copied": 31})
}

func TestAManifestMayBeAsPeopleHaveIt(t *testing.T) {
	const plus = `"trip+data/yellow%2B1.parquet","trip+data/yellow%2B1.parquet"` + "\n"
	for name, c := range map[string]struct{ rows, keys, says string }{
		"inventory's plus":       {plus, "trip data/yellow+1.parquet", ""},
		"compressed":             {zipped(plus), "trip data/yellow+1.parquet", ""},
		"in two parts":           {zipped("a,b\n") + zipped("a,c\n"), "b c", ""},
		"cut in mid-compression": {zipped(plus)[:30], "", "FileError: the compressed manifest is cut short"},
		"bucket,key":             {from + ",a\n" + from + `,"d+e"` + "\n", "p/a p/d e", ""},
		"an inventory with size": {`"source-bucket","a","1","2026-01-01"` + "\n", "p/a", ""},
		"a version":              {from + ",a,v1\n", "p/a", ""},
		"of two buckets":         {from + ",a\nanother,a\n", "p/a", "MalformedRow: the first row is bucket,key of source-bucket"},
		"of another bucket":      {"another,a\nanother,b\n", "", "for one reason: NoSuchKey: "},
		"of a spreadsheet":       {"\xEF\xBB\xBFa,b\r\n\n \r\n\"a\",\"c\"\n\"a,b\",d\n", "b c d", ""},
		"quotes that don't end":  {"a,b\n\"x,d\na,c\n", "b c", "1 row wasn't copied for one reason: MalformedRow: the quotes of a row must be those of CSV: extraneous"},
		"without the last break": {"a,b\na,cop", "b", "may be cut short"},
		"empty":                  {"", "", "NoData: the manifest has nothing to copy"},
		"nothing compressed":     {zipped(""), "", "NoData: the manifest has nothing to copy"},
		"another JSON":           {`{"files": []}`, "", "NoData: the manifest has nothing to copy"},
		"no JSON":                {`{nonsense`, "", "FileError: the manifest begins as a file of --failed, but isn't one"},
	} {
		store := s3test.StartStore(t, from, to)
		for _, key := range []string{"a", "a,b", "d e", "trip data/yellow+1.parquet", "a?versionId=v1"} {
			store.Put(from, key, s3test.Stored{})
		}
		arguments := []string{"--manifest", manifest(t, c.rows), "--parallel-limit", "1"}
		if strings.HasPrefix(c.keys, "p/") {
			arguments = append(arguments, "--destination-prefix", "p/")
		}
		status, _, stderr := command(t, arguments...)
		if keys := strings.Join(store.Keys(to), " "); keys != c.keys || (status == 0) != (c.says == "") || !strings.Contains(lastLine(stderr), c.says) {
			t.Errorf("%s: %d, %q, %s", name, status, keys, stderr)
		}
	}
}

func TestFailedRowsHaveALineEachAndTheirFileIsAManifest(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	failed := filepath.Join(t.TempDir(), "failed.jsonl")
	rows := manifest(t, "source/1.mp4,a\nsource/2.mp4,b\nsource/3.mp4?versionId=v,c\nnonsense\n")
	status, answer, stderr := command(t, "--manifest", rows, "--failed", failed)
	s3test.Expect(t, answer, map[string]any{"planned": 4, "copied": 1, "failed": 3, "malformed": 1})
	text, _ := os.ReadFile(failed)
	if status != 1 || !strings.HasPrefix(stderr, "transfer copy: S3Error: 3 rows weren't copied (1 MalformedRow, 2 NoSuchKey), such as: ") ||
		strings.Count(string(text), "\n") != 3 || !strings.Contains(string(text), `"line": 2, "source": "source/2.mp4"`) ||
		!strings.Contains(string(text), `"version": "v"`) || !strings.Contains(string(text), `"line": 4, "source": "nonsense"`) {
		t.Error(status, stderr, string(text))
	}
	store.Put(from, "source/2.mp4", s3test.Stored{})
	store.Put(from, "source/3.mp4?versionId=v", s3test.Stored{})
	_, answer, _ = command(t, "--manifest", failed, "--failed", failed+"2")
	s3test.Expect(t, answer, map[string]any{"planned": 3, "copied": 2, "failed": 1, "malformed": 1})
	if status, _, stderr := command(t, "--manifest", failed, "--failed", filepath.Dir(failed)+"/./failed.jsonl"); status != 2 || !strings.Contains(stderr, "overwrite") {
		t.Error(status, stderr)
	}
}

func TestWhereEveryRowFailsForOneReasonTheLastLineSaysItWithItsCount(t *testing.T) {
	s3test.StartStore(t, from, to)
	rows := manifest(t, strings.Join(many(300, "missing"), "\n")+"\n")
	status, _, stderr := command(t, "--manifest", rows, "--empty-first", "--destination-prefix", "copies/")
	last := lastLine(stderr)
	if status != 1 || strings.Count(stderr, "\n") != shownFailures+2 || !strings.Contains(stderr, "290 more rows failed; --failed FILE") ||
		!strings.Contains(last, "300 rows weren't copied for one reason: NoSuchKey: CopyObject 404 NoSuchKey: the source doesn't exist") ||
		!strings.HasSuffix(last, "without --empty-first") || len(last) > 300 {
		t.Error(status, stderr)
	}
}

func TestRowsThatFailedOrWereLeftAreInTheFileAtOnce(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Latency = 50 * time.Millisecond
	failed := filepath.Join(t.TempDir(), "failed.jsonl")
	rows := manifest(t, "source/missing,b\nnonsense\n"+strings.Join(many(500, "source/1.mp4"), "\n")+"\n")
	usual := flushEvery
	flushEvery = 100 * time.Millisecond
	defer func() { flushEvery = usual }()
	time.AfterFunc(800*time.Millisecond, func() {
		if text, _ := os.ReadFile(failed); !strings.Contains(string(text), "source/missing") {
			t.Errorf("after 0.8 s the file has %q", text)
		}
	})
	status, first, stderr := command(t, "--manifest", rows, "--failed", failed, "--parallel-limit", "2", "--seconds", "1")
	if status != 1 || !strings.Contains(stderr, "give "+failed+" as --manifest") {
		t.Error(status, stderr)
	}
	store.Put(from, "source/missing", s3test.Stored{})
	store.Latency = 0
	_, second, _ := command(t, "--manifest", failed, "--failed", failed+"2")
	copied := first["copied"].(float64)
	s3test.Expect(t, second, map[string]any{"planned": 502 - copied, "copied": 501 - copied, "already_there": 0, "failed": 1, "malformed": 1})
	if len(store.Keys(to)) != 501 {
		t.Error(len(store.Keys(to)))
	}
}

func TestTheVerbStopsAfterItsSecondsAndWhenItIsInterruptedEvenWhileItWaitsForRows(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 500, 1)
	store.Latency = 20 * time.Millisecond
	status, answer, stderr := command(t, "--source-prefix", "source/", "--seconds", "1", "--parallel-limit", "2")
	if copied := answer["copied"].(float64); status != 0 || !strings.HasPrefix(stderr, "stopped after 1 seconds (--seconds), with ") || copied < 10 || copied > 110 || answer["planned"] != copied {
		t.Error(status, stderr, answer)
	}
	idle, writer, _ := os.Pipe()
	defer writer.Close()
	stdin := os.Stdin
	os.Stdin = idle
	defer func() { os.Stdin = stdin }()
	fifo := filepath.Join(t.TempDir(), "rows")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if status, _, stderr := command(t, "--manifest", "-", "--seconds", "1"); status != 0 || time.Since(began) > 5*time.Second {
		t.Errorf("%d after %v: %s", status, time.Since(began), stderr)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, interrupt)
	status, answer, stderr = run(ctx, t, "--manifest", fifo)
	if s3test.Expect(t, answer, map[string]any{"copied": 0, "planned": nil}); status != 130 || stderr != "transfer copy: interrupted\n" {
		t.Errorf("%d %s", status, stderr)
	}
}

func TestProgressHasTheRateAndHowMuchOfTheManifestIsRead(t *testing.T) {
	usual := progressEvery
	progressEvery = 100 * time.Millisecond
	defer func() { progressEvery = usual }()
	store := s3test.StartStore(t, from, to)
	fill(store, 1, 1)
	store.Latency = 20 * time.Millisecond
	_, _, stderr := command(t, "--manifest", manifest(t, strings.Join(many(15, "source/1.mp4"), "\n")+"\n"), "--parallel-limit", "1")
	if !regexp.MustCompile(`(?m)^\d+ copied, 0 already there, 0 failed, 0 SlowDowns, \d+ rows/s, 100 % of the manifest read$`).MatchString(stderr) {
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
	var notices bytes.Buffer
	j := &job{Policy: Policy{Parallel: 1000}, notices: &notices}
	j.capParallel()
	if j.Parallel != 256-keptFiles || !strings.HasPrefix(notices.String(), "--parallel-limit is 224 instead of 1000: ") {
		t.Error(j.Parallel, notices.String())
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

func TestAWrongCommandLineOrSettingIsOneLineAndStatus2(t *testing.T) {
	listing := func(arguments ...string) []string { return append([]string{"--source-prefix", "a/"}, arguments...) }
	within := []string{"--destination-bucket", from}
	for _, c := range []struct {
		arguments []string
		word      string
	}{
		{nil, "--source-prefix or --manifest"},
		{listing("--manifest", "m"), "--source-prefix or --manifest"},
		{listing("--parallel-limit", "0"), "--parallel-limit must be a whole number from 1 to 10000, not 0"},
		{listing("--pace", "fast"), "--pace"},
		{listing("--destination-bucket", ""), "--destination-bucket is missing"},
		{listing(append(within, "--empty-first")...), "--empty-first"},
		{listing(append(within, "--empty-first", "--destination-prefix", "a/b/")...), "--empty-first"},
		{listing(append(within, "--destination-prefix", "a/b/")...), "--destination-prefix \"a/b/\" is inside"},
		{append([]string{"--source-prefix", "", "--destination-prefix", "b/"}, within...), "is inside --source-prefix \"\""},
		{append([]string{"--source-prefix", "", "--destination-prefix", "b/", "--empty-first"}, within...), "would delete sources"},
		{append([]string{"--manifest", "-", "--empty-first"}, within...), "would delete sources"},
		{listing("more"), "more"},
		{[]string{"--manifest", "nowhere"}, "--manifest nowhere can't be read: no such file or directory"},
		{listing("--failed", os.TempDir()), "can't be written: is a directory"},
		{listing("--failed", "nowhere/f"), "--failed nowhere/f can't be written: no such file or directory"},
		{listing("--endpoint-url", "http://h/path"), `--endpoint-url must be http://host:port or`},
		{listing("--tags", "a=b"), "-tags"},
		{listing("--request-payer", "me"), "--request-payer must be requester"},
	} {
		status, answer, stderr := command(t, c.arguments...)
		if status != 2 || answer != nil || !strings.Contains(stderr, c.word) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: %d %s", c.arguments, status, stderr)
		}
	}
	s3test.StartStore(t, from, to)
	t.Setenv("AWS_ENDPOINT_URL_S3", "ftp://h")
	if status, _, stderr := command(t, listing()...); status != 2 || !strings.Contains(stderr, "AWS_ENDPOINT_URL_S3 must be http://host:port") {
		t.Error(status, stderr)
	}
}

func TestHelpAndVersionGoToStdout(t *testing.T) {
	for word, arguments := range map[string][]string{"-manifest file": {"copy", "--help"}, "transfer, commit ": {"--version"}} {
		var stdout, stderr bytes.Buffer
		if status := host.Main(context.Background(), Verbs, arguments, &stdout, &stderr); status != 0 || stderr.Len() > 0 ||
			!strings.Contains(stdout.String(), word) {
			t.Errorf("%v: %d, %s, %s", arguments, status, &stdout, &stderr)
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
		most, b := 0, &bucket.Bucket{Name: from}
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
	many, goroutines := heap(30_000)
	if many > few+1<<20 || goroutines > 120 {
		t.Errorf("%d bytes for 30,000 rows, %d for 1,000; %d goroutines", many, few, goroutines)
	}
}
