package process

import (
	"os"
	"syscall"
	"unsafe"
)

// EndsWithParent lets a child be killed when the thread that starts it ends: even a parent that is
// killed leaves none behind.
func EndsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// PeakMemoryMB is the most memory that this process had resident, in MiB.
func PeakMemoryMB() float64 { return PeakMemoryMBOf(os.Getpid()) }

// CPUSecondsOf is the user and system time of another process so far, all threads; 0 once it has
// ended, and for no process. The clock of a process (clock_getcpuclockid(3)) counts in nanoseconds,
// where /proc counts in hundredths of a second.
func CPUSecondsOf(pid int) float64 {
	var used syscall.Timespec
	if pid > 0 { // 0 is this process's own clock
		_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|2),
			uintptr(unsafe.Pointer(&used)), 0)
	}
	return float64(used.Nano()) / 1e9
}
