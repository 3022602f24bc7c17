package copy

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
)

// source calls take for every row, and returns how reading them ended. take's error ends it.
type source func(ctx context.Context, take func(row) error) error

// listed gives a row for every object below a prefix; its destination is the rest of its key behind another prefix.
func listed(from *bucket.Bucket, seen *observed, sourcePrefix, destinationPrefix string) source {
	return func(ctx context.Context, take func(row) error) error {
		empty := true
		err := list(ctx, from, seen, sourcePrefix, func(key string, object types.Object) error {
			rest := strings.TrimPrefix(key, sourcePrefix)
			if rest == "" {
				return nil // the console's sign for the folder itself
			}
			empty = false
			return take(row{Slice: -1, Line: -1, Source: key, Destination: destinationPrefix + rest, Bytes: aws.ToInt64(object.Size),
				ETag: aws.ToString(object.ETag)})
		})
		if err == nil && empty {
			return failure.New(failure.NoData, "no objects below the source prefix %q: upload the objects to copy (stampede dataset), or check the prefix", sourcePrefix)
		}
		return err
	}
}

// sliced gives the rows of some slices of a manifest, one after the other.
func sliced(from *bucket.Bucket, seen *observed, manifest string, first, number int64) source {
	return func(ctx context.Context, take func(row) error) error {
		for slice := first; slice < first+number; slice++ {
			key := fmt.Sprintf("%s%06d.csv", manifest, slice)
			body, err := read(ctx, from, seen, key)
			if kind, message := failure.Describe(err); err != nil && kind == failure.NoSuchKey {
				return failure.New(kind, "the slice %s doesn't exist: upload the manifest (stampede dataset) before the flood: %s", key, message)
			} else if err != nil {
				return err
			}
			if err := lines(bufio.NewReaderSize(strings.NewReader(body), 64<<10), slice, ownFormat, take); err != nil {
				return err
			}
		}
		return nil
	}
}

// manifestRows gives the rows of a manifest by hand, which may be compressed: lines of CSV, or what --failed wrote.
func manifestRows(body io.Reader, as format, take func(row) error) error {
	empty := true
	taken := func(r row) error {
		empty = false
		return take(r)
	}
	reader := bufio.NewReaderSize(body, 64<<10)
	if packed, err := reader.Peek(2); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if string(packed) == gzipMark {
		unpacked, err := gzip.NewReader(reader)
		if err != nil {
			return failure.OfFile(err)
		}
		reader = bufio.NewReaderSize(unpacked, 64<<10)
	}
	first, _ := reader.Peek(1)
	var err error
	if string(first) == "{" {
		err = failedRows(reader, taken)
	} else {
		err = lines(reader, -1, as, taken)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return failure.New(failure.File, "the compressed manifest is cut short or damaged: %v", err)
	case err == nil && empty:
		return failure.New(failure.NoData, "the manifest has no rows, so there is nothing to copy")
	}
	return err
}

const gzipMark = "\x1f\x8b"

// failedRows gives the rows of what --failed wrote.
func failedRows(body io.Reader, take func(row) error) error {
	decoder := json.NewDecoder(body)
	for {
		var line struct {
			Objects []struct {
				Line                         *int64
				Source, Destination, Version string
				Type                         string `json:"error_type"`
				Message                      string `json:"error_message"`
			} `json:"failed_objects"`
		}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // the last line of a program that was killed may be cut short
		} else if err != nil {
			return failure.New(failure.File, "the manifest begins as a file of --failed, but isn't one: %v", err)
		}
		for _, failed := range line.Objects {
			r := row{Slice: -1, Line: -1, Source: failed.Source, Version: failed.Version, Destination: failed.Destination, Bytes: -1}
			if failed.Line != nil {
				r.Line = *failed.Line
			}
			if failed.Type == failure.MalformedRow || failed.Destination == "" {
				r.Err = failure.New(failure.MalformedRow, "%s", failed.Message)
			}
			if err := take(r); err != nil {
				return err
			}
		}
	}
}

// longestRowBytes is more than any row has: two keys of 1,024 bytes, each byte as %XX, and a size.
const longestRowBytes = 8 << 10

// lines gives the rows of one slice; -1 for a manifest that isn't in slices. An error of the body is returned as it is.
func lines(reader *bufio.Reader, slice int64, as format, take func(row) error) error {
	if mark, _ := reader.Peek(3); string(mark) == "\xEF\xBB\xBF" { // of a spreadsheet
		_, _ = reader.Discard(3)
	}
	for line := int64(1); ; line++ {
		text, long, err := readLine(reader)
		if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
			return notEnd(err)
		}
		if strings.TrimSpace(text) == "" && err == nil {
			continue
		}
		var r row
		switch {
		case long:
			r = malformed(text, failure.New(failure.MalformedRow, "the line has more than %d bytes, more than any valid row", longestRowBytes))
		case err != nil:
			r = malformed(text, failure.New(failure.MalformedRow, "the last line has no line break, so it may be cut short: end it with one"))
		default:
			r = parseRow(text, as)
		}
		r.Slice, r.Line = slice, line
		if err := take(r); err != nil {
			return err
		}
	}
}

// readLine returns a line without its break, and no more than the beginning of a long one.
func readLine(reader *bufio.Reader) (line string, long bool, err error) {
	text, err := reader.ReadSlice('\n')
	long = len(text) > longestRowBytes
	line = strings.TrimSuffix(string(text[:min(len(text), longestRowBytes)]), "\n")
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		_, err = reader.ReadSlice('\n')
	}
	return line, long, err
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
