package download

import (
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

const (
	// A larger window than the reused buffer's, since nothing is reused here: fewer calls.
	memoryWindowBytes = 1 << 20
	// Kept for the runtime and this program: about 25 MiB in use.
	otherMemoryMB = 64
)

// memorySink holds the whole object, each part received straight into its place.
type memorySink struct {
	limitMB int64
	whole   []byte
}

func (s *memorySink) prepare(bytes int64) error {
	if s.limitMB > 0 && bytes > (s.limitMB-otherMemoryMB)<<20 {
		return failure.New(failure.NoMemory, "%d bytes and %d MiB for the function itself don't fit into MEMORY_SIZE=%d: raise "+
			"memory_size, or choose another sink", bytes, otherMemoryMB, s.limitMB)
	}
	var err error
	if s.whole, err = reserve(bytes); err != nil {
		return failure.New(failure.NoMemory, "%d bytes of memory can't be allocated: %v", bytes, err)
	}
	return nil
}

func (s *memorySink) slot() (slot, error) { return memorySlot{s.whole}, nil }

func (s *memorySink) digest(algorithm string) (string, error) {
	digest := newDigest(algorithm)
	_, _ = digest.Write(s.whole) // a hash never fails
	return hexadecimal(digest), nil
}

func (s *memorySink) close() error {
	whole := s.whole
	s.whole = nil
	return release(whole)
}

// memorySlot is a view of the whole: the places of spans never overlap.
type memorySlot struct{ whole []byte }

func (m memorySlot) receive(answer *s3.Answer, position int64) (int64, error) {
	n, err := answer.Read(m.whole[position:min(position+memoryWindowBytes, int64(len(m.whole)))])
	return int64(n), err
}

func (m memorySlot) close() {}
