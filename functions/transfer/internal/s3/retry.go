package s3

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"stampede/transfer/internal/failure"
)

// Timeouts, the same as in functions/common/s3_client.py, and tries, as in functions/common/retries.py.
const (
	// RetryMode is the SDKs' word for this policy.
	RetryMode = "standard"
	// Attempts is the tries of one request, the first included.
	Attempts       = 4
	connectTimeout = 5 * time.Second
	// ReadTimeout is the longest silence on a connection: below the 60 s of the function, and far above any pause seen while the network
	// allowance of a function is used up.
	ReadTimeout = 15 * time.Second
	// FirstPause is the most that the first pause takes, and each later one takes at most twice the one before: 1, 2 and 4 s in
	// all, so that a request that S3 turns down every time ends well below the function's timeout and becomes a record.
	FirstPause   = time.Second
	longestPause = 20 * time.Second
)

// The statuses and codes that botocore's standard mode tries again: functions/agreed/retries.json, for both languages.
var (
	passingStatuses = []int{500, 502, 503, 504}
	passingCodes    = []string{
		"BandwidthLimitExceeded", "EC2ThrottledException", "LimitExceededException", "PriorRequestNotComplete",
		"ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException",
		"RequestTimeout", "RequestTimeoutException", "SlowDown", "ThrottledException", "Throttling", "ThrottlingException",
		"TooManyRequestsException", "TransactionInProgressException",
	}
)

// Passing tells whether an answer with this HTTP status and S3 error code is worth another try.
func Passing(status int, code string) bool {
	return slices.Contains(passingStatuses, status) || slices.Contains(passingCodes, code)
}

// Retry makes bounded tries of whatever failed in passing, with a random pause that doubles.
type Retry struct {
	FirstPause time.Duration
	// Patient tries what S3 throttles until it gets through.
	Patient bool
}

// Do calls once until it succeeds, fails for good, or has failed Attempts times. retried hears of every repetition.
func (r Retry) Do(ctx context.Context, retried func(), once func() error) error {
	return r.DoOn(ctx, retried, func() bool { return false }, once)
}

// DoOn is Do for work that goes on where the last try ended: a failed try that brought it on is the first again.
func (r Retry) DoOn(ctx context.Context, retried func(), broughtOn func() bool, once func() error) error {
	pause := r.FirstPause
	for try := 1; ; try++ {
		err := once()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var known *failure.Error
		if !errors.As(err, &known) || !known.Temporary {
			return err
		}
		if broughtOn() {
			try, pause = 1, r.FirstPause
		}
		if try >= Attempts && !(r.Patient && known.Throttled) {
			return failure.New(known.Type, "%s (after all retries)", known.Message)
		}
		retried()
		select {
		case <-time.After(time.Duration(rand.Float64() * float64(pause))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}
