package express

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/tempfile"
)

// bufferBytes is the most that is read before it is written.
const bufferBytes = 128 << 10

// place is where a worker's objects go, each over the one before: all have one size. All places are in one file:
// every request needs a connection, and a sandbox has few file descriptors more than that.
type place struct {
	file   *os.File
	offset int64
	buffer []byte
}

// download gets every object of the slice to a file that is gone afterwards.
func (s *slice) download(ctx context.Context) error {
	file, err := tempfile.New()
	if err != nil {
		return failure.OfFile(err)
	}
	defer file.Close() // WriteAt has told of every error of ours
	left, err := tempfile.Room(file)
	if err != nil {
		return failure.OfFile(err)
	}
	if left/s.workers() < s.objectBytes {
		return failure.New(failure.NoSpace, "%d objects of %d bytes at a time don't fit into the %d bytes left in the temporary folder: raise "+
			"ephemeral_storage_mb or lower parallel_limit", s.workers(), s.objectBytes, left)
	}
	places := make([]place, s.workers())
	for i := range places {
		places[i] = place{file, int64(i) * s.objectBytes, make([]byte, min(bufferBytes, s.objectBytes))}
	}
	return s.each(ctx, func(ctx context.Context, worker, object int64) error { return s.get(ctx, places[worker], object) })
}

func (s *slice) get(ctx context.Context, to place, object int64) error {
	key, sum := s.key(object), s.content(object).crc32()
	return s.timed(ctx, "GetObject", func() error {
		answer, err := s.bucket.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket.Name, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		received, digest, err := to.receive(answer.Body)
		switch {
		case err != nil:
			return err
		case received != s.objectBytes:
			return failure.New(failure.SizeMismatch, "%s has %d bytes instead of %d: seed the set again", key, received, s.objectBytes)
		case digest != sum:
			return failure.New(failure.ObjectChanged, "%s isn't what was uploaded: delete it, seed the set again, and don't change it during a run", key)
		}
		return nil
	})
}

// receive writes a body to its place, and returns its size and CRC-32. It is read to its end, where the SDK tells whether the bytes
// are those that S3 sent.
func (p place) receive(body io.Reader) (int64, uint32, error) {
	digest := crc32.NewIEEE()
	received, err := io.CopyBuffer(io.MultiWriter(io.NewOffsetWriter(p.file, p.offset), digest), body, p.buffer)
	var ofFile *fs.PathError
	if errors.As(err, &ofFile) {
		err = failure.OfFile(err)
	}
	return received, digest.Sum32(), err
}
