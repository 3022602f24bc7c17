package download

import (
	"bytes"
	"cmp"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/tempfile"
)

const (
	// windowBytes is received at once into memory, where nothing is reused.
	windowBytes = 1 << 20
	// otherMemoryMB is kept for the runtime and this program: about 25 MiB in use.
	otherMemoryMB = 64
)

// sink takes the bytes of one download; many spans may give them at once. To a file or to memory they go as they are; of what is
// discarded a checksum is computed on the way: of a stream in order, of ranges a CRC-32 of each piece.
type sink struct {
	kind     string
	limitMB  int64 // of memory
	whole    []byte
	file     *os.File
	checksum *Checksum // nil: none
	inOrder  hash.Hash // SHA-256; nil: none
	mutex    sync.Mutex
	runs     []run
}

// newSink makes the sink that the settings name, to be closed; it refuses a checksum that it can't compute.
func newSink(from *settings, checksum *Checksum) (made *sink, err error) {
	made = &sink{kind: from.Sink, limitMB: from.MemorySizeMB, checksum: checksum}
	switch {
	case made.kind == tmp:
		if made.file, err = tempfile.New(); err != nil {
			return nil, failure.OfFile(err)
		}
	case made.kind == discard && checksum != nil && checksum.Algorithm == sha256Name:
		if from.Method == ranges {
			return nil, failure.New(failure.WorkOrder, "discarded ranges arrive out of order: use a crc32, or set SINK to memory or tmp")
		}
		made.inOrder = newDigest(sha256Name)
	}
	return made, nil
}

// prepare makes room for the whole object, before the first byte is kept.
func (s *sink) prepare(bytes int64) (err error) {
	switch {
	case s.kind == tmp:
		if err = s.makeFile(bytes); err != nil {
			return failure.OfFile(err)
		}
	case s.kind == memory && bytes > (s.limitMB-otherMemoryMB)<<20:
		return failure.New(failure.NoMemory, "%d bytes and %d MiB for the function itself don't fit into MEMORY_SIZE=%d: raise "+
			"memory_size, or choose another sink", bytes, otherMemoryMB, s.limitMB)
	case s.kind == memory && bytes > 0:
		// Outside of Go's heap: the collector would let it grow to twice the object.
		s.whole, err = syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return failure.New(failure.NoMemory, "%d bytes of memory can't be allocated: %v", bytes, err)
		}
	}
	return nil
}

// makeFile finds out now that the disk is full, and not after most of the bytes. The blocks themselves aren't taken: fallocate
// would do it on one processor before the first byte is kept (0.3 s for 1 GiB of RAM disk), and the writes do it on all of them.
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

// place is where the next bytes from a position, and before an end, are received: in buffer, or where they stay.
func (s *sink) place(buffer []byte, at, end int64) []byte {
	if s.kind == memory {
		return s.whole[at:min(at+windowBytes, end)]
	}
	return buffer[:min(int64(len(buffer)), end-at)]
}

// keep takes what was received at a position.
func (s *sink) keep(piece []byte, at int64) (err error) {
	switch {
	case s.kind == tmp:
		_, err = s.file.WriteAt(piece, at)
	case s.inOrder != nil:
		_, err = s.inOrder.Write(piece)
	case s.kind == discard && s.checksum != nil:
		piece := run{at, crc32.ChecksumIEEE(piece), int64(len(piece))}
		s.mutex.Lock()
		s.runs = append(s.runs, piece)
		s.mutex.Unlock()
	}
	return err
}

// verify compares the checksum, if there is one, with that of what was kept.
func (s *sink) verify() error {
	if s.checksum == nil {
		return nil
	}
	content := io.Reader(bytes.NewReader(s.whole))
	switch {
	case s.inOrder != nil:
		return s.checksum.compare(hexadecimal(s.inOrder))
	case s.kind == discard:
		slices.SortFunc(s.runs, func(a, b run) int { return cmp.Compare(a.at, b.at) })
		return s.checksum.compare(joined(s.runs))
	case s.kind == tmp:
		content = io.NewSectionReader(s.file, 0, math.MaxInt64)
	}
	digest := newDigest(s.checksum.Algorithm)
	if _, err := io.Copy(digest, content); err != nil {
		return failure.OfFile(err)
	}
	return s.checksum.compare(hexadecimal(digest))
}

// close gives memory and files back.
func (s *sink) close() {
	if s.whole != nil {
		_ = syscall.Munmap(s.whole)
	}
	_ = s.file.Close() // of no file too; WriteAt has told of every error of ours
}
