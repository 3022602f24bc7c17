package express

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// byDefinition makes the content row by row.
func byDefinition(objectBytes, object int64) []byte {
	var made bytes.Buffer
	for j := range objectBytes / 100 {
		name, padding := "         ", strings.Repeat("x", 51)
		if j == 0 {
			name, padding = fmt.Sprintf("%09d", object), padding+strings.Repeat("x", int(objectBytes%100))
		}
		fmt.Fprintf(&made, "{\"object\": \"%s\", \"value\": %3d, \"pad\": \"%s\"}\n", name, j%1000, padding)
	}
	return made.Bytes()
}

func TestTheContentOfAnObjectIsItsDefinitionWhereverItIsRead(t *testing.T) {
	for _, size := range []int64{100, 199, 200, 1000, 10_000, 99_999, 100_000, 100_100, 100_199, 250_050, 1_000_001} {
		for _, object := range []int64{0, 7, 77_576, 9_999_999} {
			wanted, c := byDefinition(size, object), set{size, mostObjects}.content(object)
			sum := checksum(c)
			read, err := io.ReadAll(iotest(&c))
			if err != nil || !bytes.Equal(read, wanted) || sum != crc32.ChecksumIEEE(wanted) {
				t.Fatalf("%d bytes of object %d: %v", size, object, err)
			}
		}
	}
}

// iotest reads in pieces that end nowhere in particular.
func iotest(from io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) { return from.Read(p[:min(len(p), 333)]) })
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestEveryLineIsJsonAndTheValuesAddUp(t *testing.T) {
	content := set{123_456, 100}.content(42)
	read, _ := io.ReadAll(&content)
	rows, sum, largest := 0, 0, 0
	for line := range strings.Lines(string(read)) {
		var row struct {
			Object, Pad *string
			Value       *int
		}
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&row); err != nil || row.Object == nil || row.Pad == nil || row.Value == nil {
			t.Fatalf("%v: %s", err, line)
		}
		if named := *row.Object == "000000042"; named != (rows == 0) || len(*row.Object) != 9 {
			t.Fatalf("row %d: %s", rows, line)
		}
		rows, sum, largest = rows+1, sum+*row.Value, max(largest, *row.Value)
	}
	// 1,234 rows: 0 to 999, and 0 to 233.
	if rows != 1234 || sum != 999*1000/2+233*234/2 || largest != 999 {
		t.Error(rows, sum, largest)
	}
}

func TestKeysAreThePartitionsOfTheTables(t *testing.T) {
	if key := (set{10_000, 77_577}).key(42); key != "data/object_bytes=10000/object_count=77577/000000042.json" {
		t.Error(key)
	}
}
