// Package process says what processes use, and how this one is to use its machine.
package process

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// CPUSeconds is the user and system time of this process so far, all threads.
func CPUSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails only for a wrong argument
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// ResetPeak lets the kernel's high-water mark begin anew. Where it may not, the mark is that of the
// whole process, which can only be higher.
func ResetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// PeakMemoryMBOf is the most memory that a process had resident, in MiB; 0 once it has ended.
func PeakMemoryMBOf(pid int) float64 {
	return mebibytes(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:")
}

// MachineMemoryMB is the machine's memory in MiB.
func MachineMemoryMB() int64 { return int64(mebibytes("/proc/meminfo", "MemTotal:")) }

// mebibytes reads what Linux says in kB; 0 where it doesn't, and on other systems.
func mebibytes(file, name string) (kB float64) {
	text, _ := os.ReadFile(file)
	_, value, _ := strings.Cut(string(text), name)
	_, _ = fmt.Sscan(value, &kB)
	return kB / 1024
}

// UseOneProcessor lets Go code run on one processor at a time, unless GOMAXPROCS says how many. For
// thousands of small calls a second whose work is waiting: a call takes some 40 µs of CPU, so one
// processor is enough for 20,000 a second, while every further one costs by looking for work at
// each wake-up (a third of all CPU at 400 calls a second on 2 processors).
func UseOneProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// CollectRarely lets the heap grow to five times what is alive before garbage is collected, but not
// beyond half of the memory there is (0: not known); GOGC and GOMEMLIMIT come first. For thousands
// of small requests a second that leave much garbage and little else: at 10 KB objects a fifth of
// all CPU less.
func CollectRarely(memoryMB int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" && memoryMB > 0 {
		debug.SetMemoryLimit(memoryMB << 20 / 2)
	}
}
