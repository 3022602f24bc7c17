package copy

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/agreed"
)

func TestAnAnswerThatWasLostIsACopyOfOurOwnAndAnErrorAfterA200IsTriedAgain(t *testing.T) {
	for attempts := range 2 { // a row that is given up is looked for at its destination
		store := s3test.StartStore(t, from, to)
		fill(store, 100, 10)
		if store.Lost = 20; attempts > 0 {
			store.Halved, store.LateErrors, store.Conflicts, store.SlowDowns = 4, 3, 2, 4
		}
		record, failed := start(t).invoke(ordered(5, fmt.Sprintf(`"retry_attempts": %d`, 1+10*attempts)))
		s3test.Expect(t, record, map[string]any{"status": "ok", "planned": 100, "copied": 100, "already_there": 0, "failed": 0,
			"calls": float64(store.Copies.Load()), "requests": float64(store.Requests.Load())})
		if len(failed) > 0 {
			t.Error(failed)
		}
	}
}

func TestTheSameObjectIsKnownByETagOrByChecksumAndAnotherOneIsLeftAlone(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 5, 10)
	same := s3test.Random(10)
	store.Put(to, "1.mp4", s3test.Stored{Body: same})
	store.Put(to, "2.mp4", s3test.Stored{Body: same, ETag: `"another"`})
	store.Put(to, "3.mp4", s3test.Stored{Body: same[:9]})
	store.Put(to, "4.mp4", s3test.Stored{Body: same, ETag: `"another"`, Checksum: "another"})
	record, failed := start(t).invoke(ordered(2))
	s3test.Expect(t, record, map[string]any{"status": "ok", "planned": 5, "copied": 1, "already_there": 2, "failed": 2, "bytes": 10})
	for _, one := range failed {
		if one.Error_type != failure.ObjectDiffers || one.Source != "source/3.mp4" && one.Source != "source/4.mp4" || one.Slice != nil || one.Line != nil {
			t.Error(one)
		}
	}
	if len(failed) != 2 {
		t.Error(failed)
	}
}

func TestWhatS3CantCompareIsOurOwnCopyOrSaysSo(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	for i := range 20 {
		store.Put(from, fmt.Sprintf("source/%d", i), s3test.Stored{Body: s3test.Random(10), ETag: `"0123-2"`, NoChecksum: true})
	}
	store.Lost = 5 // copies made without an answer
	before := s3test.Stored{Body: s3test.Random(10), NoChecksum: true, Modified: time.Now().Add(-time.Minute)}
	store.Put(to, "0", before)
	before.Body = before.Body[:9]
	store.Put(to, "1", before)
	record, failed := start(t).invoke(ordered(2))
	s3test.Expect(t, record, map[string]any{"status": "ok", "planned": 20, "copied": 18, "already_there": 0, "failed": 2})
	slices.SortFunc(failed, func(a, b failedObject) int { return strings.Compare(a.Source, b.Source) })
	if len(failed) != 2 || failed[0].Error_type != failure.ObjectNotComparable || failed[1].Error_type != failure.ObjectDiffers ||
		!strings.Contains(failed[0].Error_message, "can't be compared") {
		t.Error(failed)
	}
}

func TestStandardModeStopsTryingWhenItsQuotaIsUsedUpAndLegacyModeDoesNot(t *testing.T) {
	for mode, want := range map[string]map[string]any{
		"standard": {"failed": 30, "retries": 100, "calls": 130, "slowdowns": 130},
		"legacy":   {"failed": 30, "retries": 30 * 5, "calls": 30 * 6, "slowdowns": 30 * 6},
	} {
		store := s3test.StartStore(t, from, to)
		fill(store, 30, 1)
		store.SlowDowns = 1 << 30
		record, failed := start(t).invoke(ordered(30, `"retry_mode": "`+mode+`"`, `"retry_attempts": 6`))
		s3test.Expect(t, record, want)
		s3test.Expect(t, record, map[string]any{"status": "ok", "retry_mode": mode, "retry_attempts": 6})
		if len(failed) != 30 || failed[0].Error_type != failure.SlowDown || !strings.Contains(failed[0].Error_message, "parallel_limit") {
			t.Error(mode, failed)
		}
	}
}

