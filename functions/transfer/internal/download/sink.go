package download

import (
	"bytes"
	"cmp"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/room"
	"stampede/transfer/internal/workfolder"
)

// sink takes the bytes of one download; many spans may give them at once.
type sink interface {
	// prepare makes room for the whole object, before the first byte is kept.
	prepare(bytes int64) error
	// place is where the next bytes from a position, and before an end, are received: in buffer, or where they stay.
	place(buffer []byte, at, end int64) []byte
	// keep takes what was received at a position.
	keep(piece []byte, at int64) error
	// digest returns the checksum of what was kept.
	digest(algorithm string) (string, error)
	// close gives memory and files back.
	close() error
}

// newSink makes the sink that the settings name, to be closed; it refuses a checksum (nil: none) that it can't compute.
func newSink(from *settings, checksum *Checksum) (sink, error) {
	switch {
	case from.Sink == memory:
		return &memorySink{limitMB: from.MemorySizeMB}, nil
	case from.Sink == tmp:
		folder, err := workfolder.New()
		if err != nil {
			return nil, failure.OfFile(err)
		}
		return &fileSink{folder: folder}, nil
	case checksum == nil:
		return &discardSink{}, nil
	case checksum.Algorithm == sha256Name && from.Method == ranges:
		return nil, failure.New(failure.WorkOrder, "discarded ranges arrive out of order, so only a crc32 can be computed: use a crc32, or set "+
			"SINK to memory or tmp")
	case checksum.Algorithm == sha256Name:
		return &discardSink{whole: newDigest(sha256Name)}, nil
	}
	return &discardSink{summed: true}, nil
}

// bufferPlace is the part of the buffer that bytes to an end fit in.
func bufferPlace(buffer []byte, at, end int64) []byte {
	return buffer[:min(int64(len(buffer)), end-at)]
}

// discardSink keeps nothing; a checksum is computed on the way, a CRC-32 of each piece, since they come in any order.
type discardSink struct {
	whole  hash.Hash // of a stream
	summed bool
	mutex  sync.Mutex
	runs   []run
}

func (s *discardSink) prepare(int64) error { return nil }

func (s *discardSink) place(buffer []byte, at, end int64) []byte { return bufferPlace(buffer, at, end) }

func (s *discardSink) keep(piece []byte, at int64) error {
	switch {
	case s.whole != nil:
		_, _ = s.whole.Write(piece) // a hash never fails
	case s.summed:
		sum := crc32.ChecksumIEEE(piece)
		s.mutex.Lock()
		s.runs = append(s.runs, run{at, sum, int64(len(piece))})
		s.mutex.Unlock()
	}
	return nil
}

func (s *discardSink) digest(string) (string, error) {
	if s.whole != nil {
		return hexadecimal(s.whole), nil
	}
	slices.SortFunc(s.runs, func(a, b run) int { return cmp.Compare(a.at, b.at) })
	return joined(s.runs), nil
}

func (s *discardSink) close() error { return nil }

const (
	// windowBytes is received at once into memory, where nothing is reused.
	windowBytes = 1 << 20
	// otherMemoryMB is kept for the runtime and this program: about 25 MiB in use.
	otherMemoryMB = 64
)

// memorySink holds the whole object, each part received straight into its place. It is mapped outside of Go's heap: the collector
// would otherwise let the heap grow to twice the object.
type memorySink struct {
	limitMB int64
	whole   []byte
}

func (s *memorySink) prepare(bytes int64) error {
	if bytes > (s.limitMB-otherMemoryMB)<<20 {
		return failure.New(failure.NoMemory, "%d bytes and %d MiB for the function itself don't fit into MEMORY_SIZE=%d: raise "+
			"memory_size, or choose another sink", bytes, otherMemoryMB, s.limitMB)
	}
	if bytes == 0 {
		return nil
	}
	var err error
	s.whole, err = syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return failure.New(failure.NoMemory, "%d bytes of memory can't be allocated: %v", bytes, err)
	}
	return nil
}

func (s *memorySink) place(_ []byte, at, end int64) []byte {
	return s.whole[at:min(at+windowBytes, end)]
}

func (s *memorySink) keep([]byte, int64) error { return nil }

func (s *memorySink) digest(algorithm string) (string, error) {
	return digestOf(algorithm, bytes.NewReader(s.whole))
}

func (s *memorySink) close() error {
	if s.whole == nil {
		return nil
	}
	return syscall.Munmap(s.whole)
}

// fileSink is a file of the object's size in a folder of its own, which is gone afterwards.
type fileSink struct {
	folder *workfolder.Folder
	file   *os.File
}

// prepare finds out now that the disk is full, and not after most of the bytes. The blocks themselves aren't taken: fallocate
// would do it on one processor before the first byte is kept (0.3 s for 1 GiB of RAM disk), and the writes do it on all of them.
func (s *fileSink) prepare(bytes int64) error {
	left, err := room.Left(s.folder.Path)
	if err == nil && bytes > left {
		err = syscall.ENOSPC
	}
	if err == nil {
		s.file, err = os.OpenFile(filepath.Join(s.folder.Path, "object"), os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err == nil {
		err = s.file.Truncate(bytes)
	}
	if err != nil {
		return failure.OfFile(err)
	}
	return nil
}

func (s *fileSink) place(buffer []byte, at, end int64) []byte { return bufferPlace(buffer, at, end) }

func (s *fileSink) keep(piece []byte, at int64) error {
	_, err := s.file.WriteAt(piece, at)
	return err
}

func (s *fileSink) digest(algorithm string) (string, error) {
	return digestOf(algorithm, io.NewSectionReader(s.file, 0, 1<<62))
}

func (s *fileSink) close() error {
	defer s.folder.Close()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

func digestOf(algorithm string, content io.Reader) (string, error) {
	digest := newDigest(algorithm)
	_, err := io.Copy(digest, content)
	return hexadecimal(digest), err
}
