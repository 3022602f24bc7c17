package s3

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/retry"
)

// A body of an error is short; more of it is no error of S3.
const longestErrorBytes = 64 << 10

// NoSourceAdvice is for an object to copy that isn't there.
const NoSourceAdvice = "the source doesn't exist: check the key, or upload the object"

type known struct{ kind, advice string }

// What the reader can do, by the HTTP status of a refused download.
var byStatus = map[int]known{
	403: {failure.AccessDenied, "the role may not read the object, or the object doesn't exist (without s3:ListBucket S3 answers 403 " +
		"for a missing key too): check the role, BUCKET_NAME and the key (FILE_NAME)"},
	404: {failure.NoSuchKey, "the object or its bucket doesn't exist: check BUCKET_NAME and the key (FILE_NAME), or upload the object"},
	412: {failure.ObjectChanged, "the object was replaced while it was downloaded: don't change it during a run"},
	503: {failure.SlowDown, "S3 throttled every attempt: lower the concurrency or wait for S3 to scale"},
}

// The same for what else this client asks, by the operation; a status that is missing here is named as for a download.
var byOperation = map[string]map[int]known{
	copyObject: {
		403: {failure.AccessDenied, "the role may not read the source, write the destination or use their KMS key, or the source " +
			"doesn't exist (without s3:ListBucket S3 answers 403 for a missing key too): check the role's policy and the key"},
		404: {failure.NoSuchKey, NoSourceAdvice},
		503: {failure.SlowDown, "S3 throttled every attempt: lower parallel_limit, cap calls_per_s, or use the adaptive pace"},
	},
	deleteObjects: {
		403: {failure.AccessDenied, "the role may not delete in the destination bucket: it needs s3:DeleteObject there"},
		503: {failure.SlowDown, "S3 throttled every attempt: wait for S3 to scale before the destination is emptied"},
	},
	headObject: {
		400: {failure.S3, "a HEAD gets no reason from S3: the credentials have expired, or the object is encrypted with a customer-provided key " +
			"(SSE-C)"},
		403: {failure.AccessDenied, "the role may not compare the source with the object at the destination: it needs s3:GetObject on both, and " +
			"kms:Decrypt where they are encrypted with a KMS key"},
		404: {failure.NoSuchKey, "the object was deleted while it was compared: don't change either bucket during a run"},
		503: {failure.SlowDown, "S3 throttled every attempt to compare source and destination: lower parallel_limit"},
	},
	listObjects: {
		403: {failure.AccessDenied, "the role may not list the bucket, or another account owns the bucket: it needs s3:ListBucket"},
		404: {failure.NoSuchBucket, "the bucket doesn't exist: check its name and region"},
	},
}

// told is the error that S3 writes.
type told struct {
	XMLName xml.Name `xml:"Error"`
	Code    string   `xml:"Code"`
	Message string   `xml:"Message"`
	Region  string   `xml:"Region"`
}

// refusal reads an error answer and names it by its HTTP status: the answer to a HEAD has no body, so no code either.
func (a *Answer) refusal() error {
	body, err := a.all(longestErrorBytes)
	if err != nil {
		return err
	}
	return a.refused(body)
}

// refused names the error that a body holds, whatever the status is.
func (a *Answer) refused(body []byte) error {
	var said told
	_ = xml.Unmarshal(body, &said) // without a body the status alone says what is known
	named, ok := byOperation[a.operation][a.Status]
	if !ok {
		if named, ok = byStatus[a.Status]; !ok {
			named = known{failure.S3, said.Message}
		}
	}
	refused := failure.New(named.kind, "%s %d%s: %s", a.operation, a.Status, strings.TrimRight(" "+said.Code, " "), named.advice)
	refused.Temporary = retry.Passing(a.Status, said.Code)
	refused.Throttled = said.Code == failure.SlowDown
	unsaid := a.operation == headObject && a.Status == http.StatusBadRequest // which is what expired credentials get
	if unsaid || expired(said.Code) {
		a.client.renewCredentials(a.ctx, a.response.Request.Header.Get("X-Amz-Security-Token"))
		refused.Temporary = true
	}
	if a.operation == copyObject {
		refusedCopy(refused, a.Status, said)
	}
	a.refusedForAll(refused, said)
	return refused
}

// expired tells whether the credentials were good once: new ones may be had where the old ones came from.
func expired(code string) bool { return code == "ExpiredToken" || code == "TokenRefreshRequired" }

// refusedForAll names what isn't wrong with this request alone: the credentials, the clock, the region.
func (a *Answer) refusedForAll(refused *failure.Error, said told) {
	region := a.Header.Get("X-Amz-Bucket-Region")
	if region == "" {
		region = said.Region
	}
	switch {
	case expired(said.Code):
		refused.Type, refused.Mended = failure.NoCredentials, true
	case said.Code == "InvalidAccessKeyId", said.Code == "SignatureDoesNotMatch", said.Code == "InvalidToken":
		refused.Type, refused.Message = failure.NoCredentials, fmt.Sprintf("%s %d %s: S3 doesn't accept these credentials: check access key, "+
			"secret key and session token, and that the endpoint is theirs", a.operation, a.Status, said.Code)
	case said.Code == "RequestTimeTooSkewed":
		refused.Type, refused.Message = failure.Settings, fmt.Sprintf("%s %d RequestTimeTooSkewed: the clock of this machine differs from S3's by "+
			"more than 15 minutes, and S3 refused the corrected time too: set the clock", a.operation, a.Status)
		refused.Mended = a.client.clock.correct(a.Header.Get("Date"), a.response.Request.Header.Get("X-Amz-Date"))
		refused.Temporary = refused.Mended
	case a.Status == http.StatusMovedPermanently, said.Code == "AuthorizationHeaderMalformed":
		if region == "" {
			region = "another region"
		}
		refused.Type, refused.Message = failure.Settings, fmt.Sprintf("%s %d %s: the bucket %s is in %s: set --region or AWS_REGION to that region",
			a.operation, a.Status, said.Code, a.client.bucket, region)
	default:
		return
	}
	refused.OfAll = true
}
