package copy

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/failure"
)

const (
	longestKeyBytes   = 1024     // S3's limit
	longestLineBytes  = 64 << 10 // far more than any row has: two keys, each byte as %XX, and a size
	longestShownBytes = 200      // of a line that is no row
	gzipMark          = "\x1f\x8b"
	byteOrderMark     = "\xEF\xBB\xBF" // of a spreadsheet
)

// row is one object to copy. Slice (-1: none) and Line (from 1; 0: none) say where it stands in a
// manifest; Bytes is -1 where the size isn't known. Err is why there is nothing to copy.
type row struct {
	Slice, Line         int64
	Source, Destination string
	Version             string // of the source, "" for the current one
	Bytes               int64
	ETag                string // of the source, "" where it isn't known
	Err                 error
}

// refused tells why a row must not be copied; nil when it may.
func (r row) refused(prefix string, sameBucket bool) error {
	switch {
	case r.Err != nil:
		return r.Err
	case max(len(r.Source), len(r.Destination)) > longestKeyBytes:
		return failure.New(failure.RowRefused, "a key has at most %d bytes: the source has %d, "+
			"the destination %d", longestKeyBytes,
			len(r.Source), len(r.Destination))
	case !strings.HasPrefix(r.Destination, prefix):
		return failure.New(failure.RowRefused, "the destination key must begin with the "+
			"destination prefix %q", prefix)
	case sameBucket && r.Source == r.Destination:
		return failure.New(failure.RowRefused, "source and destination are the same object: "+
			"choose another destination key")
	case r.Bytes > largestCopyBytes:
		return failure.New(failure.ObjectTooLarge, "%d bytes: %s", r.Bytes, tooLargeAdvice)
	}
	return nil
}

// source calls take for every row, and returns how reading them ended. take's error ends it.
type source func(ctx context.Context, take func(row) error) error

