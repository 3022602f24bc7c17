//go:build !linux

package download

import "os"

func makeRoom(file *os.File, bytes int64) error { return file.Truncate(bytes) }
