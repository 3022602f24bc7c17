// Package workorder parses the JSON body of one message, as strictly as functions/common/work_order.py.
package workorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stampede/transfer/internal/download"
	"stampede/transfer/internal/failure"
)

const (
	// LargestInteger is 2^53 - 1: above it a JSON reader that holds numbers as doubles would change the value.
	LargestInteger        = 1<<53 - 1
	longestNameCharacters = 256
)

var (
	required = []string{"run_id", "cell", "seq"}
	known    = append(required[:3:3], "start_at_ms", "object_bytes", "warm_up", "checksum")
)

// Order is one download to do. StartAtMs (epoch ms) holds the timed part back until then, ObjectBytes is the size that
// the object must have; nil where the order leaves them out. WarmUp 1 marks a download that no figure counts;
// Checksum is what the bytes must have.
type Order struct {
	RunID       string
	Cell        string
	Seq         int64
	StartAtMs   *int64
	ObjectBytes *int64
	WarmUp      int64
	Checksum    *download.Checksum
}

// Parse reads the body of a message. Anything but one JSON object with exactly the known keys is an error of the type
// WorkOrder: a parameter that is ignored would be measured as something that it isn't.
func Parse(body string) (*Order, error) {
	values, keys, err := object(body)
	if err != nil {
		return nil, err
	}
	for _, key := range required {
		if _, given := values[key]; !given {
			return nil, refuse("the work order lacks %s: it needs %s", key, strings.Join(required, ", "))
		}
	}
	for _, key := range keys {
		if !contains(known, key) {
			return nil, refuse("the work order has the unknown key %s: known are %s", quote(key), strings.Join(known, ", "))
		}
	}
	r := reader{values: values}
	order := &Order{
		RunID:       r.name("run_id"),
		Cell:        r.name("cell"),
		Seq:         r.integer("seq"),
		StartAtMs:   r.optional("start_at_ms"),
		ObjectBytes: r.optional("object_bytes"),
		WarmUp:      r.flag("warm_up"),
		Checksum:    r.checksum("checksum"),
	}
	if r.err != nil {
		return nil, r.err
	}
	return order, nil
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
		return nil, nil, refuse("the message body isn't JSON that can be read: %v", err)
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
			return nil, nil, refuse("the message body isn't JSON that can be read: %v", err)
		}
		if _, twice := values[key]; twice {
			return nil, nil, refuse("the work order has the key %s twice", quote(key))
		}
		values[key] = value
		keys = append(keys, key)
	}
	return values, keys, nil
}

// reader takes values out; err keeps the first thing that is wrong.
type reader struct {
	values map[string]json.RawMessage
	err    error
}

func (r *reader) name(key string) string {
	var text *string
	raw := r.values[key]
	wrong := json.Unmarshal(raw, &text) != nil || text == nil || loneSurrogate(raw)
	if wrong || !printable(*text) || *text == "" || utf8.RuneCountInString(*text) > longestNameCharacters {
		r.fail("%s must be text of 1 to %d printable characters, not %s", key, longestNameCharacters, quote(string(raw)))
		return ""
	}
	return *text
}

func (r *reader) integer(key string) int64 {
	raw := string(r.values[key])
	// Digits only: true, 1.0, 1e3 and "1" are no integers. JSON allows no leading zero, and -0 is a whole number.
	value, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || value < 0 || value > LargestInteger {
		r.fail("%s must be a whole number from 0 to %d, not %s", key, int64(LargestInteger), quote(raw))
		return 0
	}
	return value
}

func (r *reader) optional(key string) *int64 {
	if _, given := r.values[key]; !given {
		return nil
	}
	value := r.integer(key)
	return &value
}

func (r *reader) flag(key string) int64 {
	raw, given := r.values[key]
	if !given {
		return 0
	}
	if text := string(raw); text != "0" && text != "1" {
		r.fail("%s must be 0 or 1, not %s", key, quote(text))
	}
	return int64(raw[0] - '0')
}

func (r *reader) checksum(key string) *download.Checksum {
	raw, given := r.values[key]
	if !given {
		return nil
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	found := download.ParseChecksum(text)
	if found == nil {
		r.fail("%s must be sha256: with 64 or crc32: with 8 lower-case hexadecimal digits, not %s", key, quote(string(raw)))
	}
	return found
}

func (r *reader) fail(format string, values ...any) {
	if r.err == nil {
		r.err = refuse(format, values...)
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

func contains(words []string, word string) bool {
	for _, one := range words {
		if one == word {
			return true
		}
	}
	return false
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
