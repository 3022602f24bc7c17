// Package environment reads what Terraform gives to the function: the labels of every record, and
// values by their rules.
package environment

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stampede/transfer/internal/failure"
)

// Labels is what every record says of its function; the names are the published ones.
// ConcurrencyLimit counts functions, Method is how the operation is done.
type Labels struct {
	ConcurrencyLimit int64
	MemorySizeMB     int64
	ExperimentTag    string
	Method           string
}

// Reader takes values out of an environment. Err keeps the first missing or wrong variable, of the
// type Settings.
type Reader struct {
	Lookup func(string) string
	Err    error
}

// Labels reads the labels, without the method. 128 to 10,240 MB are the limits of Lambda.
func (r *Reader) Labels() Labels { return r.labels(r.Integer("MEMORY_SIZE", 128, 10_240)) }

// HostLabels reads the labels of a host, whose memory is its machine's where MEMORY_SIZE doesn't
// say it.
func (r *Reader) HostLabels(machineMB int64) Labels {
	return r.labels(r.IntegerOr("MEMORY_SIZE", machineMB, 128, 100_000_000))
}

func (r *Reader) labels(memoryMB int64) Labels {
	return Labels{ConcurrencyLimit: r.Integer("CONCURRENCY_LIMIT", 1, 1_000_000),
		MemorySizeMB: memoryMB, ExperimentTag: r.tag()}
}

// Region reads the region. Lambda sets both variables; other places often only one.
func (r *Reader) Region() string {
	if region := r.Lookup("AWS_REGION"); region != "" {
		return region
	}
	return r.Text("AWS_DEFAULT_REGION")
}

// Text reads a variable that must be there and not empty.
func (r *Reader) Text(name string) string {
	value := r.Lookup(name)
	if value == "" {
		r.fail("the environment variable %s is missing: set it on the function", name)
	}
	return value
}

// Integer reads a whole number from smallest to largest.
func (r *Reader) Integer(name string, smallest, largest int64) int64 {
	value := r.Text(name)
	number, err := strconv.ParseUint(value, 10, 63) // takes digits alone, no sign
	if err != nil || int64(number) < smallest || int64(number) > largest {
		r.fail("the environment variable %s must be a whole number from %d to %d, not %+.60q", name,
			smallest, largest, value)
	}
	return int64(number)
}

// IntegerOr reads a whole number that may be left out.
func (r *Reader) IntegerOr(name string, whenEmpty, smallest, largest int64) int64 {
	if r.Lookup(name) == "" {
		return whenEmpty
	}
	return r.Integer(name, smallest, largest)
}

// tag refuses quotes and backslashes, which would break the published regular expression's `"..."`.
func (r *Reader) tag() string {
	value := r.Text("EXPERIMENT_TAG")
	unfit := func(c rune) bool {
		return !unicode.IsPrint(c) || c == '"' || c == '\\' ||
			c == utf8.RuneError
	}
	if strings.IndexFunc(value, unfit) >= 0 || utf8.RuneCountInString(value) > 256 {
		r.fail("the environment variable EXPERIMENT_TAG must be 1 to 256 printable characters without double quote and "+
			"backslash, not %+.60q", value)
	}
	return value
}

// OneOf reads one of some words; whenEmpty "" says that it must be there.
func (r *Reader) OneOf(name, whenEmpty string, words ...string) string {
	value := cmp.Or(r.Lookup(name), whenEmpty)
	if !slices.Contains(words, value) {
		r.fail("the environment variable %s must be one of %s, not %+.60q", name,
			strings.Join(words, ", "), value)
		return ""
	}
	return value
}

func (r *Reader) fail(format string, values ...any) {
	if r.Err == nil {
		r.Err = failure.New(failure.Settings, format, values...)
	}
}
