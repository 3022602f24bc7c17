package express

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

func TestAnObjectThatIsNotWhatWasUploadedIsAnError(t *testing.T) {
	key := set{1000, 100}.key(22)
	for _, c := range []struct {
		change     func(stored) (stored, func(io.Reader) io.Reader)
		kind, said string
	}{
		{func(o stored) (stored, func(io.Reader) io.Reader) { // another object of the right size, and with its own checksum
			return stored{o.bytes, sumOf(strings.Repeat("y", 1000))}, func(io.Reader) io.Reader { return strings.NewReader(strings.Repeat("y", 1000)) }
		}, "ObjectChanged", "000000022.json isn't what was uploaded: delete it, seed the set again"},
		{func(o stored) (stored, func(io.Reader) io.Reader) { // a byte that was lost on the way
			return o, func(body io.Reader) io.Reader {
				return io.MultiReader(io.LimitReader(body, 999), strings.NewReader("!"))
			}
		}, "ChecksumMismatch", "the bytes received don't match the checksum that S3 stores"},
		{func(stored) (stored, func(io.Reader) io.Reader) { return stored{900, ""}, nil }, "SizeMismatch", "has 900 bytes instead of 1000"},
		{func(stored) (stored, func(io.Reader) io.Reader) { return stored{1100, ""}, nil }, "SizeMismatch", "has 1100 bytes instead of"},
	} {
		s := startStub(t)
		s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"status": "ok"})
		changed, body := c.change(s.objects[directory+"/"+key])
		s.objects[directory+"/"+key] = changed
		if body != nil {
			s.body = func(asked string, content io.Reader) io.Reader {
				if asked == key {
					return body(content)
				}
				return content
			}
		}
		s3test.Expect(t, start(t, "OPERATION=download").Invoke(ordered()), map[string]any{"error_type": c.kind, "error_message": c.said, "retries": 0})
	}
}

func sumOf(text string) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}

func TestFilesThatDontFitIntoTheTemporaryFolderAreRefusedBeforeTheFirstRequestForOne(t *testing.T) {
	s := startStub(t)
	order := []string{`"object_bytes": 1000000000`, `"object_count": 100000`, `"parallel_limit": 1000`}
	record := start(t, "OPERATION=download").Invoke(ordered(append(order, `"objects": 50000`)...))
	s3test.Expect(t, record, map[string]any{"error_type": "NoSpace", "error_message": "raise ephemeral_storage_mb or lower parallel_limit"})
	if s.count(http.MethodGet) > 0 || !strings.HasPrefix(record["error_message"].(string), "1000 objects of 1000000000 bytes at a time don't fit") {
		t.Error(record)
	}
}

func TestATemporaryFolderThatFillsUpInMidWriteIsNoSpace(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("only Linux has such a device")
	}
	defer full.Close()
	_, _, err = place{file: full, buffer: make([]byte, 1000)}.receive(set{1000, 1}.content(0))
	kind, said := failure.Describe(err)
	if kind != failure.NoSpace || !strings.Contains(said, "raise ephemeral_storage_mb") {
		t.Error(kind, said)
	}
}

// 1,024 file descriptors are all that a sandbox has.
func TestManyRequestsAtATimeNeedOneFileMoreAndNoConnectionsOfTheOtherClass(t *testing.T) {
	s := startStub(t)
	var files, bytes atomic.Int64
	s.body = func(_ string, content io.Reader) io.Reader {
		descriptors, _ := filepath.Glob("/proc/self/fd/*") // the file has no name
		number := int64(0)
		for _, descriptor := range descriptors {
			if to, _ := os.Readlink(descriptor); strings.HasPrefix(to, os.Getenv("TMPDIR")) {
				number++
				if file, err := os.Stat(descriptor); err == nil {
					bytes.Store(max(bytes.Load(), file.Size()))
				}
			}
		}
		files.Store(number)
		return content
	}
	for i := range int64(100) {
		for _, bucket := range []string{general, directory} {
			s.objects[bucket+"/"+set{1000, 100}.key(i)] = stored{bytes: 1000}
		}
	}
	f, all := start(t, "OPERATION=download"), []string{`"parallel_limit": 50`, `"first_object": 0`, `"objects": 100`}
	s3test.Expect(t, f.Invoke(ordered(append(all, class(standard))...)), map[string]any{"status": "ok"})
	if files.Load() != 1 || bytes.Load() > 50*1000 || bytes.Load() < 25*1000 {
		t.Error(files.Load(), bytes.Load())
	}
	s3test.Expect(t, f.Invoke(ordered(`"parallel_limit": 1`)), map[string]any{"status": "ok"})
	for range 100 {
		if s.open.Load() == 1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(s.open.Load(), "connections")
}

func TestALargeObjectIsNeverInMemory(t *testing.T) {
	startStub(t)
	up, down := start(t), start(t, "OPERATION=download")
	order := ordered(`"object_bytes": 60000000`, `"objects": 1`)
	for _, f := range []*function{up, down} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s3test.Expect(t, f.Invoke(order), map[string]any{"status": "ok", "bytes": 60_000_000})
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
			t.Errorf("%d bytes of memory for 60,000,000", made)
		}
	}
}
