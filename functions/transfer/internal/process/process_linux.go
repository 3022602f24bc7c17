package process

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// EndsWithParent lets a child be killed when the thread that starts it ends: even a parent that is killed leaves none behind.
func EndsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// CPUSecondsOf is the user and system time of another process so far, all threads; 0 once it has ended, and for no process.
// The clock of a process (clock_getcpuclockid(3)) counts in nanoseconds, where /proc counts in hundredths of a second.
func CPUSecondsOf(pid int) float64 {
	var used syscall.Timespec
	if pid > 0 { // 0 is this process's own clock
		_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|2), uintptr(unsafe.Pointer(&used)), 0)
	}
	return float64(used.Nano()) / 1e9
}

// ResetPeak lets the kernel's high-water mark begin anew. Where it may not, the mark is that of the whole process, which can
// only be higher.
func ResetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// PeakMemoryMB is the most memory that this process had resident, in MiB.
func PeakMemoryMB() float64 { return PeakMemoryMBOf(os.Getpid()) }

// PeakMemoryMBOf is the same of another process; 0 once it has ended.
func PeakMemoryMBOf(pid int) (peak float64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, mark, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	_, _ = fmt.Sscan(string(mark), &peak) // kB
	return peak / 1024
}

// MachineMemoryMB is the machine's memory in MiB.
func MachineMemoryMB() int64 {
	var machine syscall.Sysinfo_t
	_ = syscall.Sysinfo(&machine) // fails only for a wrong argument
	return int64(uint64(machine.Totalram) * uint64(machine.Unit) >> 20)
}
