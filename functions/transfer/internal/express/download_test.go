package express

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

func TestAnObjectThatIsNotWhatWasUploadedIsAnError(t *testing.T) {
	key := set{1000, 100}.key(22)
	for _, c := range []struct {
		change     func(stored) (stored, func(io.Reader) io.Reader)
		kind, said string
	}{
		{func(o stored) (stored, func(io.Reader) io.Reader) { // another object of the right size, and with its own checksum
			return stored{o.bytes, sumOf(strings.Repeat("y", 1000))}, func(io.Reader) io.Reader { return strings.NewReader(strings.Repeat("y", 1000)) }
		}, "ObjectChanged", "000000022.json isn't what was uploaded: delete it, place the set again"},
		{func(o stored) (stored, func(io.Reader) io.Reader) { // a byte that was lost on the way
			return o, func(body io.Reader) io.Reader {
				return io.MultiReader(io.LimitReader(body, 999), strings.NewReader("!"))
			}
		}, "ChecksumMismatch", "the bytes received aren't those that S3 keeps the checksum of"},
		{func(stored) (stored, func(io.Reader) io.Reader) { return stored{900, ""}, nil }, "SizeMismatch", "has 900 bytes where the set's objects have 1000"},
		{func(stored) (stored, func(io.Reader) io.Reader) { return stored{1100, ""}, nil }, "SizeMismatch", "has 1100 bytes where"},
	} {
		s := startStub(t)
		expect(t, start(t).invoke(ordered()), map[string]any{"status": "ok"})
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
		expect(t, start(t, "OPERATION=download").invoke(ordered()), map[string]any{"error_type": c.kind, "error_message": c.said, "retries": 0})
	}
}

func sumOf(text string) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}

func TestFilesThatDontFitIntoTheTemporaryFolderAreRefusedBeforeTheFirstRequestForOne(t *testing.T) {
	s := startStub(t)
	order := []string{`"object_bytes": 1000000000`, `"object_count": 100000`, `"parallel_limit": 1000`}
	record := start(t, "OPERATION=download").invoke(ordered(append(order, `"objects": 50000`)...))
	expect(t, record, map[string]any{"error_type": "NoSpace", "error_message": "raise ephemeral_storage_mb or lower parallel_limit"})
	if s.count(http.MethodGet) > 0 || !strings.HasPrefix(record["error_message"].(string), "1000 files of 1000000000 bytes at a time don't fit") {
		t.Error(record)
	}
	// No more files than objects: with two of them it is the object that is missing.
	expect(t, start(t, "OPERATION=download").invoke(ordered(`"object_bytes": 1000000`, `"parallel_limit": 1000`, `"objects": 2`)),
		map[string]any{"error_type": "NoSuchKey"})
}

func TestALargeObjectIsNeverInMemory(t *testing.T) {
	startStub(t)
	up, down := start(t), start(t, "OPERATION=download")
	order := ordered(`"object_bytes": 60000000`, `"objects": 1`)
	for _, f := range []*function{up, down} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		expect(t, f.invoke(order), map[string]any{"status": "ok", "bytes": 60_000_000})
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
			t.Errorf("%d bytes of memory for 60,000,000", made)
		}
	}
}
