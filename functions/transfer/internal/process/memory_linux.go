package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ResetPeak lets the kernel's high-water mark begin anew. Where it may not, the mark is that of the whole process, which can
// only be higher.
func ResetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// PeakMemoryMB is the most memory that this process had resident, in MiB.
func PeakMemoryMB() float64 { return PeakMemoryMBOf(os.Getpid()) }

// PeakMemoryMBOf is the same of another process; 0 once it has ended.
func PeakMemoryMBOf(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if kilobytes, found := strings.CutPrefix(line, "VmHWM:"); found {
			number, _ := strconv.ParseFloat(strings.Fields(kilobytes)[0], 64)
			return number / 1024
		}
	}
	return 0
}

// MachineMemoryMB is the machine's memory in MiB.
func MachineMemoryMB() int64 {
	var machine syscall.Sysinfo_t
	_ = syscall.Sysinfo(&machine) // fails only for a wrong argument
	return int64(uint64(machine.Totalram) * uint64(machine.Unit) >> 20)
}
