package copy

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/failure"
)

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
type quota struct{ tokens atomic.Int64 }

func newQuota(mode string) *quota {
	if mode == Legacy {
		return nil
	}
	q := &quota{}
	q.tokens.Store(quotaTokens)
	return q
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
	if q.tokens.Add(-cost) >= 0 {
		return cost, true
	}
	q.tokens.Add(cost)
	return 0, false
}

// give returns what a call that succeeded paid for its last retry; 0: it had none.
func (q *quota) give(cost int64) {
	if q == nil {
		return
	}
	if cost == 0 {
		cost = unretriedGain
	}
	for {
		had := q.tokens.Load()
		if had >= quotaTokens || q.tokens.CompareAndSwap(had, min(quotaTokens, had+cost)) {
			return
		}
	}
}

// pauseAfter is how long to wait after the n-th try (from 1) failed: full jitter that doubles, up to longest (seconds; 0: no
// limit). unit is a second, but in tests.
func pauseAfter(n int64, longest float64, unit time.Duration) time.Duration {
	pause := rand.Float64() * math.Pow(2, float64(min(n-1, 30)))
	if longest > 0 {
		pause = min(pause, longest)
	}
	return time.Duration(pause * float64(unit))
}

// passing returns the failure when the same call may succeed later.
func passing(err error) (*failure.Error, bool) {
	var known *failure.Error
	ok := errors.As(err, &known) && known.Temporary
	return known, ok
}
