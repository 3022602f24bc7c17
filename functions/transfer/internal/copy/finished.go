package copy

import (
	"fmt"
	"sync"
)

// finished are the rows of one message that are at their destination, a bit each: when the message comes back to this process, they
// cost no request. nil remembers nothing.
type finished struct {
	message string
	mutex   sync.Mutex
	bits    []uint64
}

// finishedOf returns what is known of a message's rows: nothing where the last message was another one.
func finishedOf(last *finished, order *order) *finished {
	message := fmt.Sprintf("%q %q %d %q %d %d", order.RunID, order.Cell, order.Seq, order.Manifest, order.FirstSlice, order.Slices)
	if last != nil && last.message == message && !order.EmptyFirst {
		return last
	}
	return &finished{message: message}
}

func (f *finished) add(number int64) {
	if f == nil {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for int(number/64) >= len(f.bits) {
		f.bits = append(f.bits, 0)
	}
	f.bits[number/64] |= 1 << (number % 64)
}

func (f *finished) has(number int64) bool {
	if f == nil {
		return false
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return int(number/64) < len(f.bits) && f.bits[number/64]&(1<<(number%64)) != 0
}
