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
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/s3test"
)

// run runs one command line; stdout is parsed when there is some.
func run(ctx context.Context, t *testing.T, arguments ...string) (status int, answer values, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	status = host.Main(ctx, Verbs, append([]string{"copy", "--source-bucket", from, "--destination-bucket", to}, arguments...), &out, &errors)
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil && out.Len() > 0 {
		t.Fatalf("%v: %s", err, out.String())
	}
	return status, answer, errors.String()
}

func command(t *testing.T, arguments ...string) (status int, answer values, stderr string) {
	t.Helper()
	return run(context.Background(), t, arguments...)
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

// often makes progress and failed rows be written every 100 ms.
func often(t *testing.T) {
	progress, flush := progressEvery, flushEvery
	progressEvery, flushEvery = 100*time.Millisecond, 100*time.Millisecond
	t.Cleanup(func() { progressEvery, flushEvery = progress, flush })
}

func TestTheVerbCopiesAPrefixAsItsOptionsSayAndAgainCopiesNothing(t *testing.T) {
	often(t)
	store := serve(t, 30)
	store.Put(to, "p/old", s3test.Stored{})
	store.Latency = 8 * time.Millisecond
	store.Refuse = func(r *http.Request, bucket, _, source string) (int, string) {
		region, class := map[string]string{from: "/eu-west-1/s3/", to: "/us-east-1/s3/"}[bucket], map[bool]string{true: "GLACIER_IR"}[source != ""]
		if !strings.Contains(r.Header.Get("Authorization"), region) || r.Header.Get("X-Amz-Storage-Class") != class ||
			r.Header.Get("X-Amz-Request-Payer") != "requester" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		return 0, ""
	}
	options := []string{"--source-region", "eu-west-1", "--storage-class", "GLACIER_IR", "--request-payer", "requester", "--parallel-limit", "1"}
	copies := func(emptied ...string) (values, string) {
		status, answer, stderr := command(t, append(append(options, "--source-prefix", "source/", "--destination-prefix", "p/"), emptied...)...)
		if status != 0 {
			t.Error(status, stderr)
		}
		return answer, stderr
	}
	answer, stderr := copies("--empty-first")
	s3test.Expect(t, answer, values{"planned": 30, "copied": 30, "failed": 0, "emptied": 1, "bytes": 300})
	if keys := store.Keys(to); len(keys) != 30 || keys[0] != "p/1.mp4" ||
		!regexp.MustCompile(`(?m)^\d+ copied, 0 already there, 0 failed, 0 SlowDowns, \d+ rows/s$`).MatchString(stderr) {
		t.Error(stderr, keys)
	}
	asked := store.Requests.Load()
	answer, _ = copies()
	s3test.Expect(t, answer, values{"planned": 30, "copied": 0, "already_there": 30})
	if asked = store.Requests.Load() - asked; asked > 30+5 {
		t.Errorf("%d requests for 30 rows that are there", asked)
	}
	store.Put(from, "other", s3test.Stored{})
	_, answer, _ = command(t, append(options, "--source-prefix", "", "--destination-prefix", "whole/")...)
	s3test.Expect(t, answer, values{"planned": 31, "copied": 31})
}

func TestAManifestMayBeAsPeopleHaveIt(t *testing.T) {
	const plus = `"trip+data/yellow%2B1.parquet","trip+data/yellow%2B1.parquet"` + "\n"
	for name, c := range map[string]struct{ rows, keys, says string }{
		"inventory's plus":       {plus, "trip data/yellow+1.parquet", ""},
		"compressed":             {zipped(plus), "trip data/yellow+1.parquet", ""},
		"in two parts":           {zipped("a,b\n") + zipped("a,c\n"), "b c", ""},
		"cut in mid-compression": {zipped(plus)[:30], "", "FileError"},
		"an inventory with size": {`"source-bucket","a","1","2026-01-01"` + "\n", "p/a", ""},
		"a version":              {from + ",a,v1\n", "p/a", ""},
		"of two buckets":         {from + ",a\nanother,a\n", "p/a", "the first row is"},
		"of another bucket":      {"another,a\nanother,b\n", "", "NoSuchKey"},
		"of a spreadsheet":       {"\xEF\xBB\xBFa,b\r\n\n \r\n\"a\",\"c\"\n\"a,b\",d\n", "b c d", ""},
		"quotes that don't end":  {"a,b\n\"x,d\na,c\n", "b c", "quotes"},
		"without the last break": {"a,b\na,cop", "b", "may be cut short"},
		"empty":                  {"", "", "NoData"},
		"no JSON":                {`{nonsense`, "", "FileError"},
	} {
		store := serve(t, 0)
		for _, key := range []string{"a", "a,b", "d e", "trip data/yellow+1.parquet", "a?versionId=v1"} {
			store.Put(from, key, s3test.Stored{})
		}
		arguments := []string{"--manifest", manifest(t, c.rows), "--parallel-limit", "1"}
		if strings.HasPrefix(c.keys, "p/") {
			arguments = append(arguments, "--destination-prefix", "p/")
		}
		status, _, stderr := command(t, arguments...)
		if keys := strings.Join(store.Keys(to), " "); keys != c.keys || (status == 0) != (c.says == "") || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: %d, %q, %s", name, status, keys, stderr)
		}
	}
}

