package s3

import (
	"context"
	"net/http"
	"strings"
)

const headObject = "HeadObject"

// Head is what S3 says of an object without its body. Checksum is "" for an object that has none.
type Head struct {
	Object
	Checksum string // algorithm, type and value, such as "crc64nvme FULL_OBJECT ..."
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
	return Head{
		Object:   Object{ETag: answer.Header.Get("Etag"), Bytes: answer.response.ContentLength},
		Checksum: checksumOf(answer.Header),
	}, nil
}

func checksumOf(header http.Header) string {
	for _, algorithm := range []string{"Crc64nvme", "Crc32", "Crc32c", "Sha1", "Sha256"} {
		if value := header.Get("X-Amz-Checksum-" + algorithm); value != "" {
			return strings.ToLower(algorithm) + " " + header.Get("X-Amz-Checksum-Type") + " " + value
		}
	}
	return ""
}

// Same tells whether two objects have the same content as far as S3 can say: by ETag, or, since KMS and parts give the same
// bytes other ETags, by size and a checksum of the same kind.
func (h Head) Same(other Head) bool {
	return h.ETag != "" && h.ETag == other.ETag && h.Bytes == other.Bytes ||
		h.Bytes == other.Bytes && h.Checksum != "" && h.Checksum == other.Checksum
}
