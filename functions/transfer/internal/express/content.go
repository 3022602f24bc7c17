package express

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"net"
	"strings"
)

// Bounds of a set of objects.
const (
	rowBytes           = 100
	differentRows      = 1000
	smallestObject     = rowBytes
	largestObject      = 1_000_000_000
	mostObjects        = 10_000_000
	rowFormat          = `{"object": "%9s", "value": %3d, "pad": "%s"}` + "\n"
	rowBytesWithoutPad = 49
)

// set is a set of objects of one size and count. Both are in the keys, as Athena's partitions.
type set struct{ objectBytes, objectCount int64 }

func (s set) prefix() string {
	return fmt.Sprintf("data/object_bytes=%d/object_count=%d/", s.objectBytes, s.objectCount)
}

// key is the key of object i, from 0.
func (s set) key(i int64) string { return fmt.Sprintf("%s%09d.json", s.prefix(), i) }

// rows are the rows after the first: 1,000 of 100 bytes, repeated.
var rows = func() []byte {
	var made bytes.Buffer
	for j := range differentRows {
		fmt.Fprintf(&made, rowFormat, "", j, strings.Repeat("x", rowBytes-rowBytesWithoutPad))
	}
	return made.Bytes()
}()

// content is the content of object i of a set: lines of JSON. The first names the object and is
// padded to make up the size. The value of row j is j mod 1000. The pieces share memory, whatever
// the object's size.
func (s set) content(i int64) net.Buffers {
	padding := strings.Repeat("x", int(rowBytes-rowBytesWithoutPad+s.objectBytes%rowBytes))
	first := fmt.Appendf(make([]byte, 0, 2*rowBytes), rowFormat, fmt.Sprintf("%09d", i), 0, padding)
	pieces, from := net.Buffers{first}, int64(rowBytes)
	for left := s.objectBytes - int64(len(first)); left > 0; from = 0 {
		piece := rows[from:min(int64(len(rows)), from+left)]
		pieces, left = append(pieces, piece), left-int64(len(piece))
	}
	return pieces
}

// checksum is the CRC-32 that S3 checks after an upload, and this program after a download.
func checksum(content net.Buffers) (sum uint32) {
	for _, piece := range content {
		sum = crc32.Update(sum, crc32.IEEETable, piece)
	}
	return sum
}
