// Package workfolder makes a folder in the temporary folder for one operation, which doesn't outlive its process: as
// functions/common/work_folder.py, which says why, with the same names.
package workfolder

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

const prefix = "stampede-work-"

var once sync.Once

// Folder is an empty folder that is locked until Close.
type Folder struct {
	Path string
	lock *os.File
}

// RemoveAbandoned removes the folders that killed processes left, at its first call.
func RemoveAbandoned() { once.Do(removeAbandoned) }

// New makes a folder.
func New() (*Folder, error) {
	RemoveAbandoned()
	draft, err := os.MkdirTemp("", "."+prefix) // nobody takes it for an abandoned one before it is locked
	if err != nil {
		return nil, err
	}
	lock, err := os.Open(draft)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	path := filepath.Join(filepath.Dir(draft), strings.TrimPrefix(filepath.Base(draft), "."))
	if err == nil {
		err = os.Rename(draft, path)
	}
	return &Folder{path, lock}, err
}

// Close removes the folder with what is in it. An error is left out on purpose: no measurement fails over its waste.
func (f *Folder) Close() {
	_ = os.RemoveAll(f.Path)
	_ = f.lock.Close()
}

func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*")) // the pattern is a good one
	for _, folder := range folders {
		lock, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue // gone, somebody else's, or no folder
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(folder)
		}
		_ = lock.Close()
	}
}