// list makes the rows of a job those of every object below a prefix; its destination is the rest of
// its key behind the job's prefix.
func (j *job) list(prefix string) {
	j.where = "the source prefix " + prefix
	j.rows = func(ctx context.Context, take func(row) error) error {
		return j.patiently(j.from).List(ctx, j.seen, prefix, func(objects []types.Object) error {
			for _, object := range objects {
				rest := strings.TrimPrefix(*object.Key, prefix)
				if rest == "" { // the console's sign for the folder itself
					continue
				}
				err := take(row{
					Slice: -1, Source: *object.Key, Destination: j.prefix + rest,
					Bytes: aws.ToInt64(object.Size),
					ETag:  aws.ToString(object.ETag),
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// read makes the rows of a job those of some slices of a manifest, one after the other.
func (j *job) read(manifest string, first, number int64) {
	j.where = "the manifest " + manifest
	j.rows = func(ctx context.Context, take func(row) error) error {
		for slice := first; slice < first+number; slice++ {
			key := fmt.Sprintf("%s%06d.csv", manifest, slice)
			body, err := read(ctx, j.patiently(j.from), j.seen, key)
			if isOf(err, failure.NoSuchKey) {
				return failure.New(failure.NoSuchKey,
					"%s doesn't exist: upload the manifest (stampede dataset) before the flood",
					key)
			}
			if err == nil {
				err = lines(bufio.NewReaderSize(strings.NewReader(body), longestLineBytes), slice,
					ownFormat, take)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// manifestRows gives the rows of a manifest by hand, which may be compressed: lines of CSV, or what
// --failed wrote.
func manifestRows(body io.Reader, as format, take func(row) error) (err error) {
	reader := bufio.NewReaderSize(body, longestLineBytes)
	if mark, _ := reader.Peek(2); string(mark) == gzipMark {
		unpacked, err := gzip.NewReader(reader)
		if err != nil {
			return failure.OfFile(err)
		}
		reader = bufio.NewReaderSize(unpacked, longestLineBytes)
	}
	if first, _ := reader.Peek(1); string(first) == "{" {
		return failedRows(reader, take)
	}
	err = lines(reader, -1, as, take)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err,
		gzip.ErrHeader) {
		return failure.New(failure.File, "the compressed manifest is cut short or damaged: %v", err)
	}
	return err
}

// failedRows gives the rows of what --failed wrote.
func failedRows(body io.Reader, take func(row) error) error {
	decoder := json.NewDecoder(body)
	for {
		var line struct {
			Objects []struct {
				row
				Message string `json:"error_message"`
			} `json:"failed_objects"`
		}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) || errors.Is(err,
			io.ErrUnexpectedEOF) {
			return nil // the last line of a program that was killed may be cut short
		} else if err != nil {
			return failure.New(failure.File, "the manifest begins as a file of --failed, but "+
				"isn't one: %v", err)
		}
		for _, failed := range line.Objects {
			r := failed.row
			r.Slice, r.Bytes = -1, -1
			if r.Destination == "" {
				r.Err = malformed("%s", failed.Message)
			}
			if err := take(r); err != nil {
				return err
			}
		}
	}
}

// lines gives the rows of one slice; -1 for a manifest that isn't in slices. An error of the body
// is returned as it is.
func lines(reader *bufio.Reader, slice int64, as format, take func(row) error) error {
	if mark, _ := reader.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = reader.Discard(len(byteOrderMark))
	}
	for number := int64(1); ; number++ {
		text, err := reader.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return failure.New(failure.File, "line %d of the manifest has more than %d bytes, "+
				"more than any row", number, longestLineBytes)
		case err != nil && err != io.EOF:
			return err
		case len(text) == 0:
			return nil
		}
		line := strings.TrimRight(string(text), "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		r := parseRow(line, as)
		if err != nil {
			r.Err = malformed("the last line has no line break, so it may be cut short: end it " +
				"with one")
		}
		if r.Err != nil {
			r = row{Source: strings.ToValidUTF8(line[:min(len(line), longestShownBytes)], "\uFFFD"),
				Err: r.Err}
		}
		r.Slice, r.Line = slice, number
		if err := take(r); err != nil {
			return err
		}
	}
}

// format makes a row of the fields of a line.
type format func(fields []string) row

func malformed(format string, values ...any) error {
	return failure.New(failure.MalformedRow, format, values...)
}

// parseRow reads a line of CSV.
func parseRow(line string, as format) row {
	fields := strings.Split(line, ",")
	if strings.Contains(line, `"`) {
		quoted, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil { // without its place, which is one in this line
			return row{Err: malformed("the quotes of a row must be those of CSV: %v",
				errors.Unwrap(err))}
		}
		fields = quoted
	}
	return as(fields)
}

// ownFormat is source,destination[,bytes].
func ownFormat(fields []string) row {
	if len(fields) != 2 && len(fields) != 3 {
		return row{Err: malformed("a row must be source,destination or "+
			"source,destination,bytes, not %d fields", len(fields))}
	}
	source, version, _ := strings.Cut(fields[0], "?versionId=") // a question mark of a key is %3F
	r := row{Version: version, Bytes: -1}
	r.Source, r.Destination = r.key(source), r.key(fields[1])
	if len(fields) == 3 {
		bytes, err := strconv.ParseUint(fields[2], 10, 63)
		if r.Bytes = int64(bytes); err != nil {
			r.Err = malformed("bytes must be a whole number, not %.60q", fields[2])
		}
	}
	return r
}

// manifestFormat is the one that the first row has: that of a row by hand, or bucket,key[,version]
// as S3 Batch Operations and S3 Inventory have it. An inventory may have a size in the version's
// place, and more fields, which aren't needed. The destination is the key behind a prefix.
func manifestFormat(bucket, prefix string) format {
	first := ""
	return func(fields []string) row {
		if first = cmp.Or(first, fields[0]); first != bucket {
			return ownFormat(fields)
		}
		if len(fields) < 2 || fields[0] != bucket {
			return row{Err: malformed("the first row is bucket,key of %s, so this one must be "+
				"too, not of %.60q", bucket, fields[0])}
		}
		r := row{Bytes: -1}
		r.Source = r.key(fields[1])
		r.Destination = prefix + r.Source
		if len(fields) > 2 {
			bytes, err := strconv.ParseInt(fields[2], 10, 64)
			if r.Bytes = bytes; err != nil {
				r.Version, r.Bytes = fields[2], -1
			}
		}
		return r
	}
}

// key decodes a key as S3 Inventory encodes it and S3 Batch Operations reads it: %XX, and + for a
// space.
func (r *row) key(encoded string) string {
	decoded, err := url.QueryUnescape(encoded)
	if err != nil || decoded == "" || !utf8.ValidString(decoded) {
		r.Err = malformed("a key must be percent-encoded, not %.60q", encoded)
	}
	return decoded
}
