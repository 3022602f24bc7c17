package copy

import (
	"strings"

	"stampede/transfer/internal/workorder"
)

// order is one copy to do. WarmUp 1 marks a copy that no figure counts.
type order struct {
	workorder.Order
	Policy
	WarmUp     int64
	Manifest   string // key prefix of the slices; "" for the listing mode
	FirstSlice int64
	Slices     int64
	EmptyFirst bool
}

// parse reads the body of a message. Errors are of the type WorkOrder.
func parse(body string) (*order, error) {
	r, common := workorder.Open(body, "parallel_limit", "retry_mode", "retry_attempts", "pace",
		"calls_per_s", "manifest", "first_slice", "slices", "empty_first", "warm_up")
	attempts := int64(defaultAttempts)
	parsed := &order{Order: common, WarmUp: r.Flag("warm_up"),
		EmptyFirst: r.Flag("empty_first") == 1}
	parsed.Parallel = r.Between("parallel_limit", nil, 1, LargestParallel)
	parsed.Attempts = r.Between("retry_attempts", &attempts, 1, largestAttempts)
	parsed.RetryMode = r.Word("retry_mode", Standard, Standard, Legacy)
	parsed.Pace = r.Word("pace", Fixed, Fixed, Adaptive)
	parsed.CallsPerS = r.Between("calls_per_s", new(int64), 1, largestCallsPerS)
	parsed.Manifest = r.Text("manifest", `a key prefix that ends in "/"`, func(text string) bool {
		return len(text) > 1 && strings.HasSuffix(text, "/")
	})
	if parsed.Manifest != "" {
		parsed.FirstSlice = r.Between("first_slice", nil, 0, largestSlice)
		parsed.Slices = r.Between("slices", nil, 0, largestSlice)
	} else {
		r.Only("first_slice", "manifest")
		r.Only("slices", "manifest")
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return parsed, nil
}
