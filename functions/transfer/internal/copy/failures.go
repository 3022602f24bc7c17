package copy

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"stampede/transfer/internal/record"
)

// longestLineBytes is the most that a line of failed objects may have: a log event takes more, but not every reader does.
const longestLineBytes = 100_000

// failures writes the rows that failed as they come, in lines of many, so that none is kept. End is what stands after them in
// each line.
type failures struct {
	mutex sync.Mutex
	log   io.Writer
	begin string
	end   string
	line  strings.Builder
	err   error // of the first write that failed
	most  int   // rows written; 0: all
	added int
}

// newFailures makes lines {"run_id": ..., "failed_objects": [...]} for the log: Logs Insights finds only the first 200 fields of
// a line, so what identifies it comes first.
func newFailures(log io.Writer, runID, cell string, seq, attempt int64) *failures {
	return &failures{log: log, end: "]}\n", begin: fmt.Sprintf(`{"run_id": %s, "cell": %s, "seq": %d, "attempt": %d, "failed_objects": [`,
		record.Quote(runID), record.Quote(cell), seq, attempt)}
}

func (f *failures) add(r row, kind, message string) {
	one := fmt.Sprintf(`{"slice": %s, "line": %s, "source": %s, "destination": %s, "error_type": %s, "error_message": %s}`,
		orNull(r.Slice), orNull(r.Line), record.Quote(r.Source), record.Quote(r.Destination), record.Quote(kind),
		record.Quote(record.OneLine(message)))
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.added++; f.most > 0 && f.added > f.most {
		return
	}
	if f.line.Len() > 0 && f.line.Len()+len(one)+len(f.end)+2 > longestLineBytes {
		f.write()
	}
	if f.line.Len() == 0 {
		f.line.WriteString(f.begin)
	} else {
		f.line.WriteString(", ")
	}
	f.line.WriteString(one)
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
		_, err := io.WriteString(f.log, f.line.String()+f.end)
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
