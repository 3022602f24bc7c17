package retry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test/agreed"
)

func TestWhatIsTriedAgainIsWhatBothLanguagesAgreedOn(t *testing.T) {
	var rules struct {
		Mode, Ours string
		Attempts   int
		Statuses   []int
		Codes      []string
		Standard   map[string]struct {
			FirstPauseS   float64 `json:"first_pause_s"`
			LongestPauseS float64 `json:"longest_pause_s"`
		}
	}
	agreed.Read(t, "retries.json", &rules)
	pauses := rules.Standard[rules.Ours]
	if rules.Mode != Mode || rules.Attempts != Attempts || pauses.FirstPauseS != FirstPause.Seconds() || pauses.LongestPauseS != longestPause.Seconds() ||
		len(rules.Codes) != len(retry.DefaultThrottleErrorCodes)+len(retry.DefaultRetryableErrorCodes) {
		t.Errorf("%+v isn't what this program does", rules)
	}
	for status := 100; status < 600; status++ {
		if Passing(status, "AccessDenied") != slices.Contains(rules.Statuses, status) {
			t.Errorf("%d is tried again or not, other than agreed", status)
		}
	}
	if place := slices.IndexFunc(rules.Codes, func(code string) bool { return !Passing(400, code) }); place >= 0 {
		t.Errorf("%s isn't tried again", rules.Codes[place])
	}
}

func TestAStopEndsThePauseAndIsTheReason(t *testing.T) {
	stopped := failure.New(failure.DeadlineExceeded, "stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
	began := time.Now()
	err := Policy{FirstPause: time.Hour}.DoOn(ctx, func() {}, func() bool { return false }, func() error { return failure.Passing(failure.SlowDown, "503") })
	if !errors.Is(err, stopped) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