func TestTheQuotaIsTheOneThatBothLanguagesAgreedOn(t *testing.T) {
	var rules struct {
		Ours     string                    `json:"ours"`
		Standard map[string]map[string]any `json:"standard"`
	}
	agreed.Read(t, "retries.json", &rules)
	for name, want := range map[string]float64{"tokens": quotaTokens, "retry_cost": retryCost, "throttle_cost": retryCost,
		"timeout_cost": timeoutCost, "success_gain": unretriedGain, "longest_pause_s": longestPause} {
		if got := rules.Standard[rules.Ours][name]; got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
}

func TestTheAdaptivePaceFailsNothingWhateverTheLimit(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 250, 1)
	store.Put(to, "1.mp4", s3test.Stored{Body: s3test.Random(1)})
	store.LimitPerS, store.Burst, store.Latency = 300, 30, 500*time.Millisecond // S3 copies slowly and refuses fast
	var compared atomic.Int64
	store.Refuse = func(r *http.Request, _, _, _ string) (int, string) {
		if r.Method == http.MethodHead && compared.Add(1) <= 10 {
			return 503, "SlowDown"
		}
		return 0, ""
	}
	record, failed := start(t).invoke(ordered(200, `"pace": "adaptive"`, `"retry_attempts": 1`))
	s3test.Expect(t, record, map[string]any{"status": "ok", "planned": 250, "copied": 249, "already_there": 1, "failed": 0, "pace": "adaptive"})
	if rate := record["calls_per_s"].(float64); rate < 100 || rate > 330 || record["slowdowns"] == 0.0 || len(failed) > 0 {
		t.Error(rate, record["slowdowns"], failed)
	}
}

func TestAClientThatIgnoresSlowDownIsSaidOnce(t *testing.T) {
	var notices strings.Builder
	seen, ended := observe(), make(chan struct{})
	rate := newAdaptive(0)
	rate.rate, rate.crowded = 5, crowdedSpans
	j := &job{seen: seen, failures: newFailures(io.Discard, "r", "c", 0, 1, 0), notices: &notices, pacer: &pacer{began: seen.began, rate: rate}}
	time.AfterFunc(5*look, func() { close(ended) })
	j.watch(func(error) {}, ended)
	if said := notices.String(); !strings.Contains(said, "makes only 5 a second: another client") || strings.Count(said, "\n") != 1 {
		t.Errorf("%q", said)
	}
}

func TestTheAdaptivePaceGivesUpARowThatNeverGetsThroughWhileOthersDo(t *testing.T) {
	usual := longestSlowed
	longestSlowed = 10 * time.Millisecond
	defer func() { longestSlowed = usual }()
	store := s3test.StartStore(t, from, to)
	fill(store, 20, 1)
	store.Refuse = func(_ *http.Request, _, key, source string) (int, string) {
		if source != "" && strings.HasPrefix(key, "1") {
			return 503, map[bool]string{true: "SlowDown", false: "ServiceUnavailable"}[key == "1.mp4"]
		}
		return 0, ""
	}
	record, failed := start(t).invoke(ordered(2, `"pace": "adaptive"`))
	s3test.Expect(t, record, map[string]any{"status": "ok", "planned": 20, "copied": 9, "failed": 11})
	for _, one := range failed {
		if slowed := one.Source == "source/1.mp4"; slowed != (one.Error_type == failure.SlowDown) || !slowed && one.Error_type != failure.S3 {
			t.Error(one)
		}
	}
}

func TestListingAndSlicesAreAsPatientWithSlowDownAsCopies(t *testing.T) {
	for _, code := range []string{"SlowDown", "ServiceUnavailable"} {
		store := s3test.StartStore(t, from, to)
		fill(store, 3, 1)
		store.Put(to, "old", s3test.Stored{})
		slice(store, 0, "source/1.mp4,a")
		refused := map[string]int{}
		store.Refuse = func(r *http.Request, bucket, key, source string) (int, string) {
			if refused[bucket+key]++; source == "" && r.Method == http.MethodGet && refused[bucket+key] < 6 {
				return 503, code
			}
			return 0, ""
		}
		want := map[bool]any{true: "ok", false: "error"}[code == "SlowDown"]
		record, _ := start(t).invoke(ordered(2, `"pace": "adaptive"`, `"empty_first": 1`))
		s3test.Expect(t, record, map[string]any{"status": want})
		record, _ = start(t).invoke(ordered(2, `"pace": "adaptive"`, ofSlices(0, 1)))
		s3test.Expect(t, record, map[string]any{"status": want})
	}
}

func TestALostNetworkEndsTheWorkInsteadOfEachRow(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	slice(store, 0, many(3000, "masters/1")...)
	f := start(t)
	f.route.copier = askingAt(t, "http://127.0.0.1:9")
	f.route.copier.to.Retry.FirstPause = time.Millisecond
	record, _ := f.invoke(ordered(20, ofSlices(0, 1)))
	s3test.Expect(t, record, map[string]any{"status": "error", "error_type": "NoConnection", "planned": nil, "copied": 0})
	if failed := record["failed"].(float64); failed < mostUnanswered || failed > mostUnanswered+20 {
		t.Error(record)
	}
}

