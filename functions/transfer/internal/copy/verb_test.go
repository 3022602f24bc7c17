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
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/s3test"
)

// told is what a command ended with; stdout is parsed when there is some.
type told struct {
	status int
	answer values
	stderr string
}

func run(ctx context.Context, t *testing.T, arguments ...string) (said told) {
	t.Helper()
	var out, errors bytes.Buffer
	said.status = host.Main(ctx, Verbs, append([]string{"copy", "--source-bucket", from, "--destination-bucket", to}, arguments...), &out, &errors)
	if err := json.Unmarshal(out.Bytes(), &said.answer); err != nil && out.Len() > 0 {
		t.Fatal(err, &out)
	}
	said.stderr = errors.String()
	return said
}

// gives runs a command, which must end so.
func gives(ctx context.Context, t *testing.T, status int, word string, want values, arguments ...string) told {
	t.Helper()
	said := run(ctx, t, arguments...)
	if s3test.Expect(t, said.answer, want); said.status != status || !strings.Contains(said.stderr, word) {
		t.Error(arguments, said)
	}
	return said
}

// manifest writes a file of rows.
func manifest(t *testing.T, rows ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(name, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
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
	store.Put(from, "other", s3test.Stored{})
	store.Latency = 8 * time.Millisecond
	store.Refuse = func(r *http.Request, bucket, _, source string) (int, string) {
		region, class := map[string]string{from: "/eu-west-1/s3/", to: "/us-east-1/s3/"}[bucket], map[bool]string{true: "GLACIER_IR"}[source != ""]
		if !strings.Contains(r.Header.Get("Authorization"), region) || r.Header.Get("X-Amz-Storage-Class") != class {
			t.Error(r.Method, r.URL)
		}
		return 0, ""
	}
	copies := func(word string, want values, source, destination string, more ...string) {
		asked := store.Requests.Load()
		gives(t.Context(), t, 0, word, want, append(more, "--source-prefix", source, "--destination-prefix", destination,
			"--source-region", "eu-west-1", "--storage-class", "GLACIER_IR", "--parallel-limit", "1")...)
		if asked = store.Requests.Load() - asked; asked > 31+8 {
			t.Error(asked, "requests")
		}
	}
	copies(" 0 failed, 0 SlowDowns, ", values{"planned": 30, "copied": 30, "failed": 0, "emptied": 1, "bytes": 300}, "source/", "p/", "--empty-first")
	if keys := store.Keys(to); len(keys) != 30 || keys[0] != "p/1.mp4" {
		t.Error(keys)
	}
	copies("", values{"planned": 31, "copied": 31}, "", "whole/")
	copies("", values{"planned": 31, "copied": 0, "already_there": 31}, "", "whole/")
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
		arguments, status := []string{"--manifest", manifest(t, c.rows), "--parallel-limit", "1"}, 1
		if strings.HasPrefix(c.keys, "p/") {
			arguments = append(arguments, "--destination-prefix", "p/")
		}
		if c.says == "" {
			status = 0
		}
		gives(t.Context(), t, status, c.says, nil, arguments...)
		if keys := strings.Join(store.Keys(to), " "); keys != c.keys {
			t.Error(name, keys)
		}
	}
}

func TestFailedRowsAndThoseThatWereLeftAreInAFileAtOnceWhichIsAManifest(t *testing.T) {
	often(t)
	store := serve(t, 1)
	store.Latency = 20 * time.Millisecond
	failed := filepath.Join(t.TempDir(), "failed.jsonl")
	rows := manifest(t, append(append([]string{"source/missing,b", "source/1.mp4?versionId=v,c", "nonsense"}, many(4000, "source/1.mp4")...), "")...)
	ctx, interrupt := context.WithCancel(t.Context())
	time.AfterFunc(400*time.Millisecond, func() {
		if text, _ := os.ReadFile(failed); !strings.Contains(string(text), "source/missing") {
			t.Error("not yet", string(text))
		}
		interrupt()
	})
	first := gives(ctx, t, 130, "give "+failed+" as --manifest", nil, "--manifest", rows, "--failed", failed, "--parallel-limit", "2")
	text, _ := os.ReadFile(failed)
	for _, part := range []string{`"line": 1, "source": "source/missing"`, `"version": "v"`, `"line": 3, "source": "nonsense"`} {
		if !strings.Contains(string(text), part) || !strings.Contains(first.stderr, " % of the manifest read\n") {
			t.Error(part, first)
		}
	}
	store.Put(from, "source/missing", s3test.Stored{})
	store.Put(from, "source/1.mp4?versionId=v", s3test.Stored{})
	store.Latency = 0
	copied := first.answer["copied"].(float64)
	gives(t.Context(), t, 1, "1 row wasn't copied for one reason: MalformedRow", values{"planned": 4003 - copied, "copied": 4002 - copied,
		"already_there": 0, "failed": 1, "malformed": 1}, "--manifest", failed, "--failed", failed+"2", "--pace", "fixed")
	if keys := store.Keys(to); len(keys) != 4002 {
		t.Error(keys)
	}
	gives(t.Context(), t, 2, "overwrite", nil, "--manifest", failed, "--failed", filepath.Dir(failed)+"/./failed.jsonl")
	gives(t.Context(), t, 1, "/dev/full", nil, "--manifest", failed, "--failed", "/dev/full")
}

