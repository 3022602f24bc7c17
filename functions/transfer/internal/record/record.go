// Package record writes the record: one JSON object on one line of the log, which the saved queries read. Keys, order and
// form are those of functions/common/record.py.
package record

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"stampede/transfer/internal/failure"
)

const longestErrorMessage = 300 // characters

// Labels says which message a record belongs to and where it ran. Nil is null: what couldn't be read, or what a host
// doesn't have.
type Labels struct {
	ConcurrencyLimit *int64
	MemorySizeMB     *int64
	ExperimentTag    *string
	RunID            *string
	Cell             *string
	Seq              *int64
	MessageID        *string
	RequestID        *string
	SandboxID        string
	ColdStart        int64
	Attempt          int64
	Method           *string
	Round            *int64
}

// Outcome is how the operation of one message went. Err is nil when it succeeded; TimeKey is the operation's name for the
// seconds taken, and Own what it says besides the common keys.
type Outcome struct {
	TimeKey        string
	StartedAtMs    int64
	ElapsedSeconds float64
	Bytes          int64
	Err            error
	Own            []Pair
}

// Pair is one key of a record and its value: an int64, a float64, a string, or a pointer to one; nil is null.
type Pair struct {
	Key   string
	Value any
}

// Pairs makes pairs of keys and values that follow each other.
func Pairs(keysAndValues ...any) []Pair {
	pairs := make([]Pair, 0, len(keysAndValues)/2)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		pairs = append(pairs, Pair{keysAndValues[i].(string), keysAndValues[i+1]})
	}
	return pairs
}

// Format returns the record as one line without its line break, with ": " and ", " as the separators. A failed outcome
// has no time, so that no query can take it for a measurement.
func Format(labels Labels, outcome Outcome) string {
	l := line{}
	l.add("concurrency_limit", labels.ConcurrencyLimit)
	if outcome.Err == nil {
		l.add(outcome.TimeKey, outcome.ElapsedSeconds)
	}
	l.add("memory_size", labels.MemorySizeMB)
	l.add("experiment_tag", labels.ExperimentTag)
	l.add("run_id", labels.RunID)
	l.add("cell", labels.Cell)
	l.add("seq", labels.Seq)
	l.add("message_id", labels.MessageID)
	l.add("request_id", labels.RequestID)
	l.add("sandbox_id", labels.SandboxID)
	l.add("cold_start", labels.ColdStart)
	l.add("attempt", labels.Attempt)
	l.add("started_at_ms", outcome.StartedAtMs)
	// From start and duration, so that overlaps of records fit their durations.
	l.add("finished_at_ms", outcome.StartedAtMs+int64(math.RoundToEven(outcome.ElapsedSeconds*1000)))
	l.add("bytes", outcome.Bytes)
	l.add("method", labels.Method)
	if outcome.Err == nil {
		l.add("status", "ok")
	} else {
		l.add("status", "error")
	}
	l.add("round", labels.Round)
	for _, own := range outcome.Own {
		l.add(own.Key, own.Value)
	}
	if outcome.Err != nil {
		kind, message := failure.Describe(outcome.Err)
		l.add("error_type", kind)
		l.add("error_message", OneLine(message))
	}
	return "{" + strings.Join(l.pairs, ", ") + "}"
}

// Object returns pairs as one JSON object on one line, without its line break.
func Object(pairs []Pair) string {
	l := line{}
	for _, one := range pairs {
		l.add(one.Key, one.Value)
	}
	return "{" + strings.Join(l.pairs, ", ") + "}"
}

type line struct{ pairs []string }

func (l *line) add(key string, value any) {
	l.pairs = append(l.pairs, Quote(key)+": "+formatValue(value))
}

func formatValue(value any) string {
	switch v := value.(type) {
	case nil:
	case int64:
		return strconv.FormatInt(v, 10)
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case float64:
		return FormatFloat(v)
	case *float64:
		if v != nil {
			return FormatFloat(*v)
		}
	case string:
		return Quote(v)
	case *string:
		if v != nil {
			return Quote(*v)
		}
	default:
		panic(fmt.Sprintf("a record holds integers, finite numbers and text, not %T", value))
	}
	return "null"
}

// FormatFloat never writes 1e-05, which the `[\d.]+` of the published regular expression can't read. 9 digits: the clock
// ticks in nanoseconds.
func FormatFloat(value float64) string { return strconv.FormatFloat(value, 'f', 9, 64) }

// Quote writes text as a JSON string that keeps every character a query could filter on as the user typed it; escaped is
// only what JSON asks for, as Python's json does. encoding/json would also escape U+2028 and U+2029.
func Quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < 0x20 {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// OneLine puts a foreign message on one line of printable characters, cut to the longest length allowed.
func OneLine(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	if len(runes) > longestErrorMessage {
		runes = append(runes[:longestErrorMessage-3], []rune("...")...)
	}
	return string(runes)
}
