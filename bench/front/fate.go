package main

import (
	"encoding/binary"
	"hash/fnv"
	"net"
	"net/http"
	"sync"
)

type fate int

const (
	served fate = iota
	lost        // carried out, and the connection closed before the answer
	cut         // the connection reset before anything is done
)

// fates draws what becomes of a try. The draw is made from the seed, the request and the number of its try, so it doesn't
// depend on the order in which parallel requests arrive.
type fates struct {
	lose, reset float64
	seed        uint64

	mutex sync.Mutex
	tries map[string]uint64
}

func (f *fates) next(asked request) fate {
	if f.lose+f.reset == 0 || !asked.mayBeCut() {
		return served
	}
	name := asked.operation + " " + asked.bucket + "/" + asked.key
	f.mutex.Lock()
	f.tries[name]++
	try := f.tries[name]
	f.mutex.Unlock()
	switch drawn := draw(f.seed, try, name); {
	case drawn < f.reset:
		return cut
	case drawn < f.reset+f.lose:
		return lost
	}
	return served
}

// draw gives a number from 0 to below 1.
func draw(seed, try uint64, name string) float64 {
	sum := fnv.New64a()
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[:8], seed)
	binary.LittleEndian.PutUint64(numbers[8:], try)
	_, _ = sum.Write([]byte(name))
	_, _ = sum.Write(numbers[:])
	// FNV's last bytes reach only the low bits: they are mixed (the finalizer of SplitMix64) before the high ones are used.
	mixed := sum.Sum64()
	mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
	return float64((mixed^mixed>>31)>>11) / (1 << 53)
}

// hangUp ends a connection without an answer: closed in order, or reset.
func hangUp(w http.ResponseWriter, reset bool) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if plain, isTCP := connection.(*net.TCPConn); isTCP && reset {
		_ = plain.SetLinger(0)
	}
	_ = connection.Close()
}

// nobody takes an answer that nobody gets.
type nobody struct{ header http.Header }

func (n nobody) Header() http.Header            { return n.header }
func (n nobody) Write(body []byte) (int, error) { return len(body), nil }
func (n nobody) WriteHeader(int)                {}
