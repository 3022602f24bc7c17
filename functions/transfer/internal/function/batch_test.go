package function

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"
)

// batchOf is an event with several messages, message-0 to message-n.
func batchOf(bodies []any, orders ...string) string {
	var records []any
	for at, order := range orders {
		var event struct{ Records []map[string]any }
		_ = json.Unmarshal([]byte(message(order, bodies[min(at, len(bodies)-1)])), &event)
		event.Records[0]["messageId"], event.Records[0]["receiptHandle"] = fmt.Sprint("message-",
			at), fmt.Sprint("handle-", at)
		records = append(records, event.Records[0])
	}
	event, _ := json.Marshal(map[string]any{"Records": records})
	return string(event)
}

// Each message of a batch has a record with the batch's times, from the latest start that one of
// them names, and a failure of its own.
func TestABatchLeavesARecordOfEachMessageAndFailuresGoToTheirOwn(t *testing.T) {
	latest := time.Now().Add(400 * time.Millisecond).UnixMilli()
	orders := []string{
		fmt.Sprintf(`{"run_id": "r", "cell": "c", "seq": 0, "start_at_ms": %d}`, latest-300),
		fmt.Sprintf(`{"run_id": "r", "cell": "c", "seq": 1, "start_at_ms": %d}`, latest),
		`{"run_id": "r", "cell": "c", "seq": 2, "warm_up": 1}`,
	}
	named := func(ids string) task {
		return task{SleepMs: 30, Reply: `{"batchItemFailures": [` +
			ids + `]}`}
	}
	for name, try := range map[string]struct {
		task   task
		order  string // of the last message
		failed map[int]string
	}{
		"two fail":         {task: named(`{"itemIdentifier": "message-0"}, {"itemIdentifier": "message-2"}`), failed: map[int]string{0: "PartialFailure", 2: "PartialFailure"}},
		"a stranger fails": {task: named(`{"itemIdentifier": "message-1"}, {"itemIdentifier": "message-9"}`), failed: map[int]string{0: "PartialFailure", 1: "PartialFailure", 2: "PartialFailure"}},
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
				if record["batch"] != 3.0 || record["batch_index"] != float64(at) ||
					record["batch_size"] != 10.0 || record["message_id"] != fmt.Sprint("message-",
					at) || record["request_id"] != "request-1" ||
					record["started_at_ms"] != records[0]["started_at_ms"] ||
					record["finished_at_ms"] != records[0]["finished_at_ms"] {
					t.Error(record)
				}
			}
			if !maps.Equal(failed, try.failed) || !maps.Equal(asked, wanted) {
				t.Error(failed, asked)
			}
		})
	}
}
