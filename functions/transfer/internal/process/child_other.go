//go:build !linux

package process

import "syscall"

// EndsWithParent does nothing: these systems have no way.
func EndsWithParent() *syscall.SysProcAttr { return nil }

// CPUSecondsOf isn't known.
func CPUSecondsOf(int) float64 { return 0 }
