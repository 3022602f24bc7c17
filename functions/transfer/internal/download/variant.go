// Package download does one timed download: a method brings the bytes, a sink takes them, and what happened becomes an
// outcome, whatever S3 or the network does.
package download

import (
	"context"
	"time"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// Methods, as in METHOD without its "go_".
const (
	Stream = "stream" // one GET
	Ranges = "ranges" // parallel GETs of ranges
)

// Sinks, as in SINK.
const (
	Discard = "discard" // received into a reused buffer, nothing kept
	Memory  = "memory"  // a buffer of the object's size
	Tmp     = "tmp"     // a file
)

// Variant is how to download. Parallel (connections) and PartBytes are of Ranges only; MemoryMB is what the function has (0:
// not known), of Memory only.
type Variant struct {
	Method, Sink string
	Parallel     int
	PartBytes    int64
	MemoryMB     int64
}

// Job is what to download: File is where Tmp writes. ObjectBytes and Checksum are what the object must have, nil for any.
type Job struct {
	Client      *s3.Client
	Key         string
	File        string
	ObjectBytes *int64
	Checksum    *Checksum
}

// name is the record's method.
func (v Variant) name() string { return "go_" + v.Method }

// Check refuses a checksum that this variant can't compute.
func (v Variant) Check(checksum *Checksum) error {
	if checksum != nil && checksum.Algorithm == sha256Name && v.Method == Ranges && v.Sink == Discard {
		return failure.New(failure.WorkOrder, "discarded ranges arrive out of order, so only a crc32 can be computed: use a crc32, or set SINK to memory or tmp")
	}
	return nil
}

// transfer is one download under way.
type transfer struct {
	Job
	variant Variant
	sink    sink
	seen    *observed
	object  s3.Object // known from the first answer on
}

// newRunner makes what runs the downloads of one process.
func newRunner() *deadline.Runner { return &deadline.Runner{Operation: "download", Thing: "object"} }

// timed does one download, which is stopped at the deadline: its connections are closed.
func timed(ctx context.Context, runner *deadline.Runner, variant Variant, job Job, until time.Time) Outcome {
	if err := runner.MakeWay(until); err != nil {
		return NotStarted(err)
	}
	transfer := &transfer{Job: job, variant: variant, sink: newSink(variant, job), seen: observe()}
	return transfer.seen.outcome(runner.Run(ctx, until, transfer.seen.bytes.Load, transfer.complete))
}

// complete is the timed part, and what is checked after it.
func (t *transfer) complete(ctx context.Context) error {
	err := t.run(ctx)
	t.seen.end()
	if err == nil {
		err = t.verify()
	}
	if closed := t.sink.close(); closed != nil && err == nil {
		err = failure.OfFile(closed)
	}
	return err
}

func (t *transfer) verify() error {
	received := t.seen.bytes.Load()
	if received != t.object.Bytes {
		return failure.New(failure.SizeMismatch, "received %d bytes, but S3 announced %d: upload the object again", received, t.object.Bytes)
	}
	if t.ObjectBytes != nil && received != *t.ObjectBytes {
		return failure.New(failure.SizeMismatch, "received %d bytes, but the message expects %d: upload the object again", received, *t.ObjectBytes)
	}
	if t.Checksum == nil {
		return nil
	}
	found, err := t.sink.digest(t.Checksum.Algorithm)
	if err != nil {
		return err
	}
	return t.Checksum.compare(found)
}

// run brings the object into the sink.
func (t *transfer) run(ctx context.Context) error {
	if t.variant.Method == Ranges {
		return t.ranges(ctx)
	}
	return t.span(ctx, 0, s3.Whole, func() error { return nil })
}

// progressBytes is what a try must have fetched before it was cut, so that it isn't counted: as in functions/common/get_span.py.
const progressBytes = 1 << 20

// span fetches the bytes first to last (s3.Whole: all) through one slot, and goes on where a connection was cut. At the
// very first answer it prepares the sink and calls begun.
func (t *transfer) span(ctx context.Context, first, last int64, begun func() error) error {
	position, slot := first, slot(nil)
	defer func() {
		if slot != nil {
			slot.close()
		}
	}()
	counted := first
	broughtOn := func() bool {
		if position-counted < progressBytes {
			return false
		}
		counted = position
		return true
	}
	return t.Client.Retry.DoOn(ctx, t.seen.CountRetry, broughtOn, func() error {
		get := s3.Get{Key: t.Key, First: position, Last: last, IfMatch: t.object.ETag}
		if last == s3.Whole && position > first {
			get.Last = t.object.Bytes - 1
		}
		answer, object, err := t.Client.Get(ctx, t.seen, get)
		if err != nil {
			return err
		}
		defer answer.Close()
		t.seen.noteAnswer()
		if t.object.ETag == "" {
			t.object = object
			if err := t.sink.prepare(object.Bytes); err != nil {
				return err
			}
			if err := begun(); err != nil {
				return err
			}
		}
		if slot == nil {
			if slot, err = t.sink.slot(); err != nil {
				return err
			}
		}
		return t.receive(answer, slot, &position)
	})
}

func (t *transfer) receive(answer *s3.Answer, slot slot, position *int64) error {
	for answer.Left > 0 {
		n, err := slot.receive(answer, *position)
		*position += n
		t.seen.bytes.Add(n)
		if err != nil {
			return err
		}
	}
	return nil
}
