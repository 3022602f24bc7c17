package download

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func TestTheCRCOfRunsIsTheCRCOfTheWhole(t *testing.T) {
	whole := make([]byte, 100_000)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range whole {
		whole[i] = byte(source.Uint32())
	}
	for range 50 {
		runs, rest := []piece{}, whole
		for len(rest) > 0 {
			n := 1 + source.IntN(len(rest))
			runs = append(runs, piece{int64(len(whole) - len(rest)), int64(n), crc32.ChecksumIEEE(rest[:n])})
			rest = rest[n:]
		}
		if got, want := joined(runs), hexOf(whole); got != want {
			t.Fatalf("%s of %d runs, %s of the whole", got, len(runs), want)
		}
	}
	if joined(nil) != "00000000" {
		t.Error("the CRC of nothing is 0")
	}
}

func hexOf(whole []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(whole)) }
