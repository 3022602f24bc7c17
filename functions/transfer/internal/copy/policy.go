// Package copy copies objects server-side, from a listing or a manifest: many calls at once, at a
// fixed or adaptive pace, with S3's refusals counted and every row accounted for.
package copy

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
)

// Retry modes, paces, and the limits of an order.
const (
	Standard = "standard" // botocore's, with a quota of retries
	Legacy   = "legacy"   // botocore's older one, without a quota

	Fixed    = "fixed"    // as many calls at once as allowed
	Adaptive = "adaptive" // as many calls a second as S3 lets through

	LargestParallel  = 10_000
	largestAttempts  = 50
	defaultAttempts  = 4
	largestCallsPerS = 100_000
	largestSlice     = 999_999 // of the six digits in a slice's key
)

// Policy is how to call S3: parallelism, pace and retries.
type Policy struct {
	Parallel  int64
	RetryMode string
	Attempts  int64 // of one call, the first included
	Pace      string
	CallsPerS int64 // cap of this worker; 0: none
}

// The retry quota of botocore's standard mode before 2026 (functions/agreed/retries.json): a retry
// costs tokens, and a call that succeeds returns the cost of its last retry, or one token. Without
// tokens a call isn't retried. By the rules of 2026 a SlowDown costs the same.
const (
	quotaTokens   = 500
	noQuota       = 1 << 62
	retryCost     = 5
	timeoutCost   = 10
	unretriedGain = 1
	// longestPause is in seconds, for standard mode. Legacy mode has no limit
	// (botocore/retryhandler.py, delay_exponential).
	longestPause       = 20
	fewestSlowed       = 50 // SlowDowns of one row before the adaptive pace gives it up
	longestSlowedPause = 2  // tenths of a second, for the adaptive pace, which slows down by itself
)

// longestSlowed is how long the adaptive pace retries a row that S3 keeps slowing down while it
// lets others through. A variable for tests.
var longestSlowed = 5 * time.Minute

func newQuota(mode string) *ratelimit.TokenBucket {
	if mode == Legacy {
		return ratelimit.NewTokenBucket(noQuota)
	}
	return ratelimit.NewTokenBucket(quotaTokens)
}

// pauseAfter is how long to wait after the n-th attempt (from 1): full jitter that doubles, up to
// longest units.
func pauseAfter(n int64, longest float64, unit time.Duration) time.Duration {
	pause := min(rand.Float64()*math.Exp2(float64(min(n-1, 30))), longest)
	return time.Duration(pause * float64(unit))
}
