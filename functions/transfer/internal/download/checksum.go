package download

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"regexp"
	"strings"

	"stampede/transfer/internal/failure"
)

const (
	sha256Name = "sha256"
	crc32Name  = "crc32"
)

// Checksum is what the bytes must have: an algorithm, and the value in lower-case hexadecimal digits.
type Checksum struct{ Algorithm, Value string }

var checksumForm = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|crc32:[0-9a-f]{8})$`)

// ParseChecksum reads `sha256:<64 digits>` or `crc32:<8 digits>`; nil when it is neither.
func ParseChecksum(text string) *Checksum {
	if !checksumForm.MatchString(text) {
		return nil
	}
	algorithm, value, _ := strings.Cut(text, ":")
	return &Checksum{algorithm, value}
}

func (c *Checksum) compare(found string) error {
	if found != c.Value {
		return failure.New(failure.ChecksumMismatch, "the bytes received have the %s %s, but the message expects %s: upload the object again",
			c.Algorithm, found, c.Value)
	}
	return nil
}

func newDigest(algorithm string) hash.Hash {
	if algorithm == sha256Name {
		return sha256.New()
	}
	return crc32.NewIEEE()
}

func hexadecimal(digest hash.Hash) string { return hex.EncodeToString(digest.Sum(nil)) }

// run is the CRC-32 of bytes in a row, from a position on.
type run struct {
	at    int64
	crc   uint32
	bytes int64
}

// joined returns the CRC-32 of runs, one after the other.
func joined(runs []run) string {
	crc := uint32(0)
	for _, one := range runs {
		crc = afterZeros(crc, one.bytes) ^ one.crc
	}
	return fmt.Sprintf("%08x", crc)
}

// afterZeros returns what a CRC's remainder becomes over so many zero bytes: times x^(8 bytes) modulo the polynomial. As
// zlib's crc32_combine does, by squaring.
func afterZeros(crc uint32, bytes int64) uint32 {
	factor := uint32(1) << 30 // x^1: the highest bit is x^0
	for power := 8 * bytes; power > 0; power >>= 1 {
		if power&1 == 1 {
			crc = times(crc, factor)
		}
		factor = times(factor, factor)
	}
	return crc
}

// times multiplies two polynomials modulo CRC-32's.
func times(a, b uint32) (product uint32) {
	for bit := 31; bit >= 0; bit-- {
		if a>>bit&1 == 1 {
			product ^= b
		}
		if b&1 == 1 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}
