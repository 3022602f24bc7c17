// Package environment reads the variables that Terraform sets on the function, and checks them.
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

// Labels are what every record says of its function, by their published names. ConcurrencyLimit
// counts functions, Method is how the operation is done.
type Labels struct {
	ConcurrencyLimit int64
	MemorySizeMB     int64
	ExperimentTag    string
	Method           string
}

// Reader reads values from an environment. Err is the error, of the type Settings, for the first
// missing or wrong variable.
type Reader struct {
	Lookup func(string) string
	Err    error
}

// Labels reads the labels without the method. Lambda's limits are 128 and 10,240 MB.
func (r *Reader) Labels() Labels { return r.labels(r.Integer("MEMORY_SIZE", 128, 10_240)) }

// HostLabels reads the labels of a host. Without MEMORY_SIZE its memory is the machine's.
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

// Text reads a variable that must not be empty.
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
		r.fail("the environment variable %s must be a whole number from %d to %d, not %+.60q",
			name, smallest, largest, value)
	}
	return int64(number)
}

// IntegerOr reads a whole number that may be missing.
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
		return !unicode.IsPrint(c) || c == '"' || c == '\\' || c == utf8.RuneError
	}
	if strings.IndexFunc(value, unfit) >= 0 || utf8.RuneCountInString(value) > 256 {
		r.fail("the environment variable EXPERIMENT_TAG must be 1 to 256 printable characters "+
			"without double quote and backslash, not %+.60q", value)
	}
	return value
}

// OneOf reads one of some words; whenEmpty "" makes the variable required.
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
