package copy

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
)

// object is what S3 says of one without its body.
type object struct {
	etag  string
	bytes int64
	// checksum is algorithm, type and value, such as "crc64nvme FULL_OBJECT ..."; "" for an object that has none.
	checksum string
	// isDigest says that the ETag is a sum of the content: neither of parts nor encrypted with a key of KMS or the customer.
	isDigest bool
	// age is the time since the object was written, by S3's clock in whole seconds; an hour where it doesn't say.
	age time.Duration
}

// head asks for an object's size, ETag and checksum.
func head(ctx context.Context, b *bucket.Bucket, seen *observed, key, version string) (object, error) {
	asked := &s3.HeadObjectInput{Bucket: &b.Name, Key: &key, ChecksumMode: types.ChecksumModeEnabled}
	if version != "" {
		asked.VersionId = &version
	}
	var answer *s3.HeadObjectOutput
	err := b.Do(ctx, seen, headObject, func() (err error) {
		answer, err = b.Client.HeadObject(ctx, asked)
		return err
	})
	if err != nil {
		return object{}, err
	}
	return objectOf(answer), nil
}

func objectOf(answer *s3.HeadObjectOutput) object {
	told := object{
		etag: aws.ToString(answer.ETag), bytes: aws.ToInt64(answer.ContentLength), checksum: checksumOf(answer),
		isDigest: !strings.Contains(aws.ToString(answer.ETag), "-") && answer.SSECustomerAlgorithm == nil &&
			!strings.HasPrefix(string(answer.ServerSideEncryption), "aws:kms"),
		age: time.Hour,
	}
	if asked, ok := awsmiddleware.GetServerTime(answer.ResultMetadata); ok && answer.LastModified != nil {
		told.age = asked.Sub(*answer.LastModified)
	}
	return told
}

func checksumOf(answer *s3.HeadObjectOutput) string {
	values := map[string]*string{
		"crc64nvme": answer.ChecksumCRC64NVME, "crc32": answer.ChecksumCRC32, "crc32c": answer.ChecksumCRC32C, "sha1": answer.ChecksumSHA1,
		"sha256": answer.ChecksumSHA256,
	}
	maps.DeleteFunc(values, func(_ string, value *string) bool { return value == nil })
	for algorithm, value := range values { // S3 stores one
		return algorithm + " " + string(answer.ChecksumType) + " " + *value
	}
	return ""
}

// comparable tells whether two objects that aren't the same by what S3 stored must differ.
func (o object) comparable(other object) bool {
	kind := func(checksum string) string { return checksum[:strings.LastIndexByte(checksum, ' ')+1] }
	return o.bytes != other.bytes || o.isDigest && other.isDigest || o.checksum != "" && kind(o.checksum) == kind(other.checksum)
}

// same tells whether two objects have the same content as far as S3 can say: by ETag, or, since KMS and parts give the same
// bytes other ETags, by size and a checksum of the same kind.
func (o object) same(other object) bool {
	return o.bytes == other.bytes && (o.etag != "" && o.etag == other.etag || o.checksum != "" && o.checksum == other.checksum)
}

// sources are the objects that are copied, as HEAD describes them. Masters are few, and those of a listing are each asked for
// once anyway, so only the first are kept.
type sources struct {
	mutex sync.Mutex
	heads map[string]object
}

const mostSources = 1000

func (j *job) source(ctx context.Context, r row) (object, error) {
	name := r.Source + "\x00" + r.Version
	j.sources.mutex.Lock()
	told, ok := j.sources.heads[name]
	j.sources.mutex.Unlock()
	if ok {
		return told, nil
	}
	told, err := head(ctx, j.from, j.seen, r.Source, r.Version)
	if kind, _ := failure.Describe(err); err != nil && kind == failure.NoSuchKey {
		err = failure.New(kind, "HeadObject 404: %s", noSourceAdvice)
	}
	j.sources.mutex.Lock()
	defer j.sources.mutex.Unlock()
	if err == nil && len(j.sources.heads) < mostSources {
		j.sources.heads[name] = told
	}
	return told, err
}

// bothEnds asks for what is at both ends of a row, at once; what a listing says of the source isn't asked for again.
func (j *job) bothEnds(ctx context.Context, r row) (there, wanted object, err error) {
	if r.ETag != "" {
		there, err = head(ctx, j.to, j.seen, r.Destination, "")
		if wanted = (object{etag: r.ETag, bytes: r.Bytes}); err != nil || there.same(wanted) {
			return there, wanted, err
		}
		wanted, err = j.source(ctx, r)
		return there, wanted, err
	}
	asked := make(chan error, 1)
	go func() {
		var err error
		wanted, err = j.source(ctx, r)
		asked <- err
	}()
	there, err = head(ctx, j.to, j.seen, r.Destination, "")
	return there, wanted, cmp.Or(<-asked, err)
}

// compare finds out what has the destination's key already: the same object, which is this worker's own copy when an earlier
// try has an unknown outcome; nil then. Another object is an error. tried is the time since the first try: what S3 can't compare
// is our copy, if it has the size and was written since.
func (j *job) compare(ctx context.Context, r row, unknown bool, tried time.Duration) error {
	there, wanted, err := j.bothEnds(ctx, r)
	if err != nil {
		return err
	}
	isOwn := unknown && there.bytes == wanted.bytes && there.age <= tried+time.Second
	switch comparable := there.comparable(wanted); {
	case there.same(wanted), !comparable && isOwn:
	case !comparable:
		return failure.New(failure.ObjectNotComparable, "an object of the same size (%d bytes) is at the destination, but its ETag %s can't be compared "+
			"with the source's %s, and they have no common checksum: keep it if an earlier run copied it; otherwise delete it and copy again",
			there.bytes, there.etag, wanted.etag)
	default:
		return failure.New(failure.ObjectDiffers, "the object at the destination (%d bytes, ETag %s) differs from the source (%d bytes, ETag %s): delete it, "+
			"or empty the destination first", there.bytes, there.etag, wanted.bytes, wanted.etag)
	}
	if unknown {
		j.seen.copied.Add(1)
		j.seen.bytes.Add(max(0, r.Bytes))
	} else {
		j.seen.alreadyThere.Add(1)
		j.lookFirst.Store(true)
	}
	return nil
}
