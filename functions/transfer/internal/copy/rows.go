package copy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// listed gives a row for every object below a prefix; its destination is the rest of its key behind another prefix.
func listed(client *s3.Client, counted s3.Counted, sourcePrefix, destinationPrefix string) source {
	return func(ctx context.Context, take func(row) error) error {
		found := false
		err := client.List(ctx, counted, sourcePrefix, func(one s3.Listed) error {
			rest := strings.TrimPrefix(one.Key, sourcePrefix)
			if rest == "" {
				return nil // the console's sign for the folder itself
			}
			found = true
			return take(row{Slice: -1, Line: -1, Source: one.Key, Destination: destinationPrefix + rest, Bytes: one.Size, ETag: one.ETag})
		})
		if err == nil && !found {
			return failure.New(failure.NoData, "no objects below the source prefix %q: upload the objects to copy (stampede dataset), or check the prefix", sourcePrefix)
		}
		return err
	}
}

// sliced gives the rows of some slices of a manifest, one after the other.
func sliced(client *s3.Client, counted s3.Counted, manifest string, first, number int64) source {
	return func(ctx context.Context, take func(row) error) error {
		for slice := first; slice < first+number; slice++ {
			key := fmt.Sprintf("%s%06d.csv", manifest, slice)
			body := &slowBody{ctx: ctx, client: client, counted: counted, key: key}
			err := lines(body, slice, take)
			body.close()
			if kind, message := failure.Describe(err); err != nil && kind == failure.NoSuchKey {
				return failure.New(kind, "the slice %s doesn't exist: upload the manifest (stampede dataset) before the flood: %s", key, message)
			} else if err != nil {
				return err
			}
		}
		return nil
	}
}

// manifestRows gives the rows of a manifest by hand: lines of source,destination, or what --failed wrote.
func manifestRows(body io.Reader, take func(row) error) error {
	reader := bufio.NewReaderSize(body, 64<<10)
	if first, err := reader.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if string(first) != "{" {
		return lines(reader, -1, take)
	}
	decoder := json.NewDecoder(reader)
	for {
		var line struct {
			Objects []struct {
				Line                *int64
				Source, Destination string
				Type                string `json:"error_type"`
				Message             string `json:"error_message"`
			} `json:"failed_objects"`
		}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // the last line of a program that was killed may be cut short
		} else if err != nil {
			return failure.New(failure.File, "the manifest begins as a file of --failed, but isn't one: %v", err)
		}
		for _, failed := range line.Objects {
			r := row{Slice: -1, Line: -1, Source: failed.Source, Destination: failed.Destination, Bytes: -1}
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
func lines(body io.Reader, slice int64, take func(row) error) error {
	reader := bufio.NewReaderSize(body, 64<<10)
	if mark, err := reader.Peek(3); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if string(mark) == "\xEF\xBB\xBF" { // of a spreadsheet
		_, _ = reader.Discard(3)
	}
	for line := int64(1); ; line++ {
		text, err := reader.ReadSlice('\n')
		long := len(text) > longestRowBytes
		kept := string(text[:min(len(text), longestRowBytes)])
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is no row
			long = true
			_, err = reader.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if kept == "" {
			return nil
		}
		r := row{}
		if strings.TrimSpace(kept) == "" && err == nil {
			continue
		}
		if err != nil && !long {
			r = malformed(kept, "the last line has no line break, so it may be cut short: end it with one")
		} else if long {
			r = malformed(kept, "the line has more than %d bytes, more than any valid row", longestRowBytes)
		} else {
			r = parseRow(strings.TrimSuffix(kept, "\n"))
		}
		r.Slice, r.Line = slice, line
		if err := take(r); err != nil {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

// slowBody reads an object at the speed at which its rows are copied. S3 ends a connection on which nothing is read for long:
// then it goes on where it was, with another request for the same object.
type slowBody struct {
	ctx     context.Context
	client  *s3.Client
	counted s3.Counted
	key     string
	answer  *s3.Answer
	object  s3.Object
	at      int64
}

func (b *slowBody) Read(p []byte) (n int, err error) {
	if b.object.ETag != "" && b.at == b.object.Bytes {
		return 0, io.EOF
	}
	err = b.client.Retry.Do(b.ctx, b.counted.CountRetry, func() error {
		if b.answer == nil {
			if err := b.open(); err != nil {
				return err
			}
		}
		if b.at == b.object.Bytes {
			n = 0
			return nil
		}
		var err error
		if n, err = b.answer.Read(p); err != nil {
			b.close()
			return err
		}
		return nil
	})
	b.at += int64(n)
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

func (b *slowBody) open() error {
	get := s3.Get{Key: b.key, Last: s3.Whole}
	if b.at > 0 {
		get = s3.Get{Key: b.key, First: b.at, Last: b.object.Bytes - 1, IfMatch: b.object.ETag}
	}
	answer, object, err := b.client.Get(b.ctx, b.counted, get)
	if err != nil {
		return err
	}
	b.answer, b.object = answer, object
	return nil
}

func (b *slowBody) close() {
	if b.answer != nil {
		b.answer.Close()
		b.answer = nil
	}
}
