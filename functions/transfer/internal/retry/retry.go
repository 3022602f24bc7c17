// Package retry retries requests by the policy of both languages (functions/agreed/retries.json).
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
	// Attempts counts the attempts at one request, the first included.
	Attempts = 4
	// FirstPause is the longest first pause. It doubles each time, to 1, 2 and 4 s, so that a
	// request that S3 always refuses ends well before the function's timeout and becomes a record.
	FirstPause   = time.Second
	longestPause = 20 * time.Second
)

// Passing reports whether the SDK's lists retry an answer with this HTTP status and S3 error code.
func Passing(status int, code string) bool {
	_, passes := retry.DefaultRetryableHTTPStatusCodes[status]
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	_, late := retry.DefaultRetryableErrorCodes[code]
	return passes || throttled || late
}

// Policy retries temporary failures, after a random pause whose limit doubles.
type Policy struct {
	FirstPause time.Duration
	Patient    bool // retry what S3 throttles without a limit
}

// DoOn calls once until it succeeds, fails for good, or has failed Attempts times. A failed attempt
// that made progress counts as the first again. retried is called before every retry.
func (p Policy) DoOn(
	ctx context.Context, retried func(), progressed func() bool, once func() error,
) error {
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
