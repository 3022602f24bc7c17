package process

import (
	"os"
	"syscall"
	"unsafe"
)

// EndsWithParent has a child killed when the thread that started it ends or is killed.
func EndsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// PeakMemoryMB is the peak resident memory of this process in MiB.
func PeakMemoryMB() float64 { return PeakMemoryMBOf(os.Getpid()) }

// CPUSecondsOf is the user and system time of all threads of another process so far; 0 once it has
// ended, and for pid 0. The process's clock (clock_getcpuclockid(3)) counts nanoseconds, while
// /proc counts hundredths of a second.
func CPUSecondsOf(pid int) float64 {
	var used syscall.Timespec
	if pid > 0 { // 0 would be this process's own clock
		_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|2),
			uintptr(unsafe.Pointer(&used)), 0)
	}
	return float64(used.Nano()) / 1e9
}
