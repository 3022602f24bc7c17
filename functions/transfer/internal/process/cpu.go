// Package process says what this process has used.
package process

import "syscall"

// CPUSeconds is the user and system time of this process so far, all threads.
func CPUSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails only for a wrong argument
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
