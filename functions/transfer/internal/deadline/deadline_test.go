package deadline

import (
	"context"
	"strings"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test/agreed"
)

func word(err error) string { kind, _ := failure.Describe(err); return kind }

func TestWorkThatDoesNotStopIsLeftBehindAndTheNextIsRefusedUntilItEnds(t *testing.T) {
	r, soon := Runner{Operation: "copy"}, time.Now().Add(time.Minute)
	release, ended := make(chan bool), make(chan bool)
	err := r.Run(context.Background(), time.Now(), func() int64 { return 7 },
		func(context.Context) error {
			defer time.AfterFunc(10*time.Millisecond, func() { close(ended) })
			<-release
			return nil
		})
	kind, said := failure.Describe(err)
	if kind != failure.DeadlineExceeded ||
		!strings.Contains(said, "with 7 bytes: raise timeout_s") {
		t.Error(err)
	}
	if err := r.Await(t.Context(), nil, soon); word(err) != failure.PreviousDownloadRunning {
		t.Error(err)
	}
	close(release)
	<-ended
	if err := r.Await(t.Context(), nil, soon); err != nil {
		t.Error(err)
	}
	if err := r.Await(t.Context(), nil, time.Now()); word(err) != failure.DeadlineExceeded {
		t.Error(err)
	}
}

func TestAWaitForTheCommonStartEndsWhenTheProcessIsToldToStop(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	stop(failure.New(failure.DeadlineExceeded, "the host was stopped"))
	inAMinute := time.Now().Add(time.Minute).UnixMilli()
	err := WaitUntil(ctx, &inAMinute, time.Now().Add(time.Hour))
	if word(err) != failure.DeadlineExceeded {
		t.Error(err)
	}
}

func TestADefectIsAResultAndNotTheEndOfTheProcess(t *testing.T) {
	r := Runner{Operation: "copy"}
	err := r.Run(context.Background(), time.Now().Add(time.Minute), nil,
		func(context.Context) error { panic("oh") })
	if err == nil || err.Error() != "a defect in the copy: oh" || word(err) != failure.Unexpected {
		t.Error(err)
	}
}

func TestTheMarginIsTheOneThatBothLanguagesAgreedOn(t *testing.T) {
	timeouts := map[string]time.Duration{"deadline_margin_s": Margin, "deadline_grace_s": grace}
	agreed.Timeouts(t, timeouts)
}
