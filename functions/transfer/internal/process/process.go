// Package process measures what processes use, and sets how this one uses its machine.
package process

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// CPUSeconds is the user and system time of all threads of this process so far.
func CPUSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails only for a wrong argument
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// ResetPeak resets the kernel's high-water mark of memory. Without the permission, the mark of the
// whole process stays, which can only be higher.
func ResetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// PeakMemoryMBOf is the peak resident memory of a process in MiB; 0 once it has ended.
func PeakMemoryMBOf(pid int) float64 {
	return mebibytes(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:")
}

// MachineMemoryMB is the machine's memory in MiB.
func MachineMemoryMB() int64 { return int64(mebibytes("/proc/meminfo", "MemTotal:")) }

// mebibytes reads a value that Linux gives in kB; 0 if it is missing, and on other systems.
func mebibytes(file, name string) (kB float64) {
	text, _ := os.ReadFile(file)
	_, value, _ := strings.Cut(string(text), name)
	_, _ = fmt.Sscan(value, &kB)
	return kB / 1024
}

// UseOneProcessor lets Go code run on one processor at a time, unless GOMAXPROCS is set. It is for
// thousands of small calls a second that mostly wait: a call takes some 40 µs of CPU, so one
// processor is enough for 20,000 a second, while every further processor looks for work at each
// wake-up (a third of all CPU at 400 calls a second on 2 processors).
func UseOneProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// CollectRarely lets the heap grow to five times the live data before a garbage collection, but not
// beyond half of the memory (0: unknown). GOGC and GOMEMLIMIT come first. It is for thousands of
// small requests a second that leave little but garbage: with 10 KB objects that saves 20 % CPU.
func CollectRarely(memoryMB int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" && memoryMB > 0 {
		debug.SetMemoryLimit(memoryMB << 20 / 2)
	}
}
