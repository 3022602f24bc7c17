package download

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/s3test"
)

const (
	key = "folder/sample_large_file.dat"
	mib = 1 << 20
	// Four parts of 16 MiB, the smallest that the settings allow, and a bit.
	largeBytes = 64*mib + 1000
)

// start makes the function of an environment with changes ("NAME=value"). Pauses before retries are short.
func start(t *testing.T, changes ...string) *s3test.Function {
	t.Helper()
	made := New(context.Background(), s3test.Lookup(map[string]string{
		"CONCURRENCY_LIMIT": "5", "MEMORY_SIZE": "1024", "EXPERIMENT_TAG": "experiment 01", "BUCKET_NAME": s3test.Bucket, "FILE_NAME": key,
		"AWS_REGION": "us-east-1", "METHOD": "go_ranges", "SINK": "tmp", "RANGE_PARALLEL": "3", "RANGE_PART_MB": "16",
	}, changes...)).(*operation)
	if made.bucket != nil {
		made.bucket.Retry.FirstPause = time.Millisecond
	}
	return s3test.NewFunction(t, "download", made)
}

func ordered(changes ...string) string { return s3test.Order(map[string]string{}, changes...) }

// checksum is the part of an order that asks for a body's CRC-32.
func checksum(body []byte) string {
	return fmt.Sprintf(`"checksum": "crc32:%08x"`, crc32.ChecksumIEEE(body))
}

// everyWay are the methods and sinks, as changes of an environment.
func everyWay() (ways [][]string) {
	for _, method := range []string{stream, ranges} {
		for _, sink := range []string{discard, memory, tmp} {
			ways = append(ways, []string{"METHOD=" + method, "SINK=" + sink})
		}
	}
	return ways
}

func TestEveryWayDownloadsEveryByteAndSaysSo(t *testing.T) {
	body := s3test.Random(largeBytes)
	s3test.Start(t, key, body)
	for _, way := range everyWay() {
		record := start(t, way...).Invoke(ordered(fmt.Sprintf(`"object_bytes": %d`, largeBytes), `"warm_up": 1`, checksum(body)))
		requests := map[string]int{"METHOD=go_stream": 1, "METHOD=go_ranges": 5}[way[0]]
		s3test.Expect(t, record, map[string]any{"status": "ok", "bytes": largeBytes, "method": way[0][len("METHOD="):], "sink": way[1][len("SINK="):],
			"requests": requests, "retries": 0, "retry_mode": "standard", "retry_attempts": 4, "sdk": bucket.SDK, "attempt": 2, "warm_up": 1})
		if first := record["first_byte_seconds"].(float64); first <= 0 || first > record["download_time_seconds"].(float64) ||
			record["client_cpu_seconds"].(float64) <= 0 {
			t.Error(record)
		}
	}
}

func TestFaultsThatPassAreTriedAgainAndCountedAndLoseNoByte(t *testing.T) {
	body := s3test.Random(20*mib + 17)
	for name, fault := range map[string]func(*s3test.Server){
		"a 503":                      func(s *s3test.Server) { s.SlowDowns = 2 },
		"a cut body":                 func(s *s3test.Server) { s.Cuts = 2 },
		"a connection that is reset": func(s *s3test.Server) { s.Resets = 2 },
		"a body cut more often than a request is tried": func(s *s3test.Server) { s.Cuts = 4 },
	} {
		for i, way := range everyWay() {
			server := s3test.Start
			if i%2 == 1 {
				server = s3test.StartTLS
			}
			s := server(t, key, body)
			fault(s)
			retries := s.SlowDowns + s.Cuts + s.Resets
			record := start(t, way...).Invoke(ordered(checksum(body)))
			s3test.Expect(t, record, map[string]any{"status": "ok", "bytes": len(body), "retries": retries, "requests": len(s.Requests())})
			if t.Failed() {
				t.Fatal(name, way)
			}
		}
	}
}

