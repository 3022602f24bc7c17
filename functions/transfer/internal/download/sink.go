package download

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"syscall"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/tempfile"
)

// otherMemoryMB is kept for the runtime and this program: about 25 MiB in use.
const otherMemoryMB = 64

// sink takes the bytes of one download, from many spans at once. It writes them to a file or to
// memory, or discards them. A discarded stream is hashed on the way if the order has a checksum.
type sink struct {
	*settings
	checksum string // sha256:<64 digits>; "": none
	whole    []byte
	file     *os.File
	digest   hash.Hash
}

// newSink makes the sink that the settings name. The caller must close it.
func newSink(from *settings, checksum string) (made *sink, err error) {
	if checksum != "" && from.Method == ranges && from.Sink == discard {
		return nil, failure.New(failure.WorkOrder, "discarded ranges arrive out of order and have "+
			"no checksum: set SINK to memory or tmp")
	}
	made = &sink{settings: from, checksum: checksum, digest: sha256.New()}
	if from.Sink == tmp {
		if made.file, err = tempfile.New(); err != nil {
			return nil, failure.OfFile(err)
		}
	}
	return made, nil
}

// prepare makes room for the whole object before the first byte is kept.
func (s *sink) prepare(bytes int64) (err error) {
	switch {
	case s.Sink == tmp:
		if err = s.makeFile(bytes); err != nil {
			return failure.OfFile(err)
		}
	case s.Sink == memory && bytes > (s.MemorySizeMB-otherMemoryMB)<<20:
		return failure.New(failure.NoMemory, "%d bytes and %d MiB for the function itself don't "+
			"fit into MEMORY_SIZE=%d: raise memory_size, or choose another sink", bytes,
			otherMemoryMB, s.MemorySizeMB)
	case s.Sink == memory && bytes > 0:
		// Outside of Go's heap: the collector would let it grow to twice the object.
		s.whole, err = syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return failure.New(failure.NoMemory, "%d bytes of memory can't be allocated: %v",
				bytes, err)
		}
	}
	return nil
}

// makeFile finds out now, and not after most of the bytes, whether the disk has room. It doesn't
// allocate blocks: fallocate would do so on one processor before the first byte is kept (0.3 s for
// 1 GiB of RAM disk), while the writes do so on all of them.
func (s *sink) makeFile(bytes int64) error {
	room, err := tempfile.Room(s.file)
	if err == nil && bytes > room {
		err = syscall.ENOSPC
	}
	if err != nil {
		return err
	}
	return s.file.Truncate(bytes)
}

// place returns where to receive the bytes at a position: the buffer, or where they stay.
func (s *sink) place(buffer []byte, at int64) []byte {
	if s.Sink == memory {
		return s.whole[at:][:len(buffer)]
	}
	return buffer
}

// keep takes what was received at a position.
func (s *sink) keep(received []byte, at int64) (err error) {
	switch {
	case s.Sink == tmp:
		_, err = s.file.WriteAt(received, at)
	case s.Sink == discard && s.checksum != "":
		s.digest.Write(received)
	}
	return err
}

// verify compares the checksum, if there is one, with that of the bytes kept.
func (s *sink) verify() (err error) {
	if s.checksum == "" {
		return nil
	}
	if s.Sink == tmp { // WriteAt has left the file at its beginning
		_, err = io.Copy(s.digest, s.file)
	} else {
		_, err = s.digest.Write(s.whole) // empty for discard
	}
	if err != nil {
		return failure.OfFile(err)
	}
	if sum := fmt.Sprintf("sha256:%x", s.digest.Sum(nil)); sum != s.checksum {
		return failure.New(failure.ChecksumMismatch, "the bytes received have the checksum %s, "+
			"but the message expects %s: upload the object again", sum, s.checksum)
	}
	return nil
}

// close releases memory and file.
func (s *sink) close() {
	if s.whole != nil {
		_ = syscall.Munmap(s.whole)
	}
	_ = s.file.Close() // may be nil; WriteAt has reported every error
}
