package express

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
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

// set is the objects that have one size and one count, which their keys name as the partitions of Athena's tables.
type set struct{ objectBytes, objectCount int64 }

func (s set) prefix() string {
	return fmt.Sprintf("data/object_bytes=%d/object_count=%d/", s.objectBytes, s.objectCount)
}

// key of object i, from 0.
func (s set) key(i int64) string { return fmt.Sprintf("%s%09d.json", s.prefix(), i) }

// rows are all rows but the first: 1,000 of 100 bytes, over and over.
var rows = func() []byte {
	var made bytes.Buffer
	for j := range differentRows {
		fmt.Fprintf(&made, rowFormat, "", j, strings.Repeat("x", rowBytes-rowBytesWithoutPad))
	}
	return made.Bytes()
}()

// content is what object i of a set holds: rows of JSON, one a line. The first names the object, and has what bytes are left
// over as padding; the value of row j is j mod 1000. It needs no memory of the object's size.
type content struct {
	bytes, at int64
	first     []byte
}

func (s set) content(i int64) *content {
	padding := strings.Repeat("x", int(rowBytes-rowBytesWithoutPad+s.objectBytes%rowBytes))
	return &content{bytes: s.objectBytes, first: fmt.Appendf(nil, rowFormat, fmt.Sprintf("%09d", i), 0, padding)}
}

// piece returns at least one byte of what stands at a position before the end, in memory that isn't the caller's.
func (c *content) piece(at int64) []byte {
	firstEnd := int64(len(c.first))
	if at < firstEnd {
		return c.first[at:]
	}
	piece := rows[(at-firstEnd+rowBytes)%int64(len(rows)):]
	return piece[:min(int64(len(piece)), c.bytes-at)]
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (n int, err error) {
	if c.at >= c.bytes {
		return 0, io.EOF
	}
	for n < len(p) && c.at < c.bytes {
		copied := copy(p[n:], c.piece(c.at))
		n, c.at = n+copied, c.at+int64(copied)
	}
	return n, nil
}

// crc32 is the checksum that S3 compares with what it received.
func (c *content) crc32() uint32 {
	sum := uint32(0)
	for at := int64(0); at < c.bytes; {
		piece := c.piece(at)
		sum = crc32.Update(sum, crc32.IEEETable, piece)
		at += int64(len(piece))
	}
	return sum
}
