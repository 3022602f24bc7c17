package function

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// invocation is a message on its way through the program.
type invocation struct {
	record.Delivery
	payload    *int64 // the number of the body among those of the run
	warmUp     *int64 // 1 marks a message that no figure counts
	deadline   time.Time
	started    time.Time
	startedCPU float64
	timer      *time.Timer
}

// readOrder takes the work order out of the message's attribute: the body is the program's. A message that somebody else sent
// has none.
func (i *invocation) readOrder() error {
	if i.Message.Order == "" {
		return nil
	}
	r, order := workorder.Open(i.Message.Order, "warm_up", "payload")
	warmUp, payload := r.Flag("warm_up"), r.Between("payload", new(int64), 0, workorder.LargestInteger)
	if r.Err == nil {
		i.Order, i.warmUp, i.payload = &order, &warmUp, &payload
	}
	return r.Err
}

// begin starts the clock of an event, and says whether the program may have it: one that can't be measured is recorded and
// refused here, one that isn't a message of SQS goes to the program without a record.
func (p *proxy) begin(ctx context.Context, answer *http.Response, event []byte) bool {
	if answer.StatusCode != http.StatusOK {
		return true
	}
	messages, err := sqsevent.Read(event)
	if err != nil || len(messages) > 1 {
		fmt.Fprintln(os.Stderr, "not measured: the event isn't one message of SQS")
		return true
	}
	ms, _ := strconv.ParseInt(answer.Header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
	i := &invocation{deadline: time.UnixMilli(ms), Delivery: record.Delivery{
		Message: messages[0], RequestID: answer.Header.Get("Lambda-Runtime-Aws-Request-Id"), Function: p.labels,
	}}
	err = cmp.Or(i.readOrder(), p.wrong)
	if err == nil && i.Order != nil {
		err = deadline.WaitUntil(ctx, i.Order.StartAtMs, i.deadline.Add(-lead))
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	i.IsFirst = p.IsFirst()
	p.output.begin()
	i.startedCPU, i.started = process.CPUSecondsOf(p.pid), time.Now()
	if err != nil {
		p.record(i, i.started, err)
		kind, message := failure.Describe(err)
		told := strings.NewReader(record.Object(record.Pairs("errorType", kind, "errorMessage", message)))
		_, _, _ = p.ask(ctx, http.MethodPost, i.RequestID+"/error", http.Header{"Content-Type": {"application/json"}}, told)
		return false
	}
	p.current, i.timer = i, time.AfterFunc(time.Until(i.deadline)-lead, func() { p.timedOut(i) })
	return true
}

// release takes an invocation from the program; nil for one that it doesn't have, which is for Lambda to refuse. "" is whatever
// it has.
func (p *proxy) release(requestID string) *invocation {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	i := p.current
	if i == nil || cmp.Or(requestID, i.RequestID) != i.RequestID {
		return nil
	}
	p.current = nil
	i.timer.Stop()
	return i
}

// timedOut records a message that the program still has when Lambda is about to end it. A reply may come after all.
func (p *proxy) timedOut(i *invocation) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.current == i {
		p.record(i, time.Now(), failure.New(failure.HandlerTimedOut, "still running %g s before the function's timeout: raise timeout_s", lead.Seconds()))
	}
}

// record writes what became of a message until then, and lets one that failed come back soon. What couldn't be measured is null,
// such as the memory of a program that has ended.
func (p *proxy) record(i *invocation, then time.Time, err error) {
	p.output.end()
	start, init := "warm", time.Duration(0)
	if i.IsFirst {
		start, init = "cold", p.init
	}
	_, _ = p.Record(i.Delivery, record.Outcome{
		TimeKey: "elapsed_seconds", StartedAtMs: i.started.UnixMilli(), ElapsedSeconds: then.Sub(i.started).Seconds(),
		Bytes: int64(len(i.Message.Body)), Err: err,
		Own: record.Pairs("warm_up", i.warmUp, "package", os.Getenv("STAMPEDE_PACKAGE"), "payload", i.payload, "start", start,
			"runtime", os.Getenv("STAMPEDE_RUNTIME"), "architecture", os.Getenv("STAMPEDE_ARCHITECTURE"),
			"init_seconds", record.OrNull(init.Seconds()), "peak_memory_mb", record.OrNull(process.PeakMemoryMBOf(p.pid)),
			"client_cpu_seconds", record.OrNull(max(0, process.CPUSecondsOf(p.pid)-i.startedCPU)), "experiment", "function"),
	})
	if err != nil { // even after a timeout, when little is left
		ctx, cancel := context.WithDeadline(context.Background(), i.deadline)
		defer cancel()
		p.Hasten(ctx, i.Message, time.Now().Add(time.Minute))
	}
}
