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
	// mostRest is how much of a line without an end is kept back; CloudWatch's events end there,
	// too (256 KiB).
	mostRest = 256 << 10
	// mostPrinted is enough for a last line.
	mostPrinted = 4 << 10
)

// output is what the program writes. It goes to the log line by line, so that no record is appended
// to a line that isn't complete.
type output struct {
	log    io.Writer
	pipe   *os.File // which the program writes to. What a child of it writes later is nobody's
	mutex  sync.Mutex
	piece  [64 << 10]byte
	text   []byte // the end of what was written since the program has the message
	logged int    // bytes of text
}

// follow logs what the program writes, until nobody can write any more.
func (o *output) follow() {
	if pipe, err := o.pipe.SyscallConn(); err == nil {
		_ = pipe.Read(func(fd uintptr) bool { return o.read(fd, math.MaxInt) })
	}
}

// take logs what the program has written until now: what came before a reply stands before its
// record. Of one that writes without a pause that is a few pipes full.
func (o *output) take() {
	if pipe, err := o.pipe.SyscallConn(); err == nil {
		_ = pipe.Control(func(fd uintptr) { o.read(fd, 16) })
	}
}

// read logs what is in the pipe, in at most so many pieces, and returns whether that was the end.
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

// write logs the text up to a place.
func (o *output) write(end int) {
	_, _ = o.log.Write(o.text[o.logged:end])
	o.logged = end
}

// begin forgets what was written before a message.
func (o *output) begin() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.text, o.logged = o.text[o.logged:], 0
}

// end completes the last line, when a message ends.
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

// last returns the last line that was written since the program has the message.
func (o *output) last() string {
	o.take()
	o.end()
	printed := bytes.TrimSpace(o.text)
	return string(printed[bytes.LastIndexByte(printed, '\n')+1:])
}
