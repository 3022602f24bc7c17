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
	// LargestInteger is 2^53 - 1: JSON readers that use doubles would change larger values.
	LargestInteger = 1<<53 - 1
	longestName    = 256 // characters
)

var common = []string{"run_id", "cell", "seq", "start_at_ms", "round"}

// Order has the common keys of work orders. StartAtMs (epoch ms) delays the timed part; nil: no
// delay. Round is the round of the sweep, from 1; 0: none.
type Order struct {
	RunID     string
	Cell      string
	Seq       int64
	StartAtMs *int64
	Round     int64
}

// Reader reads the values of an order from a body. Err is the first error, of the type WorkOrder.
type Reader struct {
	values map[string]json.RawMessage
	Err    error
}

// Open reads the body of a message, with the common keys and those of own. Anything but one JSON
// object with only these keys is an error: an ignored parameter would falsify a measurement. It
// returns the common values.
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

// take splits a JSON object token by token, because a map would hide a duplicate key.
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

// read passes the value of a key to isFit, which reports whether it fits the rule.
func (r *Reader) read(key, rule string, isFit func(raw json.RawMessage) bool) {
	if raw := r.values[key]; raw == nil {
		r.fail("the message lacks the key %s: it must be %s", key, rule)
	} else if !isFit(raw) {
		r.fail("%s must be %s, not %+.60q", key, rule, raw)
	}
}

// Between reads a whole number from smallest to largest. whenMissing is the default; nil: the key
// is required.
func (r *Reader) Between(key string, whenMissing *int64, smallest, largest int64) (value int64) {
	if whenMissing != nil && r.values[key] == nil {
		return *whenMissing
	}
	rule := fmt.Sprintf("a whole number from %d to %d", smallest, largest)
	if smallest+1 == largest {
		rule = fmt.Sprintf("%d or %d", smallest, largest)
	}
	r.read(key, rule, func(raw json.RawMessage) bool {
		// true, 1.0, 1e3 and "1" are no integers; -0 is one. JSON allows no leading zero.
		number, err := strconv.ParseInt(string(raw), 10, 64)
		value = number
		return err == nil && smallest <= number && number <= largest
	})
	return value
}

// Optional reads a whole number from 0 to LargestInteger; nil if the order leaves it out.
func (r *Reader) Optional(key string) *int64 {
	if r.values[key] == nil {
		return nil
	}
	value := r.Between(key, nil, 0, LargestInteger)
	return &value
}

// Flag reads 0 or 1; 0 if the order leaves it out.
func (r *Reader) Flag(key string) int64 { return r.Between(key, new(int64), 0, 1) }

// Only refuses a key that means nothing without another one.
func (r *Reader) Only(key, with string) {
	if r.values[key] != nil {
		r.fail("%s is allowed only together with %s", key, with)
	}
}

// Text reads text that fits a rule; "" if the order leaves it out.
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

// Word reads one of some words. whenMissing is the default; "": the key is required.
func (r *Reader) Word(key, whenMissing string, words ...string) string {
	if whenMissing != "" && r.values[key] == nil {
		return whenMissing
	}
	return r.text(key, strings.Join(words, " or "), func(text string) bool {
		return slices.Contains(words, text)
	})
}

var nameRule = fmt.Sprintf("text of 1 to %d printable characters", longestName)

// Name reads a short text; "" if the order leaves it out.
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
