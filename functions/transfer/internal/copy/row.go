package copy

import (
	"encoding/csv"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// longestKeyBytes is S3's limit.
const longestKeyBytes = 1024

// row is one object to copy. Slice and Line (from 1) say where it stands in a manifest, -1 where there is none; Bytes is -1
// where the size isn't known. Err is why there is nothing to copy.
type row struct {
	Slice, Line         int64
	Source, Destination string
	Bytes               int64
	ETag                string // of the source, "" where it isn't known
	Number              int64  // from 0, of the rows of one copy
	Err                 *failure.Error
}

// parseRow reads "source,destination" or "source,destination,bytes" with percent-encoded keys, as S3 Batch Operations wants
// its manifests.
func parseRow(line string) (r row) {
	r.Bytes = -1
	fields := strings.Split(strings.TrimSuffix(line, "\r"), ",")
	if strings.Contains(line, `"`) {
		quoted, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil { // without its place, which is one in this line
			return malformed(line, "the quotes of a row must be those of CSV: %v", errors.Unwrap(err))
		}
		fields = quoted
	}
	if len(fields) != 2 && len(fields) != 3 {
		return malformed(line, "a row must be source,destination or source,destination,bytes, not %d fields", len(fields))
	}
	if strings.Contains(fields[0], "?versionId=") { // a question mark of a key is %3F
		return malformed(line, "a version of the source can't be copied, only its current one: leave out ?versionId=")
	}
	for i, key := range []*string{&r.Source, &r.Destination} {
		decoded, err := url.PathUnescape(fields[i])
		if err != nil || decoded == "" || !utf8.ValidString(decoded) {
			return malformed(line, "the %s must be a percent-encoded key, not %.60q", [2]string{"source", "destination"}[i], fields[i])
		}
		*key = decoded
	}
	if len(fields) == 3 {
		bytes, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || bytes < 0 {
			return malformed(line, "bytes must be a whole number, not %.60q", fields[2])
		}
		r.Bytes = bytes
	}
	return r
}

func malformed(line, format string, values ...any) row {
	if len(line) > longestShownBytes {
		line = strings.ToValidUTF8(line[:longestShownBytes], "")
	}
	return row{Source: strings.ToValidUTF8(line, "\uFFFD"), Bytes: -1, Err: failure.New(failure.MalformedRow, format, values...)}
}

// longestShownBytes is what is shown of a line that is no row.
const longestShownBytes = 200

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
	case r.Bytes > s3.LargestCopyBytes:
		return failure.New(failure.ObjectTooLarge, "%d bytes: %s", r.Bytes, s3.TooLargeAdvice)
	}
	return nil
}
