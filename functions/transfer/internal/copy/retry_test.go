package copy

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/agreed"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

func TestAnAnswerThatWasLostIsACopyOfOurOwnAndAnErrorAfterA200IsTriedAgain(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 100, 10)
	store.Lost, store.Halved, store.LateErrors, store.Conflicts, store.SlowDowns = 7, 4, 3, 2, 4
	record, failed := start(t).invoke(ordered(`"parallel_limit": 5`, `"retry_attempts": 11`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 100, "copied": 100, "already_there": 0, "failed": 0, "slowdowns": 4,
		"calls": float64(store.Copies.Load()), "requests": float64(store.Requests.Load())})
	if retries := record["retries"].(float64); retries < 9 || len(failed) > 0 {
		t.Error(retries, failed) // a lost answer on a used connection is asked for again without being a retry
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
	record, failed := start(t).invoke(ordered(`"parallel_limit": 2`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 5, "copied": 1, "already_there": 2, "failed": 2, "bytes": 10})
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
	record, failed := start(t).invoke(ordered(`"parallel_limit": 2`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 20, "copied": 18, "already_there": 0, "failed": 2})
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
		record, failed := start(t).invoke(ordered(`"parallel_limit": 30`, `"retry_mode": "`+mode+`"`, `"retry_attempts": 6`), time.Minute)
		expect(t, record, want)
		expect(t, record, map[string]any{"status": "ok", "retry_mode": mode, "retry_attempts": 6})
		if len(failed) != 30 || failed[0].Error_type != failure.SlowDown || !strings.Contains(failed[0].Error_message, "parallel_limit") {
			t.Error(mode, failed)
		}
	}
}

func TestTheQuotaGivesBackWhatARetryCostOrOneToken(t *testing.T) {
	q := newQuota(Standard)
	slow, silent := failure.Passing(failure.SlowDown, "503"), failure.Passing(failure.ReadTimeout, "")
	for range quotaTokens/retryCost - 2 {
		q.take(slow)
	}
	if cost, ok := q.take(silent); cost != timeoutCost || !ok || q.tokens != 0 {
		t.Error(cost, ok, q.tokens)
	}
	if _, ok := q.take(slow); ok {
		t.Error("a retry without tokens")
	}
	for _, gain := range []int64{0, retryCost, quotaTokens} {
		q.give(gain)
	}
	if tokens := q.tokens; tokens != quotaTokens {
		t.Error(tokens)
	}
	q.take(slow)
	q.give(0)
	if tokens := q.tokens; tokens != quotaTokens-retryCost+1 {
		t.Error(tokens)
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

func TestPausesDoubleFromASecondAndOnlyStandardModeEndsThat(t *testing.T) {
	longest := func(n int64, limit float64) (most time.Duration) {
		for range 2000 {
			most = max(most, pauseAfter(n, limit, time.Second))
		}
		return most.Round(time.Second)
	}
	for n, want := range map[int64]time.Duration{1: 1, 2: 2, 4: 8} {
		if got := longest(n, longestPause); got != want*time.Second {
			t.Errorf("after try %d: %v", n, got)
		}
	}
	if standard, legacy := longest(9, longestPause), longest(9, math.Inf(1)); standard != 20*time.Second || legacy < 250*time.Second || legacy > 256*time.Second {
		t.Error(standard, legacy)
	}
}

func TestTheAdaptivePaceFailsNothingWhateverTheLimit(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 800, 1)
	store.LimitPerS, store.Burst, store.Latency = 300, 30, 500*time.Millisecond // S3 copies slowly and refuses fast
	record, failed := start(t).invoke(ordered(`"parallel_limit": 200`, `"pace": "adaptive"`, `"retry_attempts": 1`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 800, "copied": 800, "failed": 0, "pace": "adaptive"})
	if rate := record["calls_per_s"].(float64); rate < 160 || rate > 330 || record["slowdowns"] == 0.0 || len(failed) > 0 {
		t.Error(rate, record["slowdowns"], failed)
	}
}

func TestTheAdaptivePaceFailsNothingWhereTheComparisonIsSlowedDown(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 2, 1)
	store.Put(to, "1.mp4", s3test.Stored{Body: s3test.Random(1)})
	refused := 0
	store.Refuse = func(r *http.Request, _, _, _ string) (int, string) {
		if r.Method == http.MethodHead && refused < 10 {
			refused++
			return 503, "SlowDown"
		}
		return 0, ""
	}
	record, failed := start(t).invoke(ordered(`"parallel_limit": 1`, `"pace": "adaptive"`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 2, "copied": 1, "already_there": 1, "failed": 0})
	if len(failed) > 0 {
		t.Error(failed)
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
	record, failed := start(t).invoke(ordered(`"parallel_limit": 2`, `"pace": "adaptive"`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 20, "copied": 9, "failed": 11})
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
		record, _ := start(t).invoke(ordered(`"parallel_limit": 2`, `"pace": "adaptive"`, `"empty_first": 1`), time.Minute)
		expect(t, record, map[string]any{"status": want})
		record, _ = start(t).invoke(ordered(`"parallel_limit": 2`, `"pace": "adaptive"`, `"manifest": "manifest/m/"`, `"first_slice": 0`, `"slices": 1`), time.Minute)
		expect(t, record, map[string]any{"status": want})
	}
}

