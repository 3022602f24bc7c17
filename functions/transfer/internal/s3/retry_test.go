package s3

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
)

func TestTriesAreBoundedAndOnlyForWhatPasses(t *testing.T) {
	for _, c := range []struct {
		err   error
		tries int
	}{
		{failure.Passing(failure.SlowDown, "503"), Attempts},
		{failure.New(failure.AccessDenied, "403"), 1},
		{errors.New("a defect"), 1},
		{nil, 1},
	} {
		tries, retries := 0, 0
		err := Retry{time.Microsecond}.Do(context.Background(), func() { retries++ }, func() error { tries++; return c.err })
		if tries != c.tries || retries != tries-1 || (err == nil) != (c.err == nil) {
			t.Errorf("%v: %d tries, %d retries, %v", c.err, tries, retries, err)
		}
		if tries == Attempts && !strings.HasSuffix(err.Error(), "(after all retries)") {
			t.Error(err)
		}
	}
}

func TestAStopEndsThePauseAndIsTheReason(t *testing.T) {
	stopped := failure.New(failure.DeadlineExceeded, "stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
	began := time.Now()
	err := Retry{time.Hour}.Do(ctx, func() {}, func() error { return failure.Passing(failure.SlowDown, "503") })
	if !errors.Is(err, stopped) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
