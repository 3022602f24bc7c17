// Package record writes the record: one JSON object on one line of the log, for the saved queries.
// Keys, order and form are those of functions/common/record.py.
package record

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

const longestErrorMessage = 300 // characters

// Delivery is a message in one invocation. RequestID is empty on a host, and the message's ID in a
// direct invocation. Function and Order are nil if they couldn't be read.
type Delivery struct {
	Message   sqsevent.Message
	RequestID string
	IsFirst   bool // of the sandbox
	Function  *environment.Labels
	Order     *workorder.Order
}

// Outcome is the result of the operation of one message. Err is nil if it succeeded. TimeKey is the
// operation's key for the seconds taken, and Own are its keys besides the common ones.
type Outcome struct {
	TimeKey        string
	StartedAtMs    int64
	ElapsedSeconds float64
	Bytes          int64
	Err            error
	Own            []Pair
}

// Pair is one key of a record and its value: an int64, float64 or string, or a pointer to one; nil
// for null.
type Pair struct {
	Key   string
	Value any
}

// Pairs makes pairs of alternating keys and values.
func Pairs(keysAndValues ...any) []Pair {
	pairs := make([]Pair, 0, len(keysAndValues)/2)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		pairs = append(pairs, Pair{keysAndValues[i].(string), keysAndValues[i+1]})
	}
	return pairs
}

// Format returns the record as one line without its line break. A failed outcome has no time: no
// query can take it for a measurement. Unknown values are null.
func Format(sandboxID string, of Delivery, outcome Outcome) string {
	labels, order := environment.Labels{}, workorder.Order{}
	var seq, round *int64 // 0 is a value of both
	if of.Function != nil {
		labels = *of.Function
	}
	if of.Order != nil {
		order, seq, round = *of.Order, &of.Order.Seq, &of.Order.Round
	}
	coldStart := int64(0)
	if of.IsFirst {
		coldStart = 1
	}
	status, time, reason := "ok", Pairs(outcome.TimeKey, outcome.ElapsedSeconds), []Pair{}
	if outcome.Err != nil {
		kind, message := failure.Describe(outcome.Err)
		status, time, reason = "error", nil,
			Pairs("error_type", kind, "error_message", OneLine(message))
	}
	limit := Pairs("concurrency_limit", OrNull(labels.ConcurrencyLimit))
	return Object(slices.Concat(limit, time, Pairs(
		"memory_size", OrNull(labels.MemorySizeMB),
		"experiment_tag", OrNull(labels.ExperimentTag),
		"run_id", OrNull(order.RunID),
		"cell", OrNull(order.Cell),
		"seq", seq,
		"message_id", OrNull(of.Message.ID),
		"request_id", OrNull(of.RequestID),
		"sandbox_id", sandboxID,
		"cold_start", coldStart,
		"attempt", of.Message.Attempt,
		"started_at_ms", outcome.StartedAtMs,
		// Derived from the duration, so that overlaps of records fit their durations.
		"finished_at_ms",
		outcome.StartedAtMs+int64(math.RoundToEven(outcome.ElapsedSeconds*1000)),
		"bytes", outcome.Bytes,
		"method", OrNull(labels.Method), // none for the program of a user
		"status", status,
		"round", round,
	), outcome.Own, reason))
}

// OrNull is null for a value that is 0 or "".
func OrNull[T comparable](value T) any {
	var nothing T
	if value == nothing {
		return nil
	}
	return value
}

// Object returns pairs as a JSON object on one line, in the form of Python's json.
func Object(pairs []Pair) string {
	texts := make([]string, len(pairs))
	for i, pair := range pairs {
		texts[i] = Quote(pair.Key) + ": " + Quote(pair.Value)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// Quote writes a value as JSON. Text stays as the user typed it, so that a query can filter on it.
// A float has 9 digits, since the clock counts nanoseconds, and is never 1e-05, which the `[\d.]+`
// of the published regular expression can't read.
func Quote(value any) string {
	if v := reflect.Indirect(reflect.ValueOf(value)); v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'f', 9, 64)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // never fails for text and integers
	return strings.TrimSuffix(b.String(), "\n")
}

// OneLine puts a foreign message on one line of printable characters, cut to the longest allowed.
func OneLine(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	if len(runes) > longestErrorMessage {
		return string(runes[:longestErrorMessage-3]) + "..."
	}
	return string(runes)
}
