package download

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/tempfile"
)

// otherMemoryMB is kept for the runtime and this program: about 25 MiB in use.
const otherMemoryMB = 64

// sink takes the bytes of one download; many spans may give them at once. To a file or to memory
// they go as they are; of what is discarded the CRC-32 of each piece is computed on the way.
type sink struct {
	*settings
	checksum string // crc32:<8 digits>; "": none
	whole    []byte
	file     *os.File
	mutex    sync.Mutex
	pieces   []piece
}

// piece is the CRC-32 of bytes in a row.
type piece struct {
	at, bytes int64
	crc       uint32
}

// newSink makes the sink that the settings name, to be closed.
func newSink(from *settings, checksum string) (made *sink, err error) {
	made = &sink{settings: from, checksum: checksum}
	if from.Sink == tmp {
		if made.file, err = tempfile.New(); err != nil {
			return nil, failure.OfFile(err)
		}
	}
	return made, nil
}

// prepare makes room for the whole object, before the first byte is kept.
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
			return failure.New(failure.NoMemory, "%d bytes of memory can't be allocated: %v", bytes, err)
		}
	}
	return nil
}

// makeFile finds out now that the disk is full, and not after most of the bytes. The blocks
// themselves aren't taken: fallocate would do it on one processor before the first byte is kept
// (0.3 s for 1 GiB of RAM disk), and the writes do it on all of them.
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

// place is where the next bytes from a position are received: in buffer, or where they stay.
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
		sum := crc32.ChecksumIEEE(received)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.pieces = append(s.pieces, piece{at, int64(len(received)), sum})
	}
	return err
}

// verify compares the checksum, if there is one, with that of what was kept.
func (s *sink) verify() (err error) {
	if s.checksum == "" {
		return nil
	}
	digest := crc32.NewIEEE()
	if s.Sink == tmp { // WriteAt has left the file at its beginning
		_, err = io.Copy(digest, s.file)
	} else {
		_, err = digest.Write(s.whole)
	}
	if err != nil {
		return failure.OfFile(err)
	}
	sum := digest.Sum32()
	if s.Sink == discard {
		sum = joined(s.pieces)
	}
	if text := fmt.Sprintf("crc32:%08x", sum); text != s.checksum {
		return failure.New(failure.ChecksumMismatch, "the bytes received have the checksum %s, but "+
			"the message expects %s: upload the object again", text, s.checksum)
	}
	return nil
}

// joined returns the CRC-32 of pieces of at most bufferBytes that make a whole. A CRC is linear: what
// comes after bytes changes theirs as zeros would.
func joined(pieces []piece) (crc uint32) {
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
	zeros := make([]byte, bufferBytes)
	for _, next := range pieces {
		crc = ^crc32.Update(^crc, crc32.IEEETable, zeros[:next.bytes]) ^ next.crc
	}
	return crc
}

// close gives memory and files back.
func (s *sink) close() {
	if s.whole != nil {
		_ = syscall.Munmap(s.whole)
	}
	_ = s.file.Close() // of no file too; WriteAt has told of every error of ours
}
