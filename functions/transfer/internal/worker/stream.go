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

// The limits of one PutLogEvents (CloudWatch Logs API reference): bytes, of which every event costs
// 26 besides its text, and events. Events must be in order of time and may span a day, twice the
// time that a message is held.
const (
	mostBatchBytes  = 1 << 20
	eventBytes      = 26
	mostBatchEvents = 10_000
	noStream        = "ResourceNotFoundException"
)

// stream is this process's log stream in the host's log group, like that of a Lambda function.
// Every line also goes to stdout, where systemd's journal keeps it.
type stream struct {
	client      *cloudwatchlogs.Client
	group, name string
	stdout      io.Writer
	context     context.Context // for a full batch

	mutex   sync.Mutex
	pending []types.InputLogEvent // not in CloudWatch yet, in order of time
}

// Write takes whole lines. It sends a full batch before it returns, so that the lines of many
// failed objects take no more memory than one batch. Lines that can't be sent wait for Flush.
func (s *stream) Write(text []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, _ = s.stdout.Write(text) // after an error CloudWatch still gets the lines
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
		// even if the clock was set back, a batch must be in order
		ms = max(ms, *s.pending[last].Timestamp)
	}
	s.pending = append(s.pending, types.InputLogEvent{Message: &line, Timestamp: &ms})
}

// batch is as many of the first lines as fit into one call.
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

// Flush returns when every line is in CloudWatch, or an error if the context ends first.
func (s *stream) Flush(ctx context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.put(ctx)
}

// put sends the pending lines in batches. After a lost answer it sends the same events again:
// readers of the log identify an event by its time, stream and text.
func (s *stream) put(ctx context.Context) error {
	for len(s.pending) > 0 {
		batch := s.batch()
		err := s.putBatch(ctx, batch)
		if sandbox.CodeOf(err) == noStream {
			made := &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &s.group,
				LogStreamName: &s.name}
			_, _ = s.client.CreateLogStream(ctx, made)
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
	// an answer 200: lines are too old or too new by CloudWatch's clock
	if err == nil && answer.RejectedLogEventsInfo != nil {
		return errors.New("CloudWatch Logs rejected the lines because of their timestamps: " +
			"check this machine's clock")
	}
	return err
}
