package process

import (
	"os"
	"runtime"
	"runtime/debug"
)

// UseOneProcessor lets Go code run on one processor at a time, unless GOMAXPROCS says how many. For thousands of small calls a
// second whose work is waiting: a call takes some 40 µs of CPU, so one processor is enough for 20,000 a second, while every
// further one costs by looking for work at each wake-up (a third of all CPU at 400 calls a second on 2 processors).
func UseOneProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// CollectRarely lets the heap grow to five times what is alive before garbage is collected, unless GOGC says how far. For
// thousands of small requests a second that leave much garbage and little else: at 10 KB objects a fifth of all CPU less, for
// 20 MB more.
func CollectRarely() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
