package copy

import (
	"cmp"
	"encoding/csv"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"stampede/transfer/internal/failure"
)

// longestKeyBytes is S3's limit.
const longestKeyBytes = 1024

// row is one object to copy. Slice and Line (from 1) say where it stands in a manifest, -1 where there is none; Bytes is -1
// where the size isn't known. Err is why there is nothing to copy.
type row struct {
	Slice, Line         int64
	Source, Destination string
	Version             string // of the source, "" for the current one
	Bytes               int64
	ETag                string // of the source, "" where it isn't known
	Err                 *failure.Error
}

// format makes a row of the fields of a line.
type format func(fields []string) (row, *failure.Error)

// parseRow reads a line of CSV.
func parseRow(line string, as format) row {
	fields := strings.Split(strings.TrimSuffix(line, "\r"), ",")
	if strings.Contains(line, `"`) {
		quoted, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil { // without its place, which is one in this line
			return malformed(line, failure.New(failure.MalformedRow, "the quotes of a row must be those of CSV: %v", errors.Unwrap(err)))
		}
		fields = quoted
	}
	r, wrong := as(fields)
	if wrong != nil {
		return malformed(line, wrong)
	}
	return r
}

func malformed(line string, wrong *failure.Error) row {
	if len(line) > longestShownBytes {
		line = strings.ToValidUTF8(line[:longestShownBytes], "")
	}
	return row{Source: strings.ToValidUTF8(line, "\uFFFD"), Bytes: -1, Err: wrong}
}

// longestShownBytes is what is shown of a line that is no row.
const longestShownBytes = 200

// ownFormat is source,destination[,bytes].
func ownFormat(fields []string) (row, *failure.Error) {
	if len(fields) != 2 && len(fields) != 3 {
		return row{}, failure.New(failure.MalformedRow, "a row must be source,destination or source,destination,bytes, not %d fields", len(fields))
	}
	source, version, _ := strings.Cut(fields[0], "?versionId=") // a question mark of a key is %3F
	source, wrong := key("source", source)
	destination, wrongToo := key("destination", fields[1])
	r := row{Source: source, Version: version, Destination: destination, Bytes: -1}
	if len(fields) == 3 {
		bytes, err := strconv.ParseInt(fields[2], 10, 64)
		if r.Bytes = bytes; err != nil || bytes < 0 {
			wrong = failure.New(failure.MalformedRow, "bytes must be a whole number, not %.60q", fields[2])
		}
	}
	return r, cmp.Or(wrong, wrongToo)
}

// bucketFormat is bucket,key[,version], as S3 Batch Operations and S3 Inventory have it; an inventory may have a size in the
// version's place, and more fields, which aren't needed. The destination is the key behind a prefix.
func bucketFormat(bucket, prefix string) format {
	return func(fields []string) (row, *failure.Error) {
		if len(fields) < 2 || fields[0] != bucket {
			return row{}, failure.New(failure.MalformedRow, "the first row is bucket,key of %s, so this one must be too, not of %.60q: give a "+
				"manifest for each bucket", bucket, fields[0])
		}
		source, wrong := key("key", fields[1])
		r := row{Source: source, Destination: prefix + source, Bytes: -1}
		if len(fields) > 2 {
			if bytes, err := strconv.ParseInt(fields[2], 10, 64); err == nil {
				r.Bytes = bytes
			} else {
				r.Version = fields[2]
			}
		}
		return r, wrong
	}
}

// manifestFormat is the one of these two that the first row has.
func manifestFormat(bucket, prefix string) format {
	var chosen format
	return func(fields []string) (row, *failure.Error) {
		if chosen == nil && fields[0] == bucket {
			chosen = bucketFormat(bucket, prefix)
		} else if chosen == nil {
			chosen = ownFormat
		}
		return chosen(fields)
	}
}

// key decodes a key as S3 Inventory encodes it and S3 Batch Operations reads it: %XX, and + for a space.
func key(what, encoded string) (string, *failure.Error) {
	decoded, err := url.QueryUnescape(encoded)
	if err != nil || decoded == "" || !utf8.ValidString(decoded) {
		return "", failure.New(failure.MalformedRow, "the %s must be a percent-encoded key, not %.60q", what, encoded)
	}
	return decoded, nil
}

// refused tells why a row must not be copied; nil when it may.
func (r row) refused(prefix string, sameBucket bool) *failure.Error {
	switch {
	case r.Err != nil:
		return r.Err
	case len(r.Source) > longestKeyBytes || len(r.Destination) > longestKeyBytes:
		return failure.New(failure.RowRefused, "a key has at most %d bytes: the source has %d, the destination %d", longestKeyBytes,
			len(r.Source), len(r.Destination))
	case !strings.HasPrefix(r.Destination, prefix):
		return failure.New(failure.RowRefused, "the destination key must begin with the destination prefix %q", prefix)
	case sameBucket && r.Source == r.Destination:
		return failure.New(failure.RowRefused, "source and destination are the same object: choose another destination key")
	case r.Bytes > largestCopyBytes:
		return failure.New(failure.ObjectTooLarge, "%d bytes: %s", r.Bytes, tooLargeAdvice)
	}
	return nil
}
