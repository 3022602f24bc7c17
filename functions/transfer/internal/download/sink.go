package download

import (
	"sync"

	"stampede/transfer/internal/s3"
)

// What is received by one call into a reused buffer: it stays in the processor's second-level cache, so that reusing it
// costs no memory traffic.
const bufferBytes = 256 << 10

// buffers are reused by every span and every download of this process.
var buffers = sync.Pool{New: func() any { return make([]byte, bufferBytes) }}

// sink takes the bytes of one download, through slots: one for each span that is under way.
type sink interface {
	// prepare makes room for the whole object, before the first byte is kept.
	prepare(bytes int64) error
	slot() (slot, error)
	// digest returns the checksum of what was kept.
	digest(algorithm string) (string, error)
	// close gives memory and files back; what was written to a file stays.
	close() error
}

// slot receives some bytes of an answer, which begin at a position of the object, and returns how many.
type slot interface {
	receive(answer *s3.Answer, position int64) (int64, error)
	close()
}

func newSink(variant Variant, job Job) sink {
	switch variant.Sink {
	case Memory:
		return &memorySink{limitMB: variant.MemoryMB}
	case Tmp:
		return &fileSink{path: job.File}
	}
	return newDiscardSink(job.Checksum)
}
