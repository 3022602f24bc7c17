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

// invocation is a batch of messages, usually one, that the program processes.
type invocation struct {
	batch      []*delivery
	requestID  string
	isFirst    bool // of the sandbox
	deadline   time.Time
	started    time.Time
	startedCPU float64
	timer      *time.Timer
}

// delivery is one message of a batch, with what its work order says.
type delivery struct {
	sqsevent.Message
	order   *workorder.Order
	payload *int64 // number of the body among those of the run
	warmUp  *int64 // 1 marks a message that no figure counts
}

// readOrder reads the work order from the message's attribute: the body is for the program. A
// message from somebody else has none.
func (m *delivery) readOrder() error {
	if m.Order == "" {
		return nil
	}
	r, order := workorder.Open(m.Order, "warm_up", "payload")
	warmUp, payload := r.Flag("warm_up"),
		r.Between("payload", new(int64), 0, workorder.LargestInteger)
	if r.Err == nil {
		m.order, m.warmUp, m.payload = &order, &warmUp, &payload
	}
	return r.Err
}

// begin starts the clock of an event, and reports whether the program gets it. An event that can't
// be measured is recorded and refused here. An event of another service goes to the program without
// a record.
func (p *proxy) begin(ctx context.Context, answer *http.Response, event []byte) bool {
	if answer.StatusCode != http.StatusOK {
		return true
	}
	messages, err := sqsevent.Read(event)
	if err != nil {
		fmt.Fprintln(os.Stderr, "not measured: the event has no messages of SQS")
		return true
	}
	ms, _ := strconv.ParseInt(answer.Header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
	i := &invocation{deadline: time.UnixMilli(ms),
		requestID: answer.Header.Get("Lambda-Runtime-Aws-Request-Id")}
	err = i.take(ctx, messages)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	err = cmp.Or(err, p.wrong)
	i.isFirst = p.IsFirst()
	p.output.begin()
	i.startedCPU, i.started = process.CPUSecondsOf(p.pid), time.Now()
	if err != nil {
		p.record(i, i.started, each(i.ids(), err))
		kind, message := failure.Describe(err)
		told := record.Object(record.Pairs("errorType", kind, "errorMessage", message))
		header := http.Header{"Content-Type": {"application/json"}}
		_, _, _ = p.ask(ctx, http.MethodPost, i.requestID+"/error", header, strings.NewReader(told))
		return false
	}
	p.current, i.timer = i, time.AfterFunc(time.Until(i.deadline)-lead, func() { p.timedOut(i) })
	return true
}

// take reads the orders of the messages, and waits for the latest start that they name.
func (i *invocation) take(ctx context.Context, messages []sqsevent.Message) (err error) {
	var start *int64
	for _, read := range messages {
		m := &delivery{Message: read}
		err = cmp.Or(err, m.readOrder())
		if m.order != nil && m.order.StartAtMs != nil &&
			(start == nil || *m.order.StartAtMs > *start) {
			start = m.order.StartAtMs
		}
		i.batch = append(i.batch, m)
	}
	if err == nil && start != nil {
		err = deadline.WaitUntil(ctx, start, i.deadline.Add(-lead))
	}
	return err
}

// ids are the ids of the batch's messages.
func (i *invocation) ids() (ids []string) {
	for _, m := range i.batch {
		ids = append(ids, m.ID)
	}
	return ids
}

// release takes the program's current invocation from it. It returns nil if that has another id
// than requestID (""; any), which Lambda will refuse.
func (p *proxy) release(requestID string) *invocation {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	i := p.current
	if i == nil || cmp.Or(requestID, i.requestID) != i.requestID {
		return nil
	}
	p.current = nil
	i.timer.Stop()
	return i
}

// timedOut records the invocation that the program still has shortly before its timeout. A reply
// may come after all.
func (p *proxy) timedOut(i *invocation) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.current == i {
		why := failure.New(failure.HandlerTimedOut,
			"still running %g s before the function's timeout: raise timeout_s", lead.Seconds())
		p.record(i, time.Now(), each(i.ids(), why))
	}
}

// record writes the result of each message, and lets the failed ones come back soon. All messages
// of a batch have the same times: nobody outside sees the time of one. Values that couldn't be
// measured are null, such as the memory of a program that has ended.
func (p *proxy) record(i *invocation, then time.Time, failed map[string]error) {
	p.output.end()
	start, init := "warm", time.Duration(0)
	if i.isFirst {
		start, init = "cold", p.init
	}
	cpu := record.OrNull(max(0, process.CPUSecondsOf(p.pid)-i.startedCPU))
	for index, m := range i.batch {
		of := record.Delivery{Message: m.Message, RequestID: i.requestID, IsFirst: i.isFirst,
			Function: p.labels, Order: m.order}
		_, _ = p.Record(of, record.Outcome{
			TimeKey: "elapsed_seconds", StartedAtMs: i.started.UnixMilli(),
			ElapsedSeconds: then.Sub(i.started).Seconds(),
			Bytes:          int64(len(m.Body)), Err: failed[m.ID],
			Own: record.Pairs("warm_up", m.warmUp, "package", os.Getenv("STAMPEDE_PACKAGE"),
				"payload", m.payload, "start", start, "runtime", os.Getenv("STAMPEDE_RUNTIME"),
				"architecture", os.Getenv("STAMPEDE_ARCHITECTURE"), "batch_size", p.batchSize,
				"batching_window_s", p.windowS, "batch", int64(len(i.batch)),
				"batch_index", int64(index), "init_seconds", record.OrNull(init.Seconds()),
				"peak_memory_mb", record.OrNull(process.PeakMemoryMBOf(p.pid)),
				"client_cpu_seconds", cpu, "experiment", "function"),
		})
	}
	p.hasten(i, failed)
}

// hasten lets failed messages come back soon, as far as the time of the invocation allows. The
// others come back after the queue's visibility timeout.
func (p *proxy) hasten(i *invocation, failed map[string]error) {
	// a new context: after a timeout the invocation's has ended
	ctx, cancel := context.WithDeadline(context.Background(), i.deadline)
	defer cancel()
	until := time.Now().Add(hastened)
	for _, m := range i.batch {
		if failed[m.ID] != nil && time.Now().Before(until) {
			p.Hasten(ctx, m.Message, time.Now().Add(time.Minute))
		}
	}
}