func TestALostNetworkEndsTheWorkInsteadOfEachRow(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	rows := make([]string, 3000)
	for i := range rows {
		rows[i] = fmt.Sprintf("masters/1,copies/%d", i)
	}
	slice(store, 0, rows...)
	f := start(t)
	given := account.Given{EndpointURL: "http://127.0.0.1:9"}
	nowhere, err := openRoute(context.Background(), given, given, from, to, bucket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.route.copier = nowhere.copier
	record, _ := f.invoke(ordered(`"parallel_limit": 20`, `"manifest": "manifest/m/"`, `"first_slice": 0`, `"slices": 1`), time.Minute)
	expect(t, record, map[string]any{"status": "error", "error_type": "NoConnection", "planned": nil, "copied": 0})
	if failed := record["failed"].(float64); failed < mostUnanswered || failed > mostUnanswered+20 {
		t.Error(record)
	}
}

func TestARowGivenUpAfterALostAnswerIsLookedForAtItsDestination(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 50, 10)
	store.Lost = 20
	record, failed := start(t).invoke(ordered(`"parallel_limit": 5`, `"retry_attempts": 1`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "planned": 50, "copied": 50, "already_there": 0, "failed": 0})
	if len(failed) > 0 {
		t.Error(failed)
	}
}

func TestAMasterIsAskedForOnceAndNotByEveryCallAtATime(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	store.Put(from, "masters/1", s3test.Stored{})
	rows := make([]string, 300)
	for i := range rows {
		rows[i] = fmt.Sprintf("masters/1,%d", i)
		store.Put(to, fmt.Sprint(i), s3test.Stored{})
	}
	slice(store, 0, rows...)
	record, _ := start(t).invoke(ordered(`"parallel_limit": 100`, `"manifest": "manifest/m/"`, `"first_slice": 0`, `"slices": 1`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "already_there": 300})
	if asked := store.Requests.Load(); asked > 1+2*300+sourcesAtOnce {
		t.Errorf("%d requests", asked)
	}
}

func TestPlannedIsCountedByItself(t *testing.T) {
	seen := observe()
	seen.planned.Store(5)
	seen.copied.Store(3)
	if counts := seen.counts(true); counts[0].Value != int64(5) {
		t.Error("a row that nobody brought to an end would never be missed")
	}
}

func TestTheCapHoldsBack(t *testing.T) {
	for _, pace := range []string{"fixed", "adaptive"} {
		store := s3test.StartStore(t, from, to)
		fill(store, 100, 1)
		record, _ := start(t).invoke(ordered(`"parallel_limit": 50`, `"calls_per_s": 200`, `"pace": "`+pace+`"`), time.Minute)
		expect(t, record, map[string]any{"copied": 100, "calls_per_s_cap": 200})
		if rate := record["calls_per_s"].(float64); rate > 215 {
			t.Errorf("%s: %v a second", pace, rate)
		}
	}
}