func TestFailedRowsAndThoseThatWereLeftAreInAFileAtOnceWhichIsAManifest(t *testing.T) {
	often(t)
	store := serve(t, 1)
	store.Latency = 20 * time.Millisecond
	failed := filepath.Join(t.TempDir(), "failed.jsonl")
	rows := manifest(t, "source/missing,b\nsource/1.mp4?versionId=v,c\nnonsense\n"+strings.Join(many(500, "source/1.mp4"), "\n")+"\n")
	ctx, interrupt := context.WithCancel(context.Background())
	time.AfterFunc(400*time.Millisecond, func() {
		if text, _ := os.ReadFile(failed); !strings.Contains(string(text), "source/missing") {
			t.Errorf("after 0.4 s the file has %q", text)
		}
		interrupt()
	})
	status, first, stderr := run(ctx, t, "--manifest", rows, "--failed", failed, "--parallel-limit", "2")
	text, _ := os.ReadFile(failed)
	if status != 130 || !strings.Contains(stderr, "give "+failed+" as --manifest") || !strings.Contains(stderr, " rows/s, 100 % of the manifest read\n") ||
		!strings.Contains(string(text), `"line": 1, "source": "source/missing"`) || !strings.Contains(string(text), `"version": "v"`) ||
		!strings.Contains(string(text), `"line": 3, "source": "nonsense"`) {
		t.Error(status, stderr)
	}
	store.Put(from, "source/missing", s3test.Stored{})
	store.Put(from, "source/1.mp4?versionId=v", s3test.Stored{})
	store.Latency = 0
	copied := first["copied"].(float64)
	status, second, stderr := command(t, "--manifest", failed, "--failed", failed+"2", "--pace", "fixed")
	s3test.Expect(t, second, values{"planned": 503 - copied, "copied": 502 - copied, "already_there": 0, "failed": 1, "malformed": 1})
	if status != 1 || !strings.Contains(stderr, "transfer copy: S3Error: 1 row wasn't copied for one reason: MalformedRow") || len(store.Keys(to)) != 502 {
		t.Error(status, stderr, len(store.Keys(to)))
	}
	for file, said := range map[string]string{filepath.Dir(failed) + "/./failed.jsonl": "overwrite", "/dev/full": "the failed rows aren't all in /dev/full"} {
		if status, _, stderr := command(t, "--manifest", failed, "--failed", file); status == 0 || !strings.Contains(stderr, said) {
			t.Error(status, stderr)
		}
	}
}

func TestFewOfManyFailedRowsAreShownAndTheLastLineSaysWhyTheyFailed(t *testing.T) {
	store := serve(t, 1)
	for rows, said := range map[string]string{
		"":                                  "300 rows weren't copied for one reason: NoSuchKey",
		"nonsense\nsource/1.mp4,copies/a\n": "301 rows weren't copied (1 MalformedRow, 300 NoSuchKey), such as: ",
	} {
		rows = manifest(t, rows+strings.Join(many(300, "missing"), "\n")+"\n")
		status, _, stderr := command(t, "--manifest", rows, "--empty-first", "--destination-prefix", "copies/", "--pace", "fixed")
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if last := lines[len(lines)-1]; status != 1 || len(lines) != shownFailures+2 || !strings.Contains(stderr, "more rows failed; --failed FILE") ||
			!strings.Contains(last, said) || !strings.HasSuffix(last, "without --empty-first") || len(last) > 300 {
			t.Error(status, stderr)
		}
	}
	if keys := store.Keys(to); len(keys) > 1 {
		t.Error(keys)
	}
}

