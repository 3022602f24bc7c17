// Package tempfile makes files that don't outlive their process, even if it is killed: Lambda keeps
// the temporary folder when it kills a sandbox for its memory or time, and the disk would be full
// for every later operation.
package tempfile

import (
	"os"
	"syscall"
)

// New makes a file without a name in the temporary folder. It is gone when it is closed.
func New() (*os.File, error) {
	file, err := os.CreateTemp("", "")
	if err == nil {
		_ = os.Remove(file.Name()) // no measurement fails because of its leftovers
	}
	return file, err
}

// Room returns the bytes that this user may still write on the disk of a file.
func Room(file *os.File) (int64, error) {
	var disk syscall.Statfs_t
	err := syscall.Fstatfs(int(file.Fd()), &disk)
	return int64(disk.Bavail) * int64(disk.Bsize), err
}
