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
	"stampede/transfer/internal/room"
	"stampede/transfer/internal/workfolder"
)

const (
	// bufferBytes is the most that is read before it is written.
	bufferBytes = 128 << 10
	// mostFiles are written to at once: a sandbox has 1,024 file descriptors (Lambda guide, "Lambda quotas"), and every request a
	// connection.
	mostFiles = 8
)

// place is where a worker's objects go, each over the one before: all have one size.
type place struct {
	file   io.WriterAt
	offset int64
	buffer []byte
}

// download gets every object of the slice to files in a folder of its own, which is gone afterwards.
func (s *slice) download(ctx context.Context) error {
	workers := s.workers()
	workfolder.RemoveAbandoned()
	left, err := room.Left(os.TempDir())
	if err != nil {
		return failure.OfFile(err)
	}
	if left/workers < s.objectBytes {
		return failure.New(failure.NoSpace, "%d files of %d bytes at a time don't fit into the %d bytes left in the temporary folder: raise "+
			"ephemeral_storage_mb or lower parallel_limit", workers, s.objectBytes, left)
	}
	folder, err := workfolder.New()
	if err != nil {
		return failure.OfFile(err)
	}
	defer folder.Close()
	places := make([]place, workers)
	for i := range places {
		if i >= mostFiles {
			places[i].file = places[i-mostFiles].file
		} else if file, err := os.CreateTemp(folder.Path, ""); err == nil {
			defer file.Close() // WriteAt has told of every error of ours
			places[i].file = file
		} else {
			return failure.OfFile(err)
		}
		places[i].offset = int64(i/mostFiles) * s.objectBytes
		places[i].buffer = make([]byte, min(bufferBytes, s.objectBytes))
	}
	return s.each(ctx, func(ctx context.Context, worker int, object int64) error { return s.get(ctx, places[worker], object) })
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
