package express

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// bytesOf is the content of an object, read in odd pieces.
func (s set) bytesOf(object int64) []byte {
	content := s.content(object)
	read, _ := io.ReadAll(iotest.HalfReader(&content))
	return read
}

// byDefinition makes the content row by row.
func byDefinition(objectBytes, object int64) []byte {
	var made bytes.Buffer
	for j := range objectBytes / 100 {
		name, padding := "         ", strings.Repeat("x", 51)
		if j == 0 {
			name = fmt.Sprintf("%09d", object)
			padding += strings.Repeat("x", int(objectBytes%100))
		}
		fmt.Fprintf(&made, `{"object": "%s", "value": %3d, "pad": "%s"}`+"\n",
			name, j%1000, padding)
	}
	return made.Bytes()
}

func TestTheContentOfAnObjectIsItsDefinitionInRowsOfJSON(t *testing.T) {
	for _, size := range []int64{100, 199, 200, 1000, 10_000, 99_999, 100_000, 100_100, 100_199,
		250_050, 1_000_001} {
		for _, object := range []int64{0, 7, 77_576, 9_999_999} {
			wanted, s := byDefinition(size, object), set{size, mostObjects}
			if !bytes.Equal(s.bytesOf(object), wanted) ||
				checksum(s.content(object)) != crc32.ChecksumIEEE(wanted) {
				t.Fatalf("%d bytes of object %d", size, object)
			}
			for line := range bytes.Lines(wanted) {
				if size < 1000 && !json.Valid(line) {
					t.Fatalf("%s", line)
				}
			}
		}
	}
}

func TestKeysAreThePartitionsOfTheTables(t *testing.T) {
	key := set{10_000, 77_577}.key(42)
	if key != "data/object_bytes=10000/object_count=77577/000000042.json" {
		t.Error(key)
	}
}
