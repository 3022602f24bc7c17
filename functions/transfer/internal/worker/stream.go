package worker

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"stampede/transfer/internal/sandbox"
)

// The limits of one PutLogEvents (CloudWatch Logs API reference): its bytes, of which every event
// costs 26 beside its text, its events. They stand in the order of time, and may span a day: a
// message is held for half of one.
const (
	mostBatchBytes  = 1 << 20
	eventBytes      = 26
	mostBatchEvents = 10_000
	noStream        = "ResourceNotFoundException"
)

// stream is this process's log stream in the host's log group: what Lambda does with the lines of a
// function. Every line goes to stdout as well, where systemd's journal keeps it, whatever becomes
// of CloudWatch.
type stream struct {
	client      *cloudwatchlogs.Client
	group, name string
	stdout      io.Writer
	context     context.Context // ends what a full batch waits for

	mutex   sync.Mutex
	pending []types.InputLogEvent // not in CloudWatch yet, in the order of time
}

// Write takes whole lines. A full batch is put before it returns, so that the lines of ever so many
// failed objects take no more memory than one; what can't be put stays, for Flush.
func (s *stream) Write(text []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, _ = s.stdout.Write(text) // an error there loses nothing that CloudWatch has
	for line := range strings.Lines(string(text)) {
		s.add(strings.TrimSuffix(line, "\n"))
	}
	if len(s.batch()) < len(s.pending) {
		_ = s.put(s.context)
	}
	return len(text), nil
}

func (s *stream) add(line string) {
	ms := time.Now().UnixMilli()
	if last := len(s.pending) - 1; last >= 0 {
		// a clock that is set back must not get a batch refused
		ms = max(ms, *s.pending[last].Timestamp)
	}
	s.pending = append(s.pending, types.InputLogEvent{Message: &line, Timestamp: &ms})
}

// batch is the first of the lines, as many as go in one call.
func (s *stream) batch() []types.InputLogEvent {
	bytes := 0
	for i, event := range s.pending {
		bytes += len(*event.Message) + eventBytes
		if i > 0 && bytes > mostBatchBytes || i == mostBatchEvents {
			return s.pending[:i]
		}
	}
	return s.pending
}

// Flush returns when every line is in CloudWatch, or when the context ends; then the error says why
// they aren't.
func (s *stream) Flush(ctx context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.put(ctx)
}

// put sends the pending lines batch by batch. Lines whose answer was lost are sent again as they
// were: who reads the log knows an event by its time, stream and text.
func (s *stream) put(ctx context.Context) error {
	for len(s.pending) > 0 {
		batch := s.batch()
		err := s.putBatch(ctx, batch)
		if sandbox.CodeOf(err) == noStream {
			_, _ = s.client.CreateLogStream(ctx,
				&cloudwatchlogs.CreateLogStreamInput{LogGroupName: &s.group,
					LogStreamName: &s.name})
			err = s.putBatch(ctx, batch)
		}
		if err != nil {
			return err
		}
		s.pending = s.pending[len(batch):]
	}
	return nil
}

func (s *stream) putBatch(ctx context.Context, events []types.InputLogEvent) error {
	answer, err := s.client.PutLogEvents(ctx, &cloudwatchlogs.PutLogEventsInput{
		LogGroupName: &s.group, LogStreamName: &s.name, LogEvents: events,
	})
	// answered with 200: too old or too new, by CloudWatch's clock
	if err == nil && answer.RejectedLogEventsInfo != nil {
		return errors.New("CloudWatch Logs rejected the lines because of their timestamps: check this machine's clock")
	}
	return err
}
