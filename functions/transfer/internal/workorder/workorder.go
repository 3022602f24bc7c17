// Package workorder parses the JSON body of one message, as strictly as functions/common/work_order.py. An operation adds its
// own keys to the common ones.
package workorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stampede/transfer/internal/failure"
)

const (
	// LargestInteger is 2^53 - 1: above it a JSON reader that holds numbers as doubles would change the value.
	LargestInteger        = 1<<53 - 1
	longestNameCharacters = 256
)

var (
	required = []string{"run_id", "cell", "seq"}
	common   = append(required[:3:3], "start_at_ms", "round")
)

// Order is what every work order says. StartAtMs (epoch ms) holds the timed part back until then; nil: at once. Round is
// the round of the sweep in which it was sent, from 1; 0: in none.
type Order struct {
	RunID     string
	Cell      string
	Seq       int64
	StartAtMs *int64
	Round     int64
}

// Reader takes the values of an order out of a body. Err keeps the first thing that is wrong, of the type WorkOrder.
type Reader struct {
	values map[string]json.RawMessage
	Err    error
}

// Open reads the body of a message, whose order has the common keys and those of own. Anything but one JSON object with
// exactly the known keys is an error: a parameter that is ignored would be measured as something that it isn't. The common
// values have been read when it returns.
func Open(body string, own ...string) (*Reader, Order) {
	values, keys, err := object(body)
	if err == nil {
		err = checkKeys(values, keys, append(common[:5:5], own...))
	}
	if err != nil {
		return &Reader{Err: err}, Order{}
	}
	r := &Reader{values: values}
	order := Order{RunID: r.name("run_id"), Cell: r.name("cell"), Seq: r.integer("seq"), StartAtMs: r.Optional("start_at_ms")}
	if round := r.Optional("round"); round != nil {
		order.Round = *round
	}
	return r, order
}

func checkKeys(values map[string]json.RawMessage, keys, known []string) error {
	for _, key := range required {
		if _, given := values[key]; !given {
			return refuse("the message lacks the key %s: it needs %s", key, strings.Join(required, ", "))
		}
	}
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return refuse("the message has the unknown key %s: known are %s", quote(key), strings.Join(known, ", "))
		}
	}
	return nil
}

// object takes a JSON object apart: its values, and its keys in their order.
func object(body string) (map[string]json.RawMessage, []string, error) {
	raw := []byte(body)
	var all json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column := position(body, syntax.Offset)
			return nil, nil, refuse("the message body isn't JSON: %v at line %d, column %d", err, line, column)
		}
		return nil, nil, refuse("the message body can't be read as JSON: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, _ := decoder.Token(); token != json.Delim('{') {
		return nil, nil, refuse("the message body must be a JSON object, not %s", quote(strings.TrimSpace(body)))
	}
	values, keys := map[string]json.RawMessage{}, []string{}
	for decoder.More() {
		token, _ := decoder.Token()
		key, _ := token.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, refuse("the message body can't be read as JSON: %v", err)
		}
		if _, twice := values[key]; twice {
			return nil, nil, refuse("the message has the key %s twice", quote(key))
		}
		values[key] = value
		keys = append(keys, key)
	}
	return values, keys, nil
}

func (r *Reader) name(key string) string {
	var text *string
	raw := r.values[key]
	wrong := json.Unmarshal(raw, &text) != nil || text == nil || loneSurrogate(raw)
	if wrong || !printable(*text) || *text == "" || utf8.RuneCountInString(*text) > longestNameCharacters {
		r.fail("%s must be text of 1 to %d printable characters, not %s", key, longestNameCharacters, quote(string(raw)))
		return ""
	}
	return *text
}

func (r *Reader) integer(key string) int64 {
	raw := string(r.values[key])
	// Digits only: true, 1.0, 1e3 and "1" are no integers. JSON allows no leading zero, and -0 is a whole number.
	value, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || value < 0 || value > LargestInteger {
		r.fail("%s must be a whole number from 0 to %d, not %s", key, int64(LargestInteger), quote(raw))
		return 0
	}
	return value
}

// Optional reads a whole number from 0 to LargestInteger; nil where the order leaves it out.
func (r *Reader) Optional(key string) *int64 {
	if _, given := r.values[key]; !given {
		return nil
	}
	value := r.integer(key)
	return &value
}

// Between reads a whole number from smallest to largest; whenMissing is for an order that leaves it out, nil when none may.
func (r *Reader) Between(key string, whenMissing *int64, smallest, largest int64) int64 {
	raw, given := r.values[key]
	if !given && whenMissing != nil {
		return *whenMissing
	}
	value, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case !given:
		r.fail("the message lacks the key %s: it must be a whole number from %d to %d", key, smallest, largest)
	case err != nil || value < smallest || value > largest:
		r.fail("%s must be a whole number from %d to %d, not %s", key, smallest, largest, quote(string(raw)))
	}
	return value
}

// Only refuses a key that means nothing without another one.
func (r *Reader) Only(key, with string) {
	if _, given := r.values[key]; given {
		r.fail("%s is allowed only together with %s", key, with)
	}
}

// Flag reads 0 or 1; 0 where the order leaves it out.
func (r *Reader) Flag(key string) int64 {
	raw, given := r.values[key]
	if !given {
		return 0
	}
	if text := string(raw); text != "0" && text != "1" {
		r.fail("%s must be 0 or 1, not %s", key, quote(text))
	}
	return int64(raw[0] - '0')
}

// Text hands a text, if there is one, to read, which tells whether it fits the rule; what is no text is "" there.
func (r *Reader) Text(key, rule string, read func(text string) bool) {
	raw, given := r.values[key]
	if !given {
		return
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	if !read(text) {
		r.fail("%s must be %s, not %s", key, rule, quote(string(raw)))
	}
}

// Word reads one of some words.
func (r *Reader) Word(key string, words ...string) string {
	read, rule := "", strings.Join(words, " or ")
	if _, given := r.values[key]; !given {
		r.fail("the message lacks the key %s: it must be %s", key, rule)
	}
	r.Text(key, rule, func(text string) bool {
		read = text
		return slices.Contains(words, text)
	})
	return read
}

func (r *Reader) fail(format string, values ...any) {
	if r.Err == nil {
		r.Err = refuse(format, values...)
	}
}

func refuse(format string, values ...any) error {
	return failure.New(failure.WorkOrder, format, values...)
}

// loneSurrogate tells whether a JSON string holds half of a surrogate pair, which Go would read as U+FFFD.
func loneSurrogate(raw json.RawMessage) bool {
	var text string
	_ = json.Unmarshal(raw, &text)
	return strings.ContainsRune(text, utf8.RuneError) && !bytes.Contains(raw, []byte("\uFFFD")) &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
}

func printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// quote shows a foreign value on one line in ASCII, cut to 60 characters.
func quote(text string) string {
	shown := strconv.QuoteToASCII(text)
	if len(shown) > 60 {
		return shown[:57] + "..."
	}
	return shown
}

// position turns the offset of a syntax error (the bytes read when it was found) into line and column, from 1.
func position(body string, offset int64) (line, column int) {
	before := body[:max(0, min(int(offset)-1, len(body)))]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}