func TestEveryFailureIsARecordWithItsWord(t *testing.T) {
	for _, wrong := range []struct {
		name, word string
		fault      func(*s3test.Server)
		requests   int
	}{
		{"503 for ever", "SlowDown", func(s *s3test.Server) { s.SlowDowns = 100 }, 4},
		{"bodies always cut", "ConnectionCut", func(s *s3test.Server) { s.Cuts = 100 }, 4},
		// After 1.5, 2.25, 2.6, 2.8, 2.9 and 2.95 MiB: the first and the third cut had been brought on by 1 MiB.
		{"a larger body always cut", "ConnectionCut", func(s *s3test.Server) { s.Cuts = 100; s.Put(key, s3test.Random(3*mib)) }, 6},
		{"404", "NoSuchKey", func(s *s3test.Server) { s.Status = 404 }, 1},
		{"replaced", "ObjectChanged", func(s *s3test.Server) { s.ReplaceAfter, s.Cuts = 1, 1 }, 2},
		{"replaced unseen", "ObjectChanged", func(s *s3test.Server) { s.ReplaceAfter, s.Cuts, s.IgnoreMatch = 1, 1, true }, 2},
		{"ranges ignored", "S3Error", func(s *s3test.Server) { s.IgnoreRange = true }, 1},
		{"other ranges", "SizeMismatch", func(s *s3test.Server) { s.ShiftRanges = 1 }, 1},
		{"another size than ordered", "SizeMismatch", func(s *s3test.Server) { s.Put(key, s3test.Random(mib-1)) }, 1},
		{"a wrong checksum", "ChecksumMismatch", func(*s3test.Server) {}, 1},
	} {
		server := s3test.Start(t, key, s3test.Random(mib))
		wrong.fault(server)
		record := start(t).Invoke(ordered(fmt.Sprintf(`"object_bytes": %d`, mib), `"checksum": "crc32:00000000"`))
		s3test.Expect(t, record, map[string]any{"error_type": wrong.word, "requests": wrong.requests})
		if t.Failed() {
			t.Fatal(wrong.name)
		}
	}
}

func TestAnObjectReplacedBetweenTheRangesIsAnErrorAndNotAMix(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(largeBytes))
	server.ReplaceAfter = 2
	s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"error_type": "ObjectChanged"})
}

func TestAChecksumIsComparedInEverySinkOrRefused(t *testing.T) {
	s3test.Start(t, key, s3test.Random(mib))
	for _, way := range everyWay() {
		for _, sum := range []string{"crc32:00000000", "sha256:" + strings.Repeat("0", 64)} {
			word := "ChecksumMismatch"
			if sum[0] == 's' && way[0] == "METHOD=go_ranges" && way[1] == "SINK=discard" {
				word = "WorkOrderError"
			}
			s3test.Expect(t, start(t, way...).Invoke(ordered(`"checksum": "`+sum+`"`)), map[string]any{"error_type": word})
		}
	}
	body := "\x00"
	s3test.Start(t, key, []byte(body))
	for _, way := range everyWay()[:3] {
		sum := `"checksum": "sha256:6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"`
		s3test.Expect(t, start(t, way...).Invoke(ordered(sum)), map[string]any{"status": "ok"})
	}
}

func TestTheFirstByteIsThatOfTheAnswerAndNotOfABodyThatComesLater(t *testing.T) {
	server := s3test.Start(t, key, []byte("x"))
	server.Stall(500 * time.Millisecond) // after the head, before the one byte
	record := start(t, "METHOD=go_stream", "SINK=memory").Invoke(ordered())
	if first := record["first_byte_seconds"].(float64); first >= 0.5 || record["download_time_seconds"].(float64) < 0.5 {
		t.Error(record)
	}
}

func TestAnEmptyObjectIsADownloadOfNoBytes(t *testing.T) {
	s3test.Start(t, key, nil)
	for _, way := range everyWay() {
		s3test.Expect(t, start(t, way...).Invoke(ordered(`"object_bytes": 0`)), map[string]any{"status": "ok", "bytes": 0})
	}
}

func TestADownloadThatWouldOutlastTheFunctionIsStoppedWithARecord(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(2*mib))
	for _, sink := range []string{tmp, discard} {
		f, began := start(t, "SINK="+sink), time.Now()
		server.Stall(time.Minute)
		record := f.Invoke(ordered(), 3500*time.Millisecond)
		if took := time.Since(began); took < 400*time.Millisecond || took > 2*time.Second {
			t.Errorf("stopped after %v", took)
		}
		s3test.Expect(t, record, map[string]any{"error_type": "DeadlineExceeded", "bytes": mib, "retries": 0})
		server.Stall(0)
		s3test.Expect(t, f.Invoke(ordered()), map[string]any{"status": "ok", "cold_start": 0})
	}
}