func TestTheVerbStopsAfterItsSecondsAndWhenItIsInterruptedEvenWhileItWaitsForRows(t *testing.T) {
	serve(t, 1)
	idle, writer, _ := os.Pipe()
	defer writer.Close()
	stdin := os.Stdin
	os.Stdin = idle
	defer func() { os.Stdin = stdin }()
	_, _ = writer.WriteString(strings.Join(many(20, "source/1.mp4"), "\n") + "\n")
	began := time.Now()
	status, answer, stderr := command(t, "--manifest", "-", "--seconds", "1")
	s3test.Expect(t, answer, values{"planned": 20, "copied": 20})
	if status != 0 || stderr != "stopped after 1 seconds (--seconds), with 20 copied\n" || time.Since(began) > 5*time.Second {
		t.Errorf("%d after %v: %s", status, time.Since(began), stderr)
	}
	fifo := filepath.Join(t.TempDir(), "rows")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, interrupt)
	status, answer, stderr = run(ctx, t, "--manifest", fifo)
	if s3test.Expect(t, answer, values{"copied": 0, "planned": nil}); status != 130 || stderr != "transfer copy: interrupted\n" {
		t.Errorf("%d %s", status, stderr)
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

func TestAWrongCommandLineOrSettingIsOneLineAndStatus2(t *testing.T) {
	listing := func(arguments ...string) []string { return append([]string{"--source-prefix", "a/"}, arguments...) }
	within := []string{"--destination-bucket", from}
	for _, c := range []struct {
		arguments []string
		word      string
	}{
		{nil, "--source-prefix or --manifest"},
		{listing("--parallel-limit", "0"), "--parallel-limit"},
		{listing(append(within, "--empty-first", "--destination-prefix", "a/b/")...), "--empty-first"},
		{listing(append(within, "--destination-prefix", "a/b/")...), "--destination-prefix \"a/b/\" is inside"},
		{append([]string{"--source-prefix", "", "--destination-prefix", "b/", "--empty-first"}, within...), "would delete sources"},
		{append([]string{"--manifest", "-", "--empty-first"}, within...), "would delete sources"},
		{[]string{"--manifest", "nowhere"}, "--manifest nowhere"},
		{listing("--failed", "nowhere/f"), "--failed nowhere/f"},
		{listing("--endpoint-url", "http://h/path"), "--endpoint-url"},
	} {
		status, answer, stderr := command(t, c.arguments...)
		if status != 2 || answer != nil || !strings.Contains(stderr, c.word) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: %d %s", c.arguments, status, stderr)
		}
	}
	serve(t, 0)
	t.Setenv("AWS_ENDPOINT_URL_S3", "ftp://h")
	if status, _, stderr := command(t, listing()...); status != 2 || !strings.Contains(stderr, "AWS_ENDPOINT_URL_S3") {
		t.Error(status, stderr)
	}
}

func TestMemoryAndGoroutinesDontGrowWithTheRows(t *testing.T) {
	var few, many runtime.MemStats
	b := &bucket.Bucket{Name: from}
	j := &job{Policy: Policy{Parallel: 100}, route: &route{from: b, to: b}, prefix: "copies/", seen: observe(), failures: newFailures(io.Discard, "r", "c", 0, 1, 0)}
	j.rows = func(_ context.Context, take func(row) error) error {
		for i := range 30_000 {
			if r, _ := parseRow(fmt.Sprintf("masters/missing,elsewhere/%d", i), ownFormat); take(r) != nil || runtime.NumGoroutine() > 120 {
				t.Fatal(i, runtime.NumGoroutine())
			}
			if i == 1000 {
				runtime.GC()
				runtime.ReadMemStats(&few)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&many)
		return nil
	}
	if err := j.run(context.Background(), context.Background()); err != nil || j.seen.failed.Load() != 30_000 || many.HeapAlloc > few.HeapAlloc+1<<20 {
		t.Errorf("%v: %d bytes after %d rows, %d after 1,000", err, many.HeapAlloc, j.seen.failed.Load(), few.HeapAlloc)
	}
}
