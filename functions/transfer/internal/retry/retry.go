// Package retry tries requests again by the policy that both languages agreed on
// (functions/agreed/retries.json): that of functions/common/retries.py.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
)

const (
	// Mode is the SDKs' word for this policy.
	Mode = "standard"
	// Attempts is the tries of one request, the first included.
	Attempts = 4
	// FirstPause is the most that the first pause takes, and each later one takes at most twice the
	// one before: 1, 2 and 4 s in all, so that a request that S3 always turns down ends well before
	// the function's timeout, with a record.
	FirstPause   = time.Second
	longestPause = 20 * time.Second
)

// Passing tells whether an answer with this HTTP status and S3 error code is worth another try, by
// the SDK's lists.
func Passing(status int, code string) bool {
	_, passes := retry.DefaultRetryableHTTPStatusCodes[status]
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	_, late := retry.DefaultRetryableErrorCodes[code]
	return passes || throttled || late
}

// Policy makes bounded tries of whatever failed in passing, with a random pause that doubles.
type Policy struct {
	FirstPause time.Duration
	// Patient tries what S3 throttles until it gets through.
	Patient bool
}

// DoOn calls once until it succeeds, fails for good, or has failed Attempts times; a failed try
// that brought on work, which goes on where it ended, is the first again. retried hears of every
// repetition.
func (p Policy) DoOn(ctx context.Context, retried func(), progressed func() bool,
	once func() error) error {
	pause := p.FirstPause
	for try := 1; ; try++ {
		err := once()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var failed *failure.Error
		if !errors.As(err, &failed) || !failed.Temporary {
			return err
		}
		if progressed() {
			try, pause = 1, p.FirstPause
		}
		if try >= Attempts && !(p.Patient && failed.Throttled) {
			return failure.New(failed.Type, "%s (after all retries)", failed.Message)
		}
		retried()
		if failed.Expired {
			continue
		}
		if err := deadline.Sleep(ctx, time.Duration(rand.Float64()*float64(pause))); err != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}
