// Package room says what still fits on a disk.
package room

import "syscall"

// Left returns the bytes that this user may still write on the disk of a folder.
func Left(folder string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		return 0, err
	}
	return int64(disk.Bavail) * disk.Frsize, nil // blocks are counted in fragments, as functions/common/slots.py does
}
