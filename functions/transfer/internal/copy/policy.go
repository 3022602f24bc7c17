// Package copy copies objects server-side: from a listing or a manifest, many calls at once, at a pace, with S3's refusals
// counted and every row accounted for.
package copy

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"stampede/transfer/internal/failure"
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

// The retry quota of botocore's standard mode before 2026 (functions/agreed/retries.json): a retry costs tokens, a call that
// succeeds gives back what its last retry cost, or one token; without tokens a call isn't tried again. A SlowDown costs the
// same by the rules of 2026.
const (
	quotaTokens        = 500
	retryCost          = 5
	timeoutCost        = 10
	unretriedGain      = 1
	longestPause       = 20 // seconds, of standard mode; legacy mode has no limit (botocore/retryhandler.py, delay_exponential)
	fewestSlowed       = 50 // SlowDowns of one row before the adaptive pace gives it up
	longestSlowedPause = 2  // tenths of a second, of the adaptive pace, which slows down by itself
)

// longestSlowed is how long the adaptive pace tries one row that S3 always slows down, while it lets others through. A variable for
// tests.
var longestSlowed = 5 * time.Minute

// quota is the tokens of one worker; nil for legacy mode, which has none.
type quota struct {
	mutex  sync.Mutex
	tokens int64
}

func newQuota(mode string) *quota {
	if mode == Legacy {
		return nil
	}
	return &quota{tokens: quotaTokens}
}

// take pays for a retry after err and returns what it cost; ok is false when there aren't enough tokens.
func (q *quota) take(err *failure.Error) (cost int64, ok bool) {
	if q == nil {
		return 0, true
	}
	cost = retryCost
	if err.Type == failure.ReadTimeout {
		cost = timeoutCost
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.tokens < cost {
		return 0, false
	}
	q.tokens -= cost
	return cost, true
}

// give returns what a call that succeeded paid for its last retry; 0: it had none.
func (q *quota) give(cost int64) {
	if q == nil {
		return
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.tokens = min(quotaTokens, q.tokens+max(cost, unretriedGain))
}

// pauseAfter is how long to wait after the n-th try (from 1) failed: full jitter that doubles, up to longest units.
func pauseAfter(n int64, longest float64, unit time.Duration) time.Duration {
	pause := min(rand.Float64()*math.Exp2(float64(min(n-1, 30))), longest)
	return time.Duration(pause * float64(unit))
}
