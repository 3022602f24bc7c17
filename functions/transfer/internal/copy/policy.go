// Package copy copies objects server-side: from a listing or a manifest, many calls at once, at a pace, with S3's refusals
// counted and every row accounted for.
package copy

import (
	"time"

	"stampede/transfer/internal/s3"
)

// Retry modes, paces, and the limits of an order.
const (
	Standard = "standard" // botocore's: a quota of retries
	Legacy   = "legacy"   // botocore's before: no quota

	Fixed    = "fixed"    // as many calls at once as allowed
	Adaptive = "adaptive" // as many calls a second as S3 lets through

	LargestParallel  = 10_000
	largestAttempts  = 50
	defaultAttempts  = 4
	largestCallsPerS = 100_000
	largestSlice     = 999_999 // of the six digits in a slice's key

	// The longest silence of a server that copies: an object of 5 GB takes a minute and more.
	silence = 90 * time.Second
)

// Policy is how to call S3: how much at once, how fast, and how often again. CallsPerS caps the calls of this worker; 0: no
// cap.
type Policy struct {
	Parallel  int
	RetryMode string
	Attempts  int64 // tries of one call, the first included
	Pace      string
	CallsPerS int64
}

// lister is the client for what a copy lists and reads besides its copies: as patient with SlowDown as they are.
func (p Policy) lister(client *s3.Client) *s3.Client {
	if p.Pace == Adaptive {
		return client.Patiently()
	}
	return client
}
