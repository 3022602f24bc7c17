package copy

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/record"
)

// longestLogLine is the most bytes that a line of failed objects may have in a log: an event takes more, but not every reader
// does.
const longestLogLine = 100_000

// failures writes the rows that failed as they come, so that none is kept. What identifies a line stands first in it: Logs
// Insights finds only the first 200 fields.
type failures struct {
	log         io.Writer
	begin       string
	longestLine int // 0: a line a row

	mutex   sync.Mutex
	line    strings.Builder
	err     error // of the first write that failed
	most    int   // rows written; 0: all
	added   int
	reasons []*reason
}

// reason is an error_type of rows that failed, with the first of their messages.
type reason struct {
	kind, message string
	rows          int
	varies        bool
}

func newFailures(log io.Writer, runID, cell string, seq, attempt int64, longestLine int) *failures {
	return &failures{log: log, longestLine: longestLine, begin: fmt.Sprintf(`{"run_id": %s, "cell": %s, "seq": %d, "attempt": %d, `+
		`"failed_objects": [`, record.Quote(runID), record.Quote(cell), seq, attempt)}
}

func (f *failures) add(r row, kind, message string) {
	version := ""
	if r.Version != "" {
		version = `, "version": ` + record.Quote(r.Version)
	}
	text := fmt.Sprintf(`{"slice": %s, "line": %s, "source": %s, "destination": %s%s, "error_type": %s, "error_message": %s}`,
		orNull(r.Slice), orNull(r.Line), record.Quote(r.Source), record.Quote(r.Destination), version, record.Quote(kind),
		record.Quote(record.OneLine(message)))
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if kind != failure.NotBegun {
		f.count(kind, message)
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

func (f *failures) count(kind, message string) {
	place := slices.IndexFunc(f.reasons, func(r *reason) bool { return r.kind == kind })
	if place < 0 {
		place = len(f.reasons)
		f.reasons = append(f.reasons, &reason{kind: kind, message: message})
	}
	f.reasons[place].rows++
	f.reasons[place].varies = f.reasons[place].varies || f.reasons[place].message != message
}

// summary says how many rows weren't copied, and why.
func (f *failures) summary() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	rows, counts := 0, []string{}
	slices.SortStableFunc(f.reasons, func(a, b *reason) int { return b.rows - a.rows })
	for _, r := range f.reasons {
		rows += r.rows
		counts = append(counts, fmt.Sprintf("%d %s", r.rows, r.kind))
	}
	first := f.reasons[0]
	switch {
	case rows == 1:
		return fmt.Sprintf("1 row wasn't copied: %s: %s", first.kind, first.message)
	case len(counts) > 1:
		return fmt.Sprintf("%d rows weren't copied: %s", rows, strings.Join(counts, ", "))
	case first.varies:
		return fmt.Sprintf("%d rows weren't copied, all for %s, such as: %s", rows, first.kind, first.message)
	}
	return fmt.Sprintf("%d rows weren't copied, all for one reason: %s: %s", rows, first.kind, first.message)
}

// flush writes what is left, and returns the first error of all writes.
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

func orNull(number int64) string {
	if number < 0 {
		return "null"
	}
	return strconv.FormatInt(number, 10)
}
