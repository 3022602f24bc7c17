package retry

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"stampede/transfer/internal/s3test/agreed"
)

func TestTheRulesOfRetriesAreThoseThatBothLanguagesAgreedOn(t *testing.T) {
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
	codes := len(retry.DefaultThrottleErrorCodes) + len(retry.DefaultRetryableErrorCodes)
	if rules.Mode != Mode || rules.Attempts != Attempts || len(rules.Codes) != codes ||
		pauses.FirstPauseS != FirstPause.Seconds() ||
		pauses.LongestPauseS != longestPause.Seconds() {
		t.Error(rules)
	}
	for status := 100; status < 600; status++ {
		if Passing(status, "AccessDenied") != slices.Contains(rules.Statuses, status) {
			t.Error(status)
		}
	}
	for _, code := range rules.Codes {
		if !Passing(400, code) {
			t.Error(code)
		}
	}
}
