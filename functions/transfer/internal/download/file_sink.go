package download

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/room"
	"stampede/transfer/internal/s3"
)

// What the kernel moves from a socket to the file by one call: the read timeout is renewed in between.
const spliceBytes = 4 << 20

// fileSink is a file of the object's size, which every span writes to through a descriptor of its own.
type fileSink struct{ path string }

func (s *fileSink) prepare(bytes int64) error {
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return failure.OfFile(err)
	}
	// The disk is found to be full now, and not after most of the bytes.
	if err := errors.Join(makeRoom(file, bytes), file.Close()); err != nil {
		return failure.OfFile(err)
	}
	return nil
}

func (s *fileSink) slot() (slot, error) {
	file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		return nil, failure.OfFile(err)
	}
	return &fileSlot{file: file}, nil
}

func (s *fileSink) digest(algorithm string) (string, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return "", failure.OfFile(err)
	}
	defer file.Close()
	digest := newDigest(algorithm)
	if _, err := io.Copy(digest, file); err != nil {
		return "", failure.OfFile(err)
	}
	return hexadecimal(digest), nil
}

func (s *fileSink) close() error { return nil }

// makeRoom gives the file its size, after looking whether the disk has that much. The blocks themselves aren't taken now:
// fallocate would do it on one processor before the first byte is kept (0.3 s for 1 GiB of RAM disk), and the writes do it
// on all of them.
func makeRoom(file *os.File, bytes int64) error {
	left, err := room.Left(filepath.Dir(file.Name()))
	if err != nil {
		return err
	}
	if bytes > left {
		return syscall.ENOSPC
	}
	return file.Truncate(bytes)
}

type fileSlot struct {
	file   *os.File
	at     int64  // the descriptor's position, which splice writes at
	buffer []byte // made when a body can't be spliced
}

func (f *fileSlot) receive(answer *s3.Answer, position int64) (int64, error) {
	if answer.CanSplice() {
		return f.splice(answer, position)
	}
	if f.buffer == nil {
		f.buffer = buffers.Get().([]byte)
	}
	n, failed := f.fill(answer)
	if n == 0 {
		return 0, failed
	}
	if written, err := f.file.WriteAt(f.buffer[:n], position); err != nil {
		return int64(written), failure.OfFile(err)
	}
	return int64(n), failed
}

// fill reads until the buffer is full or the answer ends. TLS gives 16 KiB at a time: writing each of them would cost a call,
// and two visits of every page of the file that a record ends in.
func (f *fileSlot) fill(answer *s3.Answer) (n int, err error) {
	for n < len(f.buffer) && answer.Left > 0 && err == nil {
		var got int
		got, err = answer.Read(f.buffer[n:])
		n += got
	}
	return n, err
}

func (f *fileSlot) splice(answer *s3.Answer, position int64) (int64, error) {
	if f.at != position {
		if _, err := f.file.Seek(position, io.SeekStart); err != nil {
			return 0, failure.OfFile(err)
		}
	}
	n, err := answer.Splice(f.file, spliceBytes)
	f.at = position + n
	return n, err
}

func (f *fileSlot) close() {
	if f.buffer != nil {
		buffers.Put(f.buffer)
	}
	_ = f.file.Close() // the bytes are in the page cache, and WriteAt has told of every error of ours
}
