package copy

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/record"
)

// longestLogLine is the most bytes of a line of failed objects in a log. An event takes more, but
// not every reader does.
const longestLogLine = 100_000

// failures writes failed rows at once instead of keeping them. The keys that identify a line stand
// first in it: Logs Insights finds only the first 200 fields.
type failures struct {
	log         io.Writer
	begin       string
	longestLine int // 0: one row a line
	most        int // rows written; 0: all

	mutex   sync.Mutex
	line    strings.Builder
	err     error // of the first write that failed
	added   int
	reasons map[string]int // rows by error_type
	first   string         // message
}

func newFailures(log io.Writer, runID, cell string, seq, attempt int64, longestLine int) *failures {
	return &failures{log: log, longestLine: longestLine, reasons: map[string]int{},
		begin: fmt.Sprintf(`{"run_id": %s, "cell": %s, "seq": %d, "attempt": %d, `+
			`"failed_objects": [`, record.Quote(runID), record.Quote(cell), seq, attempt)}
}

func (f *failures) add(r row, kind, message string) {
	var slice any
	if r.Slice >= 0 {
		slice = r.Slice
	}
	pairs := record.Pairs("slice", slice, "line", record.OrNull(r.Line), "source", r.Source,
		"destination", r.Destination, "error_type", kind,
		"error_message", record.OneLine(message))
	text := record.Object(pairs)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if kind != failure.NotBegun {
		f.first = cmp.Or(f.first, message)
		f.reasons[kind]++
	}
	if f.added++; f.most > 0 && f.added > f.most {
		return
	}
	if f.line.Len()+len(text)+4 > f.longestLine {
		f.write()
	}
	if f.line.Len() == 0 {
		f.line.WriteString(f.begin)
	} else {
		f.line.WriteString(", ")
	}
	f.line.WriteString(text)
}

// summary says why rows weren't copied.
func (f *failures) summary() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	kinds := slices.Sorted(maps.Keys(f.reasons))
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", f.reasons[kind], kind)
	}
	return fmt.Sprintf("%s, such as: %s", strings.Join(kinds, ", "), f.first)
}

// flush writes the last line, and returns the first error of any write.
func (f *failures) flush() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.write()
	return f.err
}

func (f *failures) write() {
	if f.line.Len() > 0 {
		// One write, so that lines of several writers can't mix.
		_, err := io.WriteString(f.log, f.line.String()+"]}\n")
		f.err = cmp.Or(f.err, err)
		f.line.Reset()
	}
}
