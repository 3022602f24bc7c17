package s3

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"stampede/transfer/internal/failure"
)

// Timeouts and tries, the same as in functions/download/s3_client.py.
const (
	// Attempts is the tries of one request, the first included.
	Attempts       = 4
	connectTimeout = 5 * time.Second
	// The longest silence on a connection: below the 60 s of the function, and far above any pause seen while the network
	// allowance of a function is used up.
	readTimeout = 15 * time.Second
	// The first pause is at most this long, and each later one at most twice the one before: 1, 2 and 4 s in all, so that
	// a request that S3 turns down every time ends well below the function's timeout and becomes a record.
	firstPause = time.Second
)

// Retry is the retry policy of this program, the one place for it: bounded tries of whatever failed in passing, with a
// random pause that doubles ("standard mode" of the SDKs).
type Retry struct {
	FirstPause time.Duration
}

// Do calls once until it succeeds, fails for good, or has failed Attempts times. retried hears of every repetition.
func (r Retry) Do(ctx context.Context, retried func(), once func() error) error {
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
		if try == Attempts {
			return failure.New(known.Type, "%s (after all retries)", known.Message)
		}
		retried()
		select {
		case <-time.After(time.Duration(rand.Float64() * float64(pause))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause *= 2
	}
}
