package function

import (
	"bytes"
	"io"
	"math"
	"os"
	"sync"
	"syscall"
)

const (
	// mostRest is the most of an unfinished line that is kept back. CloudWatch's events end there,
	// too (256 KiB).
	mostRest = 256 << 10
	// mostPrinted is enough for a last line.
	mostPrinted = 4 << 10
)

// output passes the program's output to the log line by line, so that no record is appended to an
// unfinished line.
type output struct {
	log    io.Writer
	pipe   *os.File // the program's output, and that of its children
	mutex  sync.Mutex
	piece  [64 << 10]byte
	text   []byte // the last output since the program got its message
	logged int    // bytes of text in the log
}

// follow logs the program's output until its pipe is closed.
func (o *output) follow() {
	if pipe, err := o.pipe.SyscallConn(); err == nil {
		_ = pipe.Read(func(fd uintptr) bool { return o.read(fd, math.MaxInt) })
	}
}

// take logs the output so far, so that it stands before the record of a reply. If the program
// writes without a pause, that is a few pipes full.
func (o *output) take() {
	if pipe, err := o.pipe.SyscallConn(); err == nil {
		_ = pipe.Control(func(fd uintptr) { o.read(fd, 16) })
	}
}

// read logs the content of the pipe, at most that many pieces, and reports whether it was the end.
func (o *output) read(fd uintptr, pieces int) (ended bool) {
	for range pieces {
		if size, err := o.readPiece(fd); size <= 0 && err != syscall.EINTR {
			return err != syscall.EAGAIN
		}
	}
	return false
}

func (o *output) readPiece(fd uintptr) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	size, err := syscall.Read(int(fd), o.piece[:])
	o.text = append(o.text, o.piece[:max(0, size)]...)
	o.write(max(o.logged, bytes.LastIndexByte(o.text, '\n')+1))
	if len(o.text)-o.logged > mostRest {
		o.endLine()
	}
	cut := min(o.logged, max(0, len(o.text)-mostPrinted))
	o.text, o.logged = o.text[cut:], o.logged-cut
	return size, err
}

// write logs the text up to end.
func (o *output) write(end int) {
	_, _ = o.log.Write(o.text[o.logged:end])
	o.logged = end
}

// begin forgets the output before a message.
func (o *output) begin() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.text, o.logged = o.text[o.logged:], 0
}

// end completes the last line when a message ends.
func (o *output) end() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.logged < len(o.text) {
		o.endLine()
	}
}

func (o *output) endLine() {
	o.text = append(o.text, '\n')
	o.write(len(o.text))
}

// last returns the last line since the program got its message.
func (o *output) last() string {
	o.take()
	o.end()
	printed := bytes.TrimSpace(o.text)
	return string(printed[bytes.LastIndexByte(printed, '\n')+1:])
}