func TestFewOfManyFailedRowsAreShownAndTheLastLineSaysWhyTheyFailed(t *testing.T) {
	serve(t, 1)
	for first, said := range map[string]string{
		"missing,copies/x": "301 rows weren't copied for one reason: NoSuchKey",
		"nonsense":         "301 rows weren't copied (1 MalformedRow, 300 NoSuchKey), such as: ",
	} {
		rows := manifest(t, append(append([]string{first}, many(300, "missing")...), "")...)
		ended := gives(t.Context(), t, 1, said, nil, "--manifest", rows, "--empty-first", "--destination-prefix", "copies/", "--pace", "fixed")
		lines := strings.SplitAfter(ended.stderr, "\n")
		if last := lines[len(lines)-2]; len(lines) != shownFailures+3 || !strings.Contains(last, said) || len(last) > 300 {
			t.Error(ended)
		}
	}
}

func TestTheVerbStopsAfterItsSecondsAndWhenItIsInterruptedEvenWhileItWaitsForRows(t *testing.T) {
	serve(t, 1)
	idle, writer, _ := os.Pipe()
	defer writer.Close()
	stdin := os.Stdin
	os.Stdin = idle
	defer func() { os.Stdin = stdin }()
	_, _ = writer.WriteString(strings.Join(append(many(20, "source/1.mp4"), ""), "\n"))
	began := time.Now()
	gives(t.Context(), t, 0, "with 20 copied", values{"planned": 20, "copied": 20}, "--manifest", "-", "--seconds", "1")
	fifo := filepath.Join(t.TempDir(), "rows")
	_ = syscall.Mkfifo(fifo, 0o600)
	ctx, interrupt := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, interrupt)
	gives(ctx, t, 130, "interrupted", values{"copied": 0, "planned": nil}, "--manifest", fifo)
	if took := time.Since(began); took > 5*time.Second {
		t.Error(took)
	}
}

func TestMoreCallsThanThisProcessMayOpenFilesAreCapped(t *testing.T) {
	var usual syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: usual.Max})
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual) }()
	j := &job{Policy: Policy{Parallel: 1000}}
	if j.capParallel(); j.Parallel != 256-keptFiles {
		t.Error(j.Parallel)
	}
}

func TestAWrongCommandLineOrSettingIsOneLineAndStatus2(t *testing.T) {
	listing, within := []string{"--source-prefix", "a/"}, []string{"--destination-bucket", from, "--destination-prefix", "a/b/"}
	serve(t, 0)
	for word, arguments := range map[string][]string{
		"--source-prefix or --manifest": nil,
		"--parallel-limit":              {"--source-prefix", "a/", "--parallel-limit", "0"},
		"--empty-first":                 append(within, "--source-prefix", "a/", "--empty-first"),
		"is inside":                     append(within, listing...),
		`prefix "a/b/" overlaps`:        append(within, "--source-prefix", "", "--empty-first"),
		"would delete sources":          {"--destination-bucket", from, "--manifest", "-", "--empty-first"},
		"--manifest nowhere":            {"--manifest", "nowhere"},
		"--failed nowhere/f":            append(listing, "--failed", "nowhere/f"),
		"--endpoint-url":                append(listing, "--endpoint-url", "http://h/path"),
		"AWS_ENDPOINT_URL_S3":           listing,
	} {
		if word == "AWS_ENDPOINT_URL_S3" {
			t.Setenv(word, "ftp://h")
		}
		if said := gives(t.Context(), t, 2, word, nil, arguments...); said.answer != nil || strings.Count(said.stderr, "\n") != 1 {
			t.Error(said)
		}
	}
}

func TestMemoryAndGoroutinesDontGrowWithTheRows(t *testing.T) {
	var few, many runtime.MemStats
	b, before := &bucket.Bucket{Name: from}, runtime.NumGoroutine()
	j := &job{Policy: Policy{Parallel: 100}, route: &route{from: b, to: b}, prefix: "copies/", seen: observe(), failures: newFailures(io.Discard, "r", "c", 0, 1, 0)}
	j.rows = func(_ context.Context, take func(row) error) error {
		for i := range 30_000 {
			if take(parseRow(fmt.Sprintf("masters/missing,elsewhere/%d", i), ownFormat)) != nil {
				t.Fatal(i)
			}
			if i == 1000 {
				runtime.GC()
				runtime.ReadMemStats(&few)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&many)
		before -= runtime.NumGoroutine()
		return nil
	}
	err := j.run(t.Context(), t.Context())
	if failed := j.seen.failed.Load(); err != nil || failed != 30_000 || many.HeapAlloc > few.HeapAlloc+1<<20 || before < -110 {
		t.Error(err, failed, few.HeapAlloc, many.HeapAlloc, before)
	}
}
