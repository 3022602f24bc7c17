//go:build !linux

package process

import "syscall"

// EndsWithParent does nothing: these systems have no way.
func EndsWithParent() *syscall.SysProcAttr { return nil }

// CPUSecondsOf isn't known.
func CPUSecondsOf(int) float64 { return 0 }

// PeakMemoryMB is the most memory that this process had resident, in MiB; these systems count it in
// bytes.
func PeakMemoryMB() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Maxrss) / (1 << 20)
}
