// Package settings reads the function's environment, which Terraform gives it.
package settings

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stampede/transfer/internal/download"
	"stampede/transfer/internal/failure"
)

// Settings is what the environment says: the labels of the record, the object, and the way to download it.
// MemorySizeMB and ConcurrencyLimit (functions) only label the record. The names are the published ones.
type Settings struct {
	ConcurrencyLimit int64
	MemorySizeMB     int64
	ExperimentTag    string
	Bucket           string
	Key              string
	Region           string
	Way              download.Way
}

// Read takes the settings out of an environment; the error, of the type Settings, is the first missing or wrong variable.
func Read(lookup func(string) string) (*Settings, error) {
	r := reader{lookup: lookup}
	// Lambda sets both; other places often only one.
	region := "AWS_DEFAULT_REGION"
	if lookup("AWS_REGION") != "" {
		region = "AWS_REGION"
	}
	settings := &Settings{
		ConcurrencyLimit: r.integer("CONCURRENCY_LIMIT", 1, 1_000_000),
		// 128 to 10,240 MB are the limits of Lambda.
		MemorySizeMB:  r.integer("MEMORY_SIZE", 128, 10_240),
		ExperimentTag: r.tag(),
		Bucket:        r.text("BUCKET_NAME"),
		Key:           r.text("FILE_NAME"),
		Region:        r.text(region),
	}
	settings.Way = r.way(settings.MemorySizeMB)
	if r.err != nil {
		return nil, r.err
	}
	return settings, nil
}

// way reads how to download. What is left out of SINK, RANGE_PARALLEL and RANGE_PART_MB has the defaults of
// functions/download/settings.py.
func (r *reader) way(memoryMB int64) download.Way {
	method := strings.TrimPrefix(r.oneOf("METHOD", "", "go_"+download.Stream, "go_"+download.Ranges), "go_")
	sink := map[string]string{download.Stream: download.Discard, download.Ranges: download.Memory}[method]
	way := download.Way{Method: method, Sink: r.oneOf("SINK", sink, download.Discard, download.Memory, download.Tmp), MemoryMB: memoryMB}
	if method == download.Ranges {
		way.Parallel = int(r.integerOr("RANGE_PARALLEL", 8, 1, 64))
		// From 16 MiB: at 8, 500 functions would ask one key more often than the 5,500 times a second that S3 grants.
		way.PartBytes = r.integerOr("RANGE_PART_MB", 16, 16, 64) << 20
	}
	return way
}

// reader keeps the first thing that is wrong.
type reader struct {
	lookup func(string) string
	err    error
}

func (r *reader) text(name string) string {
	value := r.lookup(name)
	if value == "" {
		r.fail("the environment variable %s is missing or empty: set it on the function", name)
	}
	return value
}

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

func (r *reader) integer(name string, smallest, largest int64) int64 {
	value := r.text(name)
	number, _ := strconv.ParseInt(value, 10, 64)
	if !digits.MatchString(value) || number < smallest || number > largest {
		r.fail("the environment variable %s must be a whole number from %d to %d, not %s", name, smallest, largest, cut(value))
	}
	return number
}

func (r *reader) integerOr(name string, whenEmpty, smallest, largest int64) int64 {
	if r.lookup(name) == "" {
		return whenEmpty
	}
	return r.integer(name, smallest, largest)
}

// tag refuses quotes and backslashes, which would break the published regular expression's `"..."`.
func (r *reader) tag() string {
	value := r.text("EXPERIMENT_TAG")
	unfit := func(c rune) bool { return !unicode.IsPrint(c) || c == '"' || c == '\\' }
	if !utf8.ValidString(value) || strings.IndexFunc(value, unfit) >= 0 || utf8.RuneCountInString(value) > 256 {
		r.fail("the environment variable EXPERIMENT_TAG must be 1 to 256 printable characters without double quote and "+
			"backslash, not %s", cut(value))
	}
	return value
}

func (r *reader) oneOf(name, whenEmpty string, words ...string) string {
	value := r.lookup(name)
	if value == "" && whenEmpty != "" {
		return whenEmpty
	}
	for _, word := range words {
		if value == word {
			return value
		}
	}
	r.fail("the environment variable %s must be one of %s, not %s", name, strings.Join(words, ", "), cut(value))
	return ""
}

func (r *reader) fail(format string, values ...any) {
	if r.err == nil {
		r.err = failure.New(failure.Settings, format, values...)
	}
}

func cut(value string) string {
	if runes := []rune(value); len(runes) > 60 {
		value = string(runes[:60])
	}
	return strconv.QuoteToASCII(value)
}
