package express

import (
	"context"
	"io"
	"os"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/failure"
)

// What is read before it is compared and written.
const pieceBytes = 128 << 10

// getter downloads objects, each over the one before at its place in a file: all have one size.
type getter struct {
	*slice
	file   *os.File
	place  int64
	buffer []byte
}

func (g *getter) move(ctx context.Context, object int64) error {
	key, wanted := g.key(object), g.content(object)
	return g.timed(ctx, "GetObject", func() error {
		answer, err := g.bucket.client.GetObject(ctx, &sdk.GetObjectInput{
			Bucket: &g.bucket.name, Key: &key, ChecksumMode: types.ChecksumModeEnabled,
		})
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		return g.receive(answer.Body, wanted, key)
	})
}

// receive writes a body to the file, and compares it with what it must be. The body is read to its end first: there the SDK
// tells whether the bytes are those that S3 sent.
func (g *getter) receive(body io.Reader, wanted *content, key string) error {
	received, same := int64(0), true
	for {
		n, err := fill(body, g.buffer)
		same = same && wanted.has(g.buffer[:n], received)
		if _, failed := g.file.WriteAt(g.buffer[:n], g.place+received); failed != nil {
			return failure.OfFile(failed)
		}
		received += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	switch {
	case received != wanted.bytes:
		return failure.New(failure.SizeMismatch, "%s has %d bytes instead of %d: seed the set again", key, received, wanted.bytes)
	case !same:
		return failure.New(failure.ObjectChanged, "%s isn't what was uploaded: delete it, seed the set again, and don't change it during a run", key)
	}
	return nil
}

// fill reads until the buffer is full or the body ends.
func fill(body io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var got int
		got, err = body.Read(buffer[n:])
		n += got
	}
	return n, err
}