func TestCallsInFlightAreNeverMoreThanTheLimit(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 300, 1)
	var limit = 7
	inFlight := make(chan struct{}, limit)
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		if source != "" {
			select {
			case inFlight <- struct{}{}:
			default:
				t.Error("more calls at once than allowed")
				return 0, ""
			}
			time.Sleep(time.Millisecond)
			<-inFlight
		}
		return 0, ""
	}
	record, _ := start(t).invoke(ordered(fmt.Sprintf(`"parallel_limit": %d`, limit)), time.Minute)
	expect(t, record, map[string]any{"copied": 300})
}

func TestCredentialsThatExpiredForGoodEndTheWorkSoThatTheMessageComesBack(t *testing.T) {
	store := s3test.StartStore(t, from, to)
	fill(store, 50, 1)
	store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
		if source != "" && store.Copies.Load() > 20 {
			return 400, "ExpiredToken"
		}
		return 0, ""
	}
	record, failed := start(t).invoke(ordered(`"parallel_limit": 3`), time.Minute)
	expect(t, record, map[string]any{"status": "error", "error_type": "NoCredentials", "copied": 20, "failed": 0, "planned": nil})
	if len(failed) > 0 {
		t.Error(failed)
	}
}

// renewing is a source of credentials that are other ones each time.
type renewing struct{ retrieved atomic.Int64 }

func (r *renewing) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test", SessionToken: fmt.Sprint(r.retrieved.Add(1))}, nil
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
	record, _ := f.invoke(ordered(`"parallel_limit": 400`, `"retry_attempts": 1`), time.Minute)
	expect(t, record, map[string]any{"status": "ok", "copied": 400, "failed": 0})
}

func TestWhatEveryRowWouldMeetEndsTheWorkSoThatTheMessageComesBack(t *testing.T) {
	for code, want := range map[string]struct {
		status     int
		kind, says string
	}{
		"InvalidAccessKeyId":           {403, "NoCredentials", "check access key"},
		"SignatureDoesNotMatch":        {403, "NoCredentials", "check access key"},
		"RequestTimeTooSkewed":         {403, "SettingsError", "set the clock"},
		"PermanentRedirect":            {301, "SettingsError", "AWS_REGION"},
		"AuthorizationHeaderMalformed": {400, "SettingsError", "AWS_REGION"},
	} {
		store := s3test.StartStore(t, from, to)
		fill(store, 30, 1)
		store.Refuse = func(_ *http.Request, _, _, source string) (int, string) {
			if source != "" {
				return want.status, code
			}
			return 0, ""
		}
		record, failed := start(t).invoke(ordered(`"parallel_limit": 2`), time.Minute)
		expect(t, record, map[string]any{"status": "error", "error_type": want.kind, "planned": nil, "copied": 0})
		if message, _ := record["error_message"].(string); len(failed) > 0 || !strings.Contains(message, want.says) || store.Copies.Load() > 4 {
			t.Errorf("%s: %s, %d failed, %d requests", code, message, len(failed), store.Copies.Load())
		}
	}
}

func TestATrajectoryHasAPointASecondAndAtMost600(t *testing.T) {
	seen, track := observe(), &trajectory{width: 1}
	for step := 1; step <= 100; step++ { // 5 s, looked at 20 times a second
		seen.copied.Add(10)
		seen.inFlight.Store(4)
		seen.slowDowns.Store(int64(step / 20))
		track.look(float64(step)*0.05, seen)
	}
	seen.copied.Add(50)
	track.end(5.5, seen)
	if got := track.text(); got != "1:200:4:1 2:200:4:1 3:200:4:1 4:200:4:1 5:200:4:1 6:100:0:0" {
		t.Error(got)
	}
	for step := 6; step < 5000; step++ {
		seen.copied.Add(100)
		track.look(float64(step), seen)
	}
	points := strings.Fields(track.text())
	if len(points) > mostPoints || len(points) < mostPoints/2 || !strings.Contains(points[len(points)-1], ":100:4:0") {
		t.Errorf("%d points, the last %s", len(points), points[len(points)-1])
	}
}
