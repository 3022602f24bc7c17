package copy

import (
	"bufio"
	"context"
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
	longestLineBytes  = 64 << 10 // far more than a row's two keys with each byte as %XX and size
	longestShownBytes = 200      // of a line that is no row
)

// row is one object to copy. Slice (-1: none) and Line (from 1; 0: none) are its place in a
// manifest. Bytes is -1 if the size isn't known. Err says why there is nothing to copy.
type row struct {
	Slice, Line         int64
	Source, Destination string
	Bytes               int64
	ETag                string // of the source; "": unknown
	Err                 error
}

// refused returns why a row must not be copied, or nil.
func (r row) refused(prefix string, sameBucket bool) error {
	switch {
	case r.Err != nil:
		return r.Err
	case max(len(r.Source), len(r.Destination)) > longestKeyBytes:
		return failure.New(failure.RowRefused, "a key has at most %d bytes: the source has %d, "+
			"the destination %d", longestKeyBytes, len(r.Source), len(r.Destination))
	case !strings.HasPrefix(r.Destination, prefix):
		return failure.New(failure.RowRefused, "the destination key must begin with the "+
			"destination prefix %q", prefix)
	case sameBucket && r.Source == r.Destination:
		return failure.New(failure.RowRefused, "source and destination are the same object: "+
			"choose another destination key")
	}
	return nil
}

// source calls take for every row. An error of take ends it.
type source func(ctx context.Context, take func(row) error) error

// list makes the objects below a prefix the rows of a job. In a destination the job's prefix
// replaces that prefix.
func (j *job) list(prefix string) {
	j.where = "the source prefix " + prefix
	j.rows = func(ctx context.Context, take func(row) error) error {
		return j.patiently(j.from).List(ctx, j.seen, prefix, func(objects []types.Object) error {
			for _, object := range objects {
				rest := strings.TrimPrefix(*object.Key, prefix)
				if rest == "" { // the console's marker of the folder itself
					continue
				}
				err := take(row{
					Slice: -1, Source: *object.Key, Destination: j.prefix + rest,
					Bytes: aws.ToInt64(object.Size), ETag: aws.ToString(object.ETag),
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// read makes some slices of a manifest the rows of a job, one slice after the other.
func (j *job) read(manifest string, first, number int64) {
	j.where = "the manifest " + manifest
	j.rows = func(ctx context.Context, take func(row) error) error {
		for slice := first; slice < first+number; slice++ {
			key := fmt.Sprintf("%s%06d.csv", manifest, slice)
			body, err := read(ctx, j.patiently(j.from), j.seen, key)
			if isOf(err, failure.NoSuchKey) {
				return failure.New(failure.NoSuchKey, "%s doesn't exist: upload the manifest "+
					"(stampede dataset) before the flood", key)
			}
			if err == nil {
				rows := bufio.NewReaderSize(strings.NewReader(body), longestLineBytes)
				err = lines(rows, slice, take)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// manifestRows reads the rows of a local manifest: lines of CSV, or a file of --failed.
func manifestRows(body io.Reader, take func(row) error) error {
	reader := bufio.NewReaderSize(body, longestLineBytes)
	if first, _ := reader.Peek(1); string(first) == "{" {
		return failedRows(reader, take)
	}
	return lines(reader, -1, take)
}

// failedRows reads the rows of a file of --failed.
func failedRows(body io.Reader, take func(row) error) error {
	decoder := json.NewDecoder(body)
	for {
		var line struct {
			Objects []struct {
				row
				Message string `json:"error_message"`
			} `json:"failed_objects"`
		}
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // if the program was killed, its last line may be cut short
		}
		if err != nil {
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

// lines reads the rows of one slice, or of a manifest without slices (-1).
func lines(reader *bufio.Reader, slice int64, take func(row) error) error {
	for number := int64(1); ; number++ {
		text, err := reader.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return failure.New(failure.File, "line %d of the manifest has more than %d bytes, "+
				"more than any row", number, longestLineBytes)
		case err != nil && err != io.EOF:
			return failure.OfFile(err)
		case len(text) == 0:
			return nil
		}
		line := strings.TrimRight(string(text), "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		r := parseRow(line)
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

func malformed(format string, values ...any) error {
	return failure.New(failure.MalformedRow, format, values...)
}

// parseRow parses source,destination[,bytes].
func parseRow(line string) row {
	fields := strings.Split(line, ",")
	if len(fields) != 2 && len(fields) != 3 {
		return row{Err: malformed("a row must be source,destination or "+
			"source,destination,bytes, not %d fields", len(fields))}
	}
	r := row{Bytes: -1}
	r.Source, r.Destination = r.key(fields[0]), r.key(fields[1])
	if len(fields) == 3 {
		bytes, err := strconv.ParseUint(fields[2], 10, 63)
		if r.Bytes = int64(bytes); err != nil {
			r.Err = malformed("bytes must be a whole number, not %.60q", fields[2])
		}
	}
	return r
}

// key decodes a key in the form of S3 Inventory and S3 Batch Operations: %XX, and + for a space. A
// quote means a CSV with quoted fields.
func (r *row) key(encoded string) string {
	decoded, err := url.QueryUnescape(encoded)
	if err != nil || decoded == "" || !utf8.ValidString(decoded) || strings.Contains(encoded, `"`) {
		r.Err = malformed("a key must be percent-encoded and without quotes, not %.60q", encoded)
	}
	return decoded
}
