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

// Delivery is a message as one invocation gets it. RequestID is empty on a host; Function and Order are nil where they
// couldn't be read.
type Delivery struct {
	Message   sqsevent.Message
	RequestID string
	IsFirst   bool // of the environment
	Function  *environment.Labels
	Order     *workorder.Order
}

// IsFirst says whether no message has been asked about before.
func (r *Recorder) IsFirst() bool {
	first := !r.warm
	r.warm = true
	return first
}

// Record logs the record of a delivery and returns its line. An error says that the log couldn't be written.
func (r *Recorder) Record(of Delivery, outcome record.Outcome) (line string, err error) {
	labels := record.Labels{SandboxID: r.id, Attempt: of.Message.Attempt}
	if of.Message.ID != "" { // a direct invocation has none
		labels.MessageID = &of.Message.ID
	}
	if of.RequestID != "" {
		labels.RequestID = &of.RequestID
	}
	if of.IsFirst {
		labels.ColdStart = 1
	}
	if function := of.Function; function != nil {
		labels.ConcurrencyLimit, labels.MemorySizeMB = &function.ConcurrencyLimit, &function.MemorySizeMB
		labels.ExperimentTag = &function.ExperimentTag
		if function.Method != "" { // a program of somebody else has none
			labels.Method = &function.Method
		}
	}
	if order := of.Order; order != nil {
		labels.RunID, labels.Cell, labels.Seq, labels.Round = &order.RunID, &order.Cell, &order.Seq, &order.Round
	}
	line = record.Format(labels, outcome)
	// One write, so that lines of several writers can't mix.
	_, err = io.WriteString(r.log, line+"\n")
	return line, err
}

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
