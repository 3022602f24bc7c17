package express

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// put uploads one object by one request.
func (s *slice) put(ctx context.Context, object int64) error {
	key, body := s.key(object), s.content(object)
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, body.crc32()))
	return s.timed(ctx, "PutObject", func() error {
		_, _ = body.Seek(0, io.SeekStart)
		_, err := s.bucket.client.PutObject(ctx, &sdk.PutObjectInput{
			Bucket: &s.bucket.name, Key: &key, Body: body, ContentLength: &body.bytes, ChecksumCRC32: &sum,
		}, unsignedBody)
		return err
	})
}

// unsignedBody leaves the SHA-256 of the body out of the signature, as the SDK does with TLS: the CRC-32 that S3 checks is among
// the signed headers.
func unsignedBody(o *sdk.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware(stack)
	})
}
