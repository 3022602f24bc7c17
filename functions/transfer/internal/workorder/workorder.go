// Package workorder parses the JSON body of one message, as strictly as
// functions/common/work_order.py. An operation adds its own keys to the common ones.
package workorder

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stampede/transfer/internal/failure"
)

const (
	// LargestInteger is 2^53 - 1: above it a JSON reader that holds numbers as doubles would change
	// the value.
	LargestInteger = 1<<53 - 1
	longestName    = 256 // characters
)

var common = []string{"run_id", "cell", "seq", "start_at_ms", "round"}

// Order is what every work order says. StartAtMs (epoch ms) holds the timed part back until then;
// nil: at once. Round is the round of the sweep in which it was sent, from 1; 0: in none.
type Order struct {
	RunID     string
	Cell      string
	Seq       int64
	StartAtMs *int64
	Round     int64
}

// Reader takes the values of an order out of a body. Err keeps the first thing that is wrong, of
// the type WorkOrder.
type Reader struct {
	values map[string]json.RawMessage
	Err    error
}

// Open reads the body of a message, whose order has the common keys and those of own. Anything but
// one JSON object with exactly these keys is an error: a parameter that is ignored would be
// measured as something that it isn't. The common values have been read when it returns.
func Open(body string, own ...string) (*Reader, Order) {
	r := &Reader{values: map[string]json.RawMessage{}}
	r.take(body, slices.Concat(common, own))
	return r, Order{
		RunID: r.text("run_id", nameRule, isName), Cell: r.text("cell", nameRule, isName),
		Seq:       r.Between("seq", nil, 0, LargestInteger),
		StartAtMs: r.Optional("start_at_ms"),
		Round:     r.Between("round", new(int64), 0, LargestInteger),
	}
}

// take takes a JSON object apart. Token by token, because a map would hide a key that is there
// twice.
func (r *Reader) take(body string, keys []string) {
	if err := json.Unmarshal([]byte(body), new(json.RawMessage)); err != nil {
		r.fail("the message body isn't JSON: %v", err)
		return
	}
	decoder := json.NewDecoder(strings.NewReader(body)) // no error can follow
	if start, _ := decoder.Token(); start != json.Delim('{') {
		r.fail("the message body must be a JSON object, not %+.60q", body)
		return
	}
	for decoder.More() {
		token, _ := decoder.Token()
		key := token.(string)
		if !slices.Contains(keys, key) {
			r.fail("unknown key %+.60q: known are %s", key, strings.Join(keys, ", "))
		}
		if r.values[key] != nil {
			r.fail("the key %s is there twice", key)
		}
		var value json.RawMessage
		_ = decoder.Decode(&value)
		r.values[key] = value
	}
}

// read hands the value of a key to a function, which tells whether it is what the rule says.
func (r *Reader) read(key, rule string, isFit func(raw json.RawMessage) bool) {
	if raw := r.values[key]; raw == nil {
		r.fail("the message lacks the key %s: it must be %s", key, rule)
	} else if !isFit(raw) {
		r.fail("%s must be %s, not %+.60q", key, rule, raw)
	}
}

// Between reads a whole number from smallest to largest; whenMissing is for an order that leaves it
// out, nil when none may.
func (r *Reader) Between(key string, whenMissing *int64, smallest, largest int64) (value int64) {
	if whenMissing != nil && r.values[key] == nil {
		return *whenMissing
	}
	rule := fmt.Sprintf("a whole number from %d to %d", smallest, largest)
	if smallest+1 == largest {
		rule = fmt.Sprintf("%d or %d", smallest, largest)
	}
	r.read(key, rule, func(raw json.RawMessage) bool {
		// Digits only: true, 1.0, 1e3 and "1" are no integers. JSON allows no leading zero, and -0
		// is a whole number.
		number, err := strconv.ParseInt(string(raw), 10, 64)
		value = number
		return err == nil && smallest <= number && number <= largest
	})
	return value
}

// Optional reads a whole number from 0 to LargestInteger; nil where the order leaves it out.
func (r *Reader) Optional(key string) *int64 {
	if r.values[key] == nil {
		return nil
	}
	value := r.Between(key, nil, 0, LargestInteger)
	return &value
}

// Flag reads 0 or 1; 0 where the order leaves it out.
func (r *Reader) Flag(key string) int64 { return r.Between(key, new(int64), 0, 1) }

// Only refuses a key that means nothing without another one.
func (r *Reader) Only(key, with string) {
	if r.values[key] != nil {
		r.fail("%s is allowed only together with %s", key, with)
	}
}

// Text reads a text that fits a rule; "" where the order leaves it out.
func (r *Reader) Text(key, rule string, isFit func(text string) bool) string {
	if r.values[key] == nil {
		return ""
	}
	return r.text(key, rule, isFit)
}

func (r *Reader) text(key, rule string, isFit func(text string) bool) (text string) {
	r.read(key, rule, func(raw json.RawMessage) bool {
		_ = json.Unmarshal(raw, &text)
		return isFit(text)
	})
	return text
}

// Word reads one of some words; whenMissing is for an order that leaves it out, "" where none may.
func (r *Reader) Word(key, whenMissing string, words ...string) string {
	if whenMissing != "" && r.values[key] == nil {
		return whenMissing
	}
	return r.text(key, strings.Join(words, " or "), func(text string) bool {
		return slices.Contains(words, text)
	})
}

var nameRule = fmt.Sprintf("text of 1 to %d printable characters", longestName)

// Name reads a short text; "" where the order leaves it out.
func (r *Reader) Name(key string) string { return r.Text(key, nameRule, isName) }

func isName(text string) bool {
	// Half of a surrogate pair is read as U+FFFD.
	unfit := func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }
	return text != "" && strings.IndexFunc(text, unfit) < 0 &&
		utf8.RuneCountInString(text) <= longestName
}

func (r *Reader) fail(format string, values ...any) {
	if r.Err == nil {
		r.Err = failure.New(failure.WorkOrder, format, values...)
	}
}
