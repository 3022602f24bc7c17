package function

import (
	"bytes"
	"io"
	"math"
	"os"
	"regexp"
	"sync"
	"syscall"
)

// traceback is what Python prints of an exception that nobody caught, up to the exception's type and text.
var traceback = regexp.MustCompile(`(?m)^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(?:\w+\.)*(\w+(?:: .*)?)$`)

// uncaught is the first exception, as its type and text, of which a traceback was printed; "" for none.
func uncaught(printed []byte) string {
	if match := traceback.FindSubmatch(printed); match != nil {
		return string(match[1])
	}
	return ""
}

const (
	// mostRest is how much of a line without an end is kept back; CloudWatch's events end there, too (256 KiB).
	mostRest = 256 << 10
	// mostPrinted is enough for the traceback of an exception and of those before it.
	mostPrinted = 64 << 10
)

// wholeLines is the log as the program writes it: line by line, so that no record is appended to one that isn't complete.
type wholeLines struct {
	log     io.Writer
	pipe    *os.File // of the program's output
	mutex   sync.Mutex
	buffer  [64 << 10]byte
	rest    []byte
	printed []byte // the end of what the program wrote since it has the message
}

// open returns the end of a pipe that the program writes to. What a child of the program writes to it later is nobody's.
func (w *wholeLines) open() (output *os.File, err error) {
	w.pipe, output, err = os.Pipe()
	return output, err
}

// follow logs what the program writes, until nobody can write any more.
func (w *wholeLines) follow() {
	if pipe, err := w.pipe.SyscallConn(); err == nil {
		_ = pipe.Read(func(fd uintptr) bool { return w.read(fd, math.MaxInt) })
	}
}

// take logs what the program has written until now: what came before a reply stands before its record. Of one that writes
// without a pause that is a few pipes full.
func (w *wholeLines) take() {
	if pipe, err := w.pipe.SyscallConn(); err == nil {
		_ = pipe.Control(func(fd uintptr) { w.read(fd, 16) })
	}
}

// read logs what is in the pipe, in at most so many pieces, and returns whether that was the end.
func (w *wholeLines) read(fd uintptr, pieces int) (ended bool) {
	for range pieces {
		if size, err := w.readPiece(fd); size <= 0 && err != syscall.EINTR {
			return err != syscall.EAGAIN
		}
	}
	return false
}

func (w *wholeLines) readPiece(fd uintptr) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	size, err := syscall.Read(int(fd), w.buffer[:])
	piece := w.buffer[:max(0, size)]
	w.printed = append(w.printed, piece...)
	w.printed = w.printed[max(0, len(w.printed)-mostPrinted):]
	w.rest = append(w.rest, piece...)
	whole := bytes.LastIndexByte(w.rest, '\n') + 1
	_, _ = w.log.Write(w.rest[:whole])
	w.rest = append(w.rest[:0], w.rest[whole:]...)
	if len(w.rest) > mostRest {
		w.endLine()
	}
	return size, err
}

// begin forgets what was written before a message.
func (w *wholeLines) begin() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.printed = w.printed[:0]
}

// end completes the last line, when a message ends.
func (w *wholeLines) end() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.rest) > 0 {
		w.endLine()
	}
}

func (w *wholeLines) endLine() {
	_, _ = w.log.Write(append(w.rest, '\n'))
	w.rest = w.rest[:0]
}