func TestTheStartIsWaitedForOutsideTheTimedPartOrRefused(t *testing.T) {
	server := s3test.Start(t, key, s3test.Random(1000))
	s3test.Expect(t, start(t).Invoke(ordered(), 2*time.Second), map[string]any{"error_type": "DeadlineExceeded"})
	late := fmt.Sprintf(`"start_at_ms": %d`, time.Now().Add(time.Minute).UnixMilli())
	s3test.Expect(t, start(t).Invoke(ordered(late), 10*time.Second), map[string]any{"error_type": "StartTooLate"})
	if len(server.Requests()) > 0 {
		t.Error("asked all the same")
	}
	at := time.Now().Add(400 * time.Millisecond).UnixMilli()
	record := start(t).Invoke(ordered(fmt.Sprintf(`"start_at_ms": %d`, at)))
	if started := int64(record["started_at_ms"].(float64)); started < at || started > at+300 {
		t.Errorf("started %d ms after the common start", started-at)
	}
}

func TestWhatCannotBeReadIsARecordThatNamesIt(t *testing.T) {
	s3test.Start(t, key, nil)
	for _, change := range []string{"MEMORY_SIZE=", "METHOD=download_file", "SINK=disk", "RANGE_PARALLEL=0", "RANGE_PART_MB=8"} {
		name, _, _ := strings.Cut(change, "=")
		s3test.Expect(t, start(t, change).Invoke(ordered()), map[string]any{"error_type": "SettingsError", "error_message": name,
			"memory_size": nil, "method": nil, "sink": nil, "retry_mode": nil, "retry_attempts": nil, "sdk": nil, "run_id": "run-1"})
	}
	for _, change := range []string{`"speed": 1`, `"object_bytes": -1`, `"warm_up": 2`, `"checksum": "md5:00"`} {
		name, _, _ := strings.Cut(change[1:], `"`)
		s3test.Expect(t, start(t).Invoke(ordered(change)), map[string]any{"error_type": "WorkOrderError", "error_message": name, "run_id": nil,
			"memory_size": 1024, "warm_up": 0, "retry_mode": "standard"})
	}
}

func TestWhatThisMachineLacksIsARecord(t *testing.T) {
	s3test.Start(t, key, s3test.Random(65*mib))
	s3test.Expect(t, start(t, "SINK=memory", "MEMORY_SIZE=128").Invoke(ordered()), map[string]any{"error_type": "NoMemory", "bytes": 0})
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"error_type": "NoCredentials", "requests": 0})
	t.Setenv("TMPDIR", os.Getenv("TMPDIR")+"/gone")
	s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"error_type": "FileError"})
}

func TestAServerThatCannotBeReachedOrTrustedIsNoConnection(t *testing.T) {
	server := s3test.StartTLS(t, key, s3test.Random(1000))
	t.Setenv("AWS_CA_BUNDLE", "")
	record := start(t).Invoke(ordered())
	s3test.Expect(t, record, map[string]any{"error_type": "NoConnection", "error_message": "certificate", "bytes": 0})
	if len(server.Requests()) > 0 {
		t.Error(record)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
	s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"error_type": "NoConnection", "retries": 3})
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": "127.0.0.1:9000", "AWS_CA_BUNDLE": os.DevNull} {
		t.Setenv(name, value)
		s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"error_type": "SettingsError", "error_message": name})
	}
}

func TestAWarmSandboxUsesItsConnectionAgainAndReplacesOneThatS3Closed(t *testing.T) {
	server, f := s3test.Start(t, key, s3test.Random(1000)), start(t)
	first, second := f.Invoke(ordered()), f.Invoke(ordered())
	server.Resets = 1
	s3test.Expect(t, f.Invoke(ordered()), map[string]any{"status": "ok", "retries": 0})
	requests := server.Requests()
	if requests[0].RemoteAddr != requests[1].RemoteAddr || requests[2].RemoteAddr == requests[3].RemoteAddr {
		t.Error("connections aren't kept, or not replaced")
	}
	if first["sandbox_id"] != second["sandbox_id"] || first["cold_start"] != 1.0 || second["cold_start"] != 0.0 {
		t.Error(first, second)
	}
}