func TestAMasterIsAskedForOnce(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	store.Put(from, "masters/1", s3test.Stored{})
	for i := range 300 {
		store.Put(to, fmt.Sprint("copies/", i), s3test.Stored{})
	}
	slice(store, 0, many(300, "masters/1")...)
	record, _ := start(t).invoke(ordered(10, ofSlices(0, 1)))
	s3test.Expect(t, record, map[string]any{"status": "ok", "already_there": 300})
	if asked := store.Requests.Load(); asked > 300+2*10+10 {
		t.Errorf("%d requests", asked)
	}
}

func TestTheCapHoldsBack(t *testing.T) {
	for _, pace := range []string{"fixed", "adaptive"} {
		store := s3test.StartStore(t, from, to)
		fill(store, 60, 1)
		record, _ := start(t).invoke(ordered(50, `"calls_per_s": 200`, `"pace": "`+pace+`"`))
		if s3test.Expect(t, record, map[string]any{"copied": 60, "calls_per_s_cap": 200}); record["calls_per_s"].(float64) > 225 {
			t.Error(pace, record["calls_per_s"])
		}
	}
}

func TestCallsInFlightAreNeverMoreThanTheLimit(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 300, 1)
	var inFlight, most atomic.Int64
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		if source != "" {
			most.Store(max(most.Load(), inFlight.Add(1)))
			time.Sleep(time.Millisecond)
			inFlight.Add(-1)
		}
		return 0, ""
	}
	record, _ := start(t).invoke(ordered(7))
	if s3test.Expect(t, record, map[string]any{"copied": 300}); most.Load() > 7 {
		t.Error(most.Load())
	}
}

func TestCredentialsThatExpireUnderManyCallsCostNoRetryOfTheQuota(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 400, 1)
	store.Refuse = func(r *http.Request, _, _, source string) (int, string) {
		if source != "" && r.Header.Get("X-Amz-Security-Token") == "1" {
			time.Sleep(50 * time.Millisecond) // until all are in flight
			return 400, "ExpiredToken"
		}
		return 0, ""
	}
	f := start(t)
	f.route.to.Credentials = aws.NewCredentialsCache(&renewing{})
	record, _ := f.invoke(ordered(400, `"retry_attempts": 1`))
	s3test.Expect(t, record, map[string]any{"status": "ok", "copied": 400, "failed": 0})
}

func TestWhatEveryRowWouldMeetEndsTheWorkSoThatTheMessageComesBack(t *testing.T) {
	for code, want := range map[string]struct {
		status     int
		kind, says string
	}{
		"InvalidAccessKeyId": {403, "NoCredentials", "check access key"}, "ExpiredToken": {400, "NoCredentials", "expired"},
		"RequestTimeTooSkewed": {403, "SettingsError", "the clock"}, "PermanentRedirect": {301, "SettingsError", "AWS_REGION"},
		"AuthorizationHeaderMalformed": {400, "SettingsError", "AWS_REGION"}, "NoSuchBucket": {404, "NoSuchBucket", "both buckets"},
	} {
		store := s3test.StartStore(t, from, to)
		fill(store, 50, 1)
		store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
			if source != "" && store.Copies.Load() > 20 {
				return want.status, code
			}
			return 0, ""
		}
		record, failed := start(t).invoke(ordered(2, `"retry_attempts": 1`))
		s3test.Expect(t, record, map[string]any{"status": "error", "error_type": want.kind, "error_message": want.says, "planned": nil, "copied": 20})
		if len(failed) > 0 || store.Copies.Load() > 25 {
			t.Errorf("%s: %d failed, %d requests", code, len(failed), store.Copies.Load())
		}
	}
}

func TestATrajectoryHasAPointASecondAndAtMost600(t *testing.T) {
	track, now := &trajectory{width: 1}, point{inFlight: 4, looks: 1}
	for step := 1; step <= 100; step++ { // 5 s, looked at 20 times a second
		now.seconds, now.copied, now.slowDowns = float64(step)*0.05, now.copied+10, int64(step/20)
		track.look(now, false)
	}
	now.seconds, now.copied, now.inFlight = 5.5, now.copied+50, 0
	track.look(now, true)
	if got := track.text(); got != "1:200:4:1 2:200:4:1 3:200:4:1 4:200:4:1 5:200:4:1 6:100:0:0" {
		t.Error(got)
	}
	now.inFlight = 4
	for step := 6; step < 5000; step++ {
		now.seconds, now.copied = float64(step), now.copied+100
		track.look(now, false)
	}
	points := strings.Fields(track.text())
	if len(points) > mostPoints || len(points) < mostPoints/2 || strings.HasPrefix(points[1], "2:") || !strings.Contains(points[len(points)-1], ":100:4:0") {
		t.Errorf("%d points, the last %s", len(points), points[len(points)-1])
	}
}
