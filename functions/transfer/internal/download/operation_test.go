package download

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

const (
	key = "folder/sample_large_file.dat"
	mib = 1 << 20
	// Four parts of 16 MiB, the smallest part size, and a bit.
	largeBytes = 64*mib + 1000
)

type values = map[string]any

// serve runs an S3 that has the object.
func serve(t *testing.T, body []byte) *s3test.Store {
	t.Helper()
	s := s3test.StartStore(t, "stampede-test")
	s.Put("stampede-test", key, s3test.Stored{Body: body})
	return s
}

// start makes the function of an environment with changes ("NAME=value"). Retries are fast.
func start(t *testing.T, changes ...string) *s3test.Function {
	t.Helper()
	made := New(context.Background(), s3test.Lookup(map[string]string{
		"CONCURRENCY_LIMIT": "5", "MEMORY_SIZE": "1024", "EXPERIMENT_TAG": "experiment 01",
		"BUCKET_NAME": "stampede-test", "FILE_NAME": key, "AWS_REGION": "us-east-1",
		"METHOD": "go_ranges", "SINK": "tmp", "RANGE_PARALLEL": "3", "RANGE_PART_MB": "16",
	}, changes...)).(*operation)
	if made.bucket != nil {
		made.bucket.Retry.FirstPause = time.Millisecond
	}
	return s3test.NewFunction(t, "download", made)
}

func ordered(changes ...string) string { return s3test.Order(map[string]string{}, changes...) }

// checksum is the part of an order that asks for a body's SHA-256.
func checksum(body []byte) string {
	return fmt.Sprintf(`"checksum": "sha256:%x"`, sha256.Sum256(body))
}

// everyWay yields every method with every sink.
func everyWay(yield func(method, sink string) bool) {
	for _, method := range []string{stream, ranges} {
		for _, sink := range []string{discard, memory, tmp} {
			if !yield("METHOD="+method, "SINK="+sink) {
				return
			}
		}
	}
}

func TestTemporaryFaultsAreRetriedAndCountedAndLoseNoByte(t *testing.T) {
	body := s3test.Random(20*mib + 17)
	for retries, faults := range map[int]s3test.Faults{
		2: {Busy: 1, Resets: 1},
		3: {Cuts: 3},
		4: {Cuts: 4}, // more than one request is retried
	} {
		for method, sink := range everyWay {
			s := serve(t, body)
			if sink == "SINK="+memory {
				s = s3test.StartStoreTLS(t, "stampede-test")
				s.Put("stampede-test", key, s3test.Stored{Body: body})
			}
			s.Faults = faults
			want := []string{checksum(body)}
			if method == "METHOD="+ranges && sink == "SINK="+discard {
				want = nil // no checksum here
			}
			record := start(t, method, sink).Gives(
				values{"status": "ok", "bytes": len(body), "retries": retries}, ordered(want...))
			s3test.Expect(t, record, values{"requests": int(s.Requests.Load())})
		}
	}
}

func TestEveryFailureIsARecordWithItsWord(t *testing.T) {
	withRange := func(value string) s3test.Faults {
		return s3test.Faults{Headers: map[string]string{"Range": value}}
	}
	for name, wrong := range map[string]struct {
		faults s3test.Faults
		bytes  int
		want   values
	}{
		// Cut after 1.5, 2.25, 2.6, 2.8, 2.9 and 2.95 MiB: 1 MiB of progress before the first and
		// the third cut.
		"a larger body always cut": {s3test.Faults{Cuts: 100}, 3 * mib,
			values{"error_type": "ConnectionCut", "requests": 6}},
		"replaced unseen": {s3test.Faults{ReplaceAfter: 1, Cuts: 1,
			Headers: map[string]string{"If-Match": ""}}, mib,
			values{"error_type": "ObjectChanged", "requests": 2}},
		"replaced between the ranges": {s3test.Faults{ReplaceAfter: 2}, largeBytes,
			values{"error_type": "ObjectChanged"}},
		"ranges ignored": {withRange(""), mib, values{"error_type": "S3Error", "requests": 1}},
		"other ranges": {withRange("bytes=1-16777216"), largeBytes,
			values{"error_type": "SizeMismatch", "requests": 1}},
		"short ranges": {withRange("bytes=0-99"), largeBytes,
			values{"error_type": "SizeMismatch", "requests": 1}},
		"another size than ordered": {s3test.Faults{}, mib - 1,
			values{"error_type": "SizeMismatch", "requests": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, s3test.Random(wrong.bytes)).Faults = wrong.faults
			size := fmt.Sprintf(`"object_bytes": %d`, max(wrong.bytes, mib))
			start(t).Gives(wrong.want, ordered(size, checksum(nil)))
		})
	}
}

func TestAChecksumIsComparedInEverySink(t *testing.T) {
	serve(t, []byte("\x00"))
	for method, sink := range everyWay {
		word := "ChecksumMismatch"
		if method == "METHOD="+ranges && sink == "SINK="+discard {
			word = "WorkOrderError" // ranges arrive out of order
		}
		start(t, method, sink).Gives(values{"error_type": word}, ordered(checksum(nil)))
	}
}

