package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/smithy-go"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/ident"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/redelivery"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// Recorder writes the records of one execution environment, and lets its failed messages come back soon.
type Recorder struct {
	id         string
	log        io.Writer
	warm       bool
	redelivery redelivery.Redelivery
}

// NewRecorder makes the recorder of an environment that begins. Records go to log.
func NewRecorder(log io.Writer) *Recorder { return &Recorder{id: ident.New(), log: log} }

// Record logs the record of a message and returns its line. The request id is empty on a host; function and order are nil
// where they couldn't be read. An error says that the log couldn't be written.
func (r *Recorder) Record(message sqsevent.Message, requestID string, function *environment.Labels, order *workorder.Order,
	outcome record.Outcome) (line string, err error) {
	labels := record.Labels{SandboxID: r.id, Attempt: message.Attempt}
	if message.ID != "" { // a direct invocation has none
		labels.MessageID = &message.ID
	}
	if requestID != "" {
		labels.RequestID = &requestID
	}
	if !r.warm {
		r.warm, labels.ColdStart = true, 1
	}
	if function != nil {
		labels.ConcurrencyLimit, labels.MemorySizeMB = &function.ConcurrencyLimit, &function.MemorySizeMB
		labels.ExperimentTag = &function.ExperimentTag
		if function.Method != "" { // a program of somebody else has none
			labels.Method = &function.Method
		}
	}
	if order != nil {
		labels.RunID, labels.Cell, labels.Seq, labels.Round = &order.RunID, &order.Cell, &order.Seq, &order.Round
	}
	line = record.Format(labels, outcome)
	// One write, so that lines of several writers can't mix.
	_, err = io.WriteString(r.log, line+"\n")
	return line, err
}

// IsCold says that no record has been written yet.
func (r *Recorder) IsCold() bool { return !r.warm }

// Hasten lets a failed message come back soon; deadline is the invocation's end. What goes wrong is a plain line on stderr,
// which no query takes for a record.
func (r *Recorder) Hasten(ctx context.Context, message sqsevent.Message, deadline time.Time) {
	err := r.redelivery.Hasten(ctx, message, deadline)
	if err == nil {
		return
	}
	said := err.Error()
	var refused smithy.APIError
	if errors.As(err, &refused) {
		said = refused.ErrorCode() // without what SQS said, which could be JSON and pass for a record
	}
	fmt.Fprintf(os.Stderr, "message %s comes back only after the queue's visibility timeout: %+.200q\n", message.ID, said)
}
