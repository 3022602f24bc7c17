package copy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// told is the result of a command, its stdout parsed if there is any.
type told struct {
	status int
	answer values
	stderr string
}

func run(ctx context.Context, t *testing.T, arguments ...string) (said told) {
	t.Helper()
	var out, errors bytes.Buffer
	copying := []string{"copy", "--source-bucket", from, "--destination-bucket", to}
	said.status = host.Main(ctx, Verbs, append(copying, arguments...), &out, &errors)
	if err := json.Unmarshal(out.Bytes(), &said.answer); err != nil && out.Len() > 0 {
		t.Fatal(err, &out)
	}
	said.stderr = errors.String()
	return said
}

// gives runs a command and checks its exit status, a word on stderr, and values of its summary.
func gives(ctx context.Context, t *testing.T, status int, word string, want values,
	arguments ...string) told {
	t.Helper()
	said := run(ctx, t, arguments...)
	s3test.Expect(t, said.answer, want)
	if said.status != status || !strings.Contains(said.stderr, word) {
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

// often makes progress and failed rows be written every 100 ms.
func often(t *testing.T) {
	progress, flush := progressEvery, flushEvery
	progressEvery, flushEvery = 100*time.Millisecond, 100*time.Millisecond
	t.Cleanup(func() { progressEvery, flushEvery = progress, flush })
}

func TestTheVerbCopiesAManifestAndAgainCopiesNothing(t *testing.T) {
	often(t)
	store := serve(t, 1)
	store.Put(to, "copies/old", s3test.Stored{})
	store.Latency = 8 * time.Millisecond
	rows := manifest(t, append(many(30, "source/1.mp4"), "")...)
	copies := func(word string, want values, more ...string) {
		asked := store.Requests.Load()
		gives(t.Context(), t, 0, word, want, append(more, "--manifest", rows,
			"--parallel-limit", "1", "--destination-prefix", "copies/")...)
		if asked = store.Requests.Load() - asked; asked > 30+8 {
			t.Error(asked, "requests")
		}
	}
	copies(" 0 failed, 0 SlowDowns, ", values{"planned": 30, "copied": 30, "failed": 0,
		"emptied": 1}, "--empty-first")
	if keys := store.Keys(to); len(keys) != 30 || keys[0] != "copies/0" {
		t.Error(keys)
	}
	copies("", values{"planned": 30, "copied": 0, "already_there": 30})
}

func TestAManifestIsRowsWithEncodedKeysOrAnError(t *testing.T) {
	for rows, want := range map[string]struct{ keys, says string }{
		"a+b%2B,c+d\r\n\n \r\na,e": {"c d", "may be cut short"},
		"\"a\",\"b\"\n":            {"", "quotes"},
		"":                         {"", "NoData"},
		"{nonsense":                {"", "FileError"},
	} {
		store := serve(t, 0)
		store.Put(from, "a", s3test.Stored{})
		store.Put(from, "a b+", s3test.Stored{})
		gives(t.Context(), t, 1, want.says, nil, "--manifest", manifest(t, rows))
		if keys := strings.Join(store.Keys(to), " "); keys != want.keys {
			t.Error(rows, keys)
		}
	}
}

func TestFailedAndRemainingRowsAreWrittenAtOnceToAFileThatIsAManifest(t *testing.T) {
	often(t)
	store := serve(t, 1)
	store.Latency = 20 * time.Millisecond
	failed := filepath.Join(t.TempDir(), "failed.jsonl")
	rows := append([]string{"source/missing,b", "nonsense"}, many(4000, "source/1.mp4")...)
	listed := manifest(t, append(rows, "")...)
	ctx, interrupt := context.WithCancel(t.Context())
	time.AfterFunc(400*time.Millisecond, func() {
		if text, _ := os.ReadFile(failed); !strings.Contains(string(text), "source/missing") {
			t.Error("not yet", string(text))
		}
		interrupt()
	})
	first := gives(ctx, t, 130, "give "+failed+" as --manifest", nil, "--manifest", listed,
		"--failed", failed, "--parallel-limit", "2")
	text, _ := os.ReadFile(failed)
	for _, part := range []string{`"line": 1, "source": "source/missing"`,
		`"line": 2, "source": "nonsense"`} {
		if !strings.Contains(string(text), part) {
			t.Error(part, first)
		}
	}
	store.Put(from, "source/missing", s3test.Stored{})
	store.Latency = 0
	copied := first.answer["copied"].(float64)
	gives(t.Context(), t, 1, "weren't copied: 1 (1 MalformedRow, such as: ", values{
		"planned": 4002 - copied, "copied": 4001 - copied, "already_there": 0, "failed": 1,
		"malformed": 1}, "--manifest", failed, "--failed", failed+"2", "--pace", "fixed")
	if keys := store.Keys(to); len(keys) != 4001 {
		t.Error(keys)
	}
	gives(t.Context(), t, 2, "overwrite", nil, "--manifest", failed,
		"--failed", filepath.Dir(failed)+"/./failed.jsonl")
	gives(t.Context(), t, 1, "/dev/full", nil, "--manifest", failed, "--failed", "/dev/full")
}

func TestFewOfManyFailedRowsAreShownAndTheLastLineSaysWhyTheyFailed(t *testing.T) {
	serve(t, 1)
	rows := manifest(t, append(append([]string{"nonsense"}, many(300, "missing")...), "")...)
	ended := gives(t.Context(), t, 1, "weren't copied: 301 (1 MalformedRow, 300 NoSuchKey, such",
		nil, "--manifest", rows, "--pace", "fixed")
	if strings.Count(ended.stderr, "\n") != shownFailures+1 {
		t.Error(ended)
	}
}

func TestTheVerbStopsAfterItsSeconds(t *testing.T) {
	serve(t, 1).Latency = 20 * time.Millisecond
	rows, began := manifest(t, append(many(300, "source/1.mp4"), "")...), time.Now()
	said := gives(t.Context(), t, 0, "", nil, "--manifest", rows, "--seconds", "1",
		"--parallel-limit", "2")
	if copied := said.answer["copied"].(float64); copied == 0 || copied > 120 ||
		time.Since(began) > 5*time.Second {
		t.Error(said, time.Since(began))
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
	serve(t, 0)
	rows := []string{"--manifest", manifest(t, "a,b\n")}
	for word, arguments := range map[string][]string{
		"--manifest is missing": nil,
		"--parallel-limit":      append(rows, "--parallel-limit", "0"),
		"--manifest nowhere":    {"--manifest", "nowhere"},
		"isn't a file":          {"--manifest", os.DevNull},
		"would delete sources":  append(rows, "--destination-bucket", from, "--empty-first"),
		"--failed nowhere/f":    append(rows, "--failed", "nowhere/f"),
		"AWS_ENDPOINT_URL_S3":   rows,
	} {
		if word == "AWS_ENDPOINT_URL_S3" {
			t.Setenv(word, "ftp://h")
		}
		said := gives(t.Context(), t, 2, word, nil, arguments...)
		if said.answer != nil || strings.Count(said.stderr, "\n") != 1 {
			t.Error(said)
		}
	}
}

func TestMemoryAndGoroutinesDontGrowWithTheRows(t *testing.T) {
	var few, many runtime.MemStats
	b, before := &bucket.Bucket{Name: from}, runtime.NumGoroutine()
	j := &job{Policy: Policy{Parallel: 100}, route: &route{from: b, to: b}, prefix: "copies/",
		seen: observe(), failures: newFailures(io.Discard, "r", "c", 0, 1, 0)}
	j.rows = func(_ context.Context, take func(row) error) error {
		for i := range 30_000 {
			if take(parseRow(fmt.Sprintf("masters/missing,elsewhere/%d", i))) != nil {
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
	if failed := j.seen.failed.Load(); err != nil || failed != 30_000 ||
		many.HeapAlloc > few.HeapAlloc+1<<20 || before < -110 {
		t.Error(err, failed, few.HeapAlloc, many.HeapAlloc, before)
	}
}