func TestTheFirstByteIsTheAnswersEvenIfTheBodyComesLater(t *testing.T) {
	s := serve(t, []byte("x"))
	s.Stall.Store(int64(500 * time.Millisecond)) // after the head, before the one byte
	record := start(t, "METHOD=go_stream", "SINK=memory").Invoke(ordered())
	first, all := record["first_byte_seconds"].(float64), record["download_time_seconds"].(float64)
	if first >= 0.5 || math.Abs(all-0.7) > 0.2 {
		t.Error(record)
	}
}

func TestADownloadThatWouldOutlastTheFunctionIsStoppedWithARecord(t *testing.T) {
	s := serve(t, s3test.Random(2*mib))
	for _, sink := range []string{tmp, discard} {
		f, began := start(t, "SINK="+sink), time.Now()
		s.Stall.Store(int64(time.Minute))
		record := f.Invoke(ordered(), 3500*time.Millisecond)
		if took := time.Since(began); took < 400*time.Millisecond || took > 2*time.Second {
			t.Errorf("stopped after %v", took)
		}
		want := values{"error_type": "DeadlineExceeded", "bytes": mib, "retries": 0}
		s3test.Expect(t, record, want)
		s.Stall.Store(0)
		f.Gives(values{"status": "ok", "cold_start": 0}, ordered())
	}
}

func TestTheStartIsWaitedForOutsideTheTimedPart(t *testing.T) {
	serve(t, s3test.Random(1000))
	tooLate := values{"error_type": "DeadlineExceeded", "requests": 0}
	start(t).Gives(tooLate, ordered(), 2*time.Second)
	at := time.Now().Add(400 * time.Millisecond).UnixMilli()
	record := start(t).Invoke(ordered(fmt.Sprintf(`"start_at_ms": %d`, at)))
	if started := int64(record["started_at_ms"].(float64)); started < at || started > at+300 {
		t.Errorf("started %d ms after the common start", started-at)
	}
}

func TestWrongSettingsAreARecordThatNamesThem(t *testing.T) {
	serve(t, nil)
	for _, change := range []string{"MEMORY_SIZE=", "METHOD=download_file", "SINK=disk",
		"RANGE_PARALLEL=0", "RANGE_PART_MB=8", "REQUESTER_PAYS=yes"} {
		name, _, _ := strings.Cut(change, "=")
		start(t, change).Gives(values{"error_type": "SettingsError", "error_message": name,
			"memory_size": nil, "method": nil, "sink": nil, "retry_mode": nil, "sdk": nil,
			"run_id": "run-1"}, ordered())
	}
}

func TestWhatThisMachineLacksIsARecord(t *testing.T) {
	serve(t, s3test.Random(65*mib))
	small := start(t, "SINK=memory", "MEMORY_SIZE=128")
	small.Gives(values{"error_type": "NoMemory", "bytes": 0}, ordered())
	file, _ := newSink(&settings{Sink: tmp}, "")
	if kind, _ := failure.Describe(file.prepare(1 << 60)); kind != failure.NoSpace {
		t.Error(kind)
	}
	file.close()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	start(t).Gives(values{"error_type": "NoCredentials", "requests": 0}, ordered())
	t.Setenv("TMPDIR", os.Getenv("TMPDIR")+"/gone")
	start(t).Gives(values{"error_type": "FileError"}, ordered())
}

func TestAServerThatCannotBeReachedOrTrustedIsNoConnection(t *testing.T) {
	s := s3test.StartStoreTLS(t)
	for _, c := range []struct {
		name, value, word, said string
		retries                 int
	}{
		{"AWS_CA_BUNDLE", "", "NoConnection", "certificate", 3},
		{"AWS_ENDPOINT_URL", "http://127.0.0.1:9", "NoConnection", "", 3},
		{"AWS_CA_BUNDLE", os.DevNull, "SettingsError", "AWS_CA_BUNDLE", 0},
	} {
		t.Setenv(c.name, c.value)
		start(t).Gives(values{"error_type": c.word, "error_message": c.said, "retries": c.retries,
			"bytes": 0}, ordered())
	}
	if s.Requests.Load() > 0 {
		t.Error("asked a server that it doesn't trust")
	}
}

func TestAWarmSandboxReusesItsConnectionAndReplacesOneThatS3Closed(t *testing.T) {
	s, places := serve(t, s3test.Random(1000)), []string{}
	s.Refuse = func(r *http.Request, _, _, _ string) (int, string) {
		places = append(places, r.RemoteAddr)
		return map[int]int{3: s3test.HangUp}[len(places)], ""
	}
	f := start(t)
	for range 3 {
		f.Gives(values{"status": "ok", "retries": 0}, ordered())
	}
	if len(places) != 4 || places[0] != places[1] || places[2] == places[3] {
		t.Error("connections aren't kept, or not replaced", places)
	}
}
