package s3

import (
	"context"
	"net/http"
	"strings"
	"time"
)

const headObject = "HeadObject"

// Head is what S3 says of an object without its body. Checksum is "" for an object that has none.
type Head struct {
	Object
	Checksum string // algorithm, type and value, such as "crc64nvme FULL_OBJECT ..."
	// IsDigest says that the ETag is a sum of the content: neither of parts nor encrypted with a key of KMS or the customer.
	IsDigest bool
	// Age is the time since the object was written, by S3's clock in whole seconds.
	Age time.Duration
}

// Head makes one try to ask for an object's size, ETag and checksum.
func (c *Client) Head(ctx context.Context, counted Counted, key string) (Head, error) {
	answer, err := c.send(ctx, counted, call{
		operation: headObject, method: http.MethodHead, key: key, header: http.Header{"X-Amz-Checksum-Mode": {"ENABLED"}},
	})
	if err != nil {
		return Head{}, err
	}
	if answer.Status >= 300 {
		return Head{}, answer.refusal()
	}
	defer answer.Close()
	etag, encryption := answer.Header.Get("Etag"), answer.Header.Get("X-Amz-Server-Side-Encryption")
	return Head{
		Object:   Object{ETag: etag, Bytes: answer.response.ContentLength},
		Checksum: checksumOf(answer.Header),
		IsDigest: !strings.Contains(etag, "-") && !strings.HasPrefix(encryption, "aws:kms") &&
			answer.Header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == "",
		Age: ageOf(answer.Header),
	}, nil
}

// ageOf is an hour for an answer that doesn't say when.
func ageOf(header http.Header) time.Duration {
	asked, err := http.ParseTime(header.Get("Date"))
	written, wrong := http.ParseTime(header.Get("Last-Modified"))
	if err != nil || wrong != nil {
		return time.Hour
	}
	return asked.Sub(written)
}

func checksumOf(header http.Header) string {
	for _, algorithm := range []string{"Crc64nvme", "Crc32", "Crc32c", "Sha1", "Sha256"} {
		if value := header.Get("X-Amz-Checksum-" + algorithm); value != "" {
			return strings.ToLower(algorithm) + " " + header.Get("X-Amz-Checksum-Type") + " " + value
		}
	}
	return ""
}

// Comparable tells whether two objects that aren't the same by what S3 stored must differ.
func (h Head) Comparable(other Head) bool {
	kind := func(checksum string) string { return checksum[:strings.LastIndexByte(checksum, ' ')+1] }
	return h.Bytes != other.Bytes || h.IsDigest && other.IsDigest || h.Checksum != "" && kind(h.Checksum) == kind(other.Checksum)
}

// Same tells whether two objects have the same content as far as S3 can say: by ETag, or, since KMS and parts give the same
// bytes other ETags, by size and a checksum of the same kind.
func (h Head) Same(other Head) bool {
	return h.ETag != "" && h.ETag == other.ETag && h.Bytes == other.Bytes ||
		h.Bytes == other.Bytes && h.Checksum != "" && h.Checksum == other.Checksum
}
