//go:build !linux

package process

import "syscall"

// EndsWithParent does nothing on these systems.
func EndsWithParent() *syscall.SysProcAttr { return nil }

// CPUSecondsOf is unknown on these systems.
func CPUSecondsOf(int) float64 { return 0 }

// PeakMemoryMB is the peak resident memory of this process in MiB. These systems count in bytes.
func PeakMemoryMB() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Maxrss) / (1 << 20)
}
