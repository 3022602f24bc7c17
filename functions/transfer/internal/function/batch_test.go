package function

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"stampede/transfer/internal/s3test"
)

// batchOf is an event with the messages message-0, message-1 and so on.
func batchOf(bodies []any, orders ...string) string {
	var records []any
	for at, order := range orders {
		var event struct{ Records []map[string]any }
		_ = json.Unmarshal([]byte(message(order, bodies[min(at, len(bodies)-1)])), &event)
		event.Records[0]["messageId"] = fmt.Sprint("message-", at)
		event.Records[0]["receiptHandle"] = fmt.Sprint("handle-", at)
		records = append(records, event.Records[0])
	}
	event, _ := json.Marshal(map[string]any{"Records": records})
	return string(event)
}

// Each message of a batch has a record with its own failure. All records have the batch's times,
// which begin at the latest start_at_ms.
func TestABatchLeavesARecordOfEachMessageWithItsOwnFailure(t *testing.T) {
	latest := time.Now().Add(400 * time.Millisecond).UnixMilli()
	orders := []string{
		fmt.Sprintf(`{"run_id": "r", "cell": "c", "seq": 0, "start_at_ms": %d}`, latest-300),
		fmt.Sprintf(`{"run_id": "r", "cell": "c", "seq": 1, "start_at_ms": %d}`, latest),
		`{"run_id": "r", "cell": "c", "seq": 2, "warm_up": 1}`,
	}
	failing := func(first, second string) task {
		return task{SleepMs: 30, Reply: fmt.Sprintf(`{"batchItemFailures": [`+
			`{"itemIdentifier": %q}, {"itemIdentifier": %q}]}`, first, second)}
	}
	for name, try := range map[string]struct {
		task   task
		order  string // of the last message
		failed map[int]string
	}{
		"two fail": {task: failing("message-0", "message-2"),
			failed: map[int]string{0: "PartialFailure", 2: "PartialFailure"}},
		"a stranger fails": {task: failing("message-1", "message-9"),
			failed: map[int]string{0: "PartialFailure", 1: "PartialFailure", 2: "PartialFailure"}},
		"one isn't read": {order: `{"seq": 2}`,
			failed: map[int]string{0: "WorkOrderError", 1: "WorkOrderError", 2: "WorkOrderError"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, given := start(t, timeout, "STAMPEDE_BATCH_SIZE=10"), append([]string{}, orders...)
			if try.order != "" {
				given[2] = try.order
			}
			l.send(batchOf([]any{try.task}, given...))
			asked := map[string]bool{}
			for range try.failed {
				asked[within(t, l.asked)["ReceiptHandle"].(string)] = true
			}
			records, _ := l.end()
			started := int64(records[0]["started_at_ms"].(float64))
			if len(records) != 3 || len(l.asked) > 0 || try.order == "" && started < latest {
				t.Fatal(records, len(l.asked))
			}
			failed, wanted := map[int]string{}, map[string]bool{}
			for at, record := range records {
				if kind, isError := record["error_type"].(string); isError {
					failed[at], wanted[fmt.Sprint("handle-", at)] = kind, true
				}
				s3test.Expect(t, record, map[string]any{"batch": 3, "batch_index": at,
					"batch_size": 10, "message_id": fmt.Sprint("message-", at),
					"request_id": "request-1", "started_at_ms": records[0]["started_at_ms"],
					"finished_at_ms": records[0]["finished_at_ms"]})
			}
			if !maps.Equal(failed, try.failed) || !maps.Equal(asked, wanted) {
				t.Error(failed, asked)
			}
		})
	}
}
