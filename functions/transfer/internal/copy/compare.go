package copy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
)

// object is what S3 says of an object without its body.
type object struct {
	etag  string
	bytes int64
	// Checksums of one kind have the same algorithm, over all bytes or over parts. "": no checksum.
	checksumKind, checksum string
	// isDigest says that the ETag is a hash of the content: the object isn't in parts, nor
	// encrypted with a key of KMS or the customer.
	isDigest bool
	// age is the time since the object was written, in whole seconds of S3's clock; one hour if S3
	// doesn't say.
	age time.Duration
}

// head asks for an object's size, ETag and checksum.
func (j *job) head(ctx context.Context, b *bucket.Bucket, key string) (told object, err error) {
	asked := &s3.HeadObjectInput{Bucket: &b.Name, Key: &key,
		ChecksumMode: types.ChecksumModeEnabled}
	err = b.Do(ctx, j.seen, headObject, func() error {
		answer, err := b.Client.HeadObject(ctx, asked)
		if err == nil {
			told = objectOf(answer)
		}
		return err
	})
	return told, err
}

func objectOf(answer *s3.HeadObjectOutput) object {
	etag := aws.ToString(answer.ETag)
	encrypted := answer.SSECustomerAlgorithm != nil ||
		strings.HasPrefix(string(answer.ServerSideEncryption), "aws:kms")
	told := object{etag: etag, bytes: aws.ToInt64(answer.ContentLength), age: time.Hour,
		isDigest: !encrypted && !strings.Contains(etag, "-")}
	sums := []*string{answer.ChecksumCRC64NVME, answer.ChecksumCRC32, answer.ChecksumCRC32C,
		answer.ChecksumSHA1, answer.ChecksumSHA256}
	for algorithm, sum := range sums {
		if sum != nil {
			told.checksumKind, told.checksum = fmt.Sprint(algorithm, answer.ChecksumType), *sum
		}
	}
	if asked, ok := awsmiddleware.GetServerTime(answer.ResultMetadata); ok &&
		answer.LastModified != nil {
		told.age = asked.Sub(*answer.LastModified)
	}
	return told
}

// comparable reports whether two objects that aren't the same are known to differ.
func (o object) comparable(other object) bool {
	return o.bytes != other.bytes || o.isDigest && other.isDigest ||
		o.checksum != "" && o.checksumKind == other.checksumKind
}

// same reports whether two objects are known to have the same content: by size and ETag or, since
// KMS and multipart uploads change the ETag, by size and a checksum of the same kind.
func (o object) same(other object) bool {
	return o.bytes == other.bytes && (o.etag != "" && o.etag == other.etag ||
		o.checksum != "" && o.checksum == other.checksum && o.checksumKind == other.checksumKind)
}

// mostSources is how many sources are remembered. Masters are few, and the sources of a listing are
// each requested only once.
const mostSources = 1000

// source returns what S3 says of a row's source, from memory if it can.
func (j *job) source(ctx context.Context, r row) (object, error) {
	j.mutex.Lock()
	told, ok := j.sources[r.Source]
	j.mutex.Unlock()
	if ok {
		return told, nil
	}
	told, err := j.head(ctx, j.from, r.Source)
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if err == nil && len(j.sources) < mostSources {
		j.sources[r.Source] = told
	}
	return told, err
}

// compare looks at the object that already has the destination's key. It returns nil for the same
// object, which is this worker's own copy if the result of an earlier attempt is unknown, and an
// error for any other. tried is the time since the first attempt: an object that can't be compared
// is the own copy if it has the size and was written since.
func (j *job) compare(ctx context.Context, r row, unknown bool, tried time.Duration) error {
	there, err := j.head(ctx, j.to, r.Destination)
	if err != nil {
		return err
	}
	wanted := object{etag: r.ETag, bytes: r.Bytes} // from a listing
	if !there.same(wanted) {
		if wanted, err = j.source(ctx, r); err != nil {
			return err
		}
	}
	isOwn := unknown && there.bytes == wanted.bytes && there.age <= tried+time.Second
	switch comparable := there.comparable(wanted); {
	case there.same(wanted), !comparable && isOwn:
	case !comparable:
		return failure.New(failure.ObjectNotComparable,
			"the object at the destination has the source's size, but its ETag %s can't be "+
				"compared with %s: keep it if an earlier run copied it, otherwise delete it",
			there.etag, wanted.etag)
	default:
		return failure.New(failure.ObjectDiffers,
			"the object at the destination (%d bytes, ETag %s) differs from the source (%d bytes, "+
				"ETag %s): delete it, or empty the destination first",
			there.bytes, there.etag, wanted.bytes, wanted.etag)
	}
	if unknown {
		j.seen.made(r)
	} else {
		j.seen.alreadyThere.Add(1)
		j.lookFirst.Store(true)
	}
	return nil
}
