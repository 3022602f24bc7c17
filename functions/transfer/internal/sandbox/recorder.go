package sandbox

import (
	"crypto/rand"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"stampede/transfer/internal/record"
)

// Recorder writes the records of one execution environment, and hastens failed messages.
type Recorder struct {
	id   string
	log  io.Writer
	warm bool
	sqs  *sqs.Client // made at the first failure
}

// NewRecorder makes the recorder of a new environment. Records go to log.
func NewRecorder(log io.Writer) *Recorder { return &Recorder{id: rand.Text(), log: log} }

// IsFirst reports whether it is called for the first time.
func (r *Recorder) IsFirst() bool {
	first := !r.warm
	r.warm = true
	return first
}

// Record logs the record of a delivery and returns its line. The error is one of the log.
func (r *Recorder) Record(of record.Delivery, outcome record.Outcome) (line string, err error) {
	line = record.Format(r.id, of, outcome)
	_, err = io.WriteString(r.log, line+"\n") // in one write: lines of several writers can't mix
	return line, err
}
