// Package download does one timed download: a method brings the bytes, a sink takes them, and what happened becomes an
// outcome, whatever S3 or the network does.
package download

import (
	"context"

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

// Way is how to download. Parallel (connections) and PartBytes are of Ranges only; MemoryMB is what the function has (0:
// not known), of Memory only.
type Way struct {
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

// Check refuses a checksum that this way can't compute.
func (w Way) Check(checksum *Checksum) error {
	if checksum != nil && checksum.Algorithm == sha256Name && w.Method == Ranges && w.Sink == Discard {
		return failure.New(failure.WorkOrder, "checksum must be crc32 for ranges that are discarded: their bytes come out of order")
	}
	return nil
}

// transfer is one download under way.
type transfer struct {
	Job
	way    Way
	sink   sink
	seen   *observed
	object s3.Object // known from the first answer on
}

// run brings the object into the sink.
func (t *transfer) run(ctx context.Context) error {
	if t.way.Method == Ranges {
		return t.ranges(ctx)
	}
	return t.span(ctx, 0, s3.Whole, func() error { return nil })
}

// span fetches the bytes first to last (s3.Whole: all) through one slot, and goes on where a connection was cut. At the
// very first answer it prepares the sink and calls begun.
func (t *transfer) span(ctx context.Context, first, last int64, begun func() error) error {
	position, slot := first, slot(nil)
	defer func() {
		if slot != nil {
			slot.close()
		}
	}()
	return t.Client.Retry.Do(ctx, t.seen.CountRetry, func() error {
		get := s3.Get{Key: t.Key, First: position, Last: last, IfMatch: t.object.ETag}
		if last == s3.Whole && position > first {
			get.Last = t.object.Bytes - 1
		}
		answer, object, err := t.Client.Get(ctx, t.seen, get)
		if err != nil {
			return err
		}
		defer answer.Close()
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
	if err := answer.AwaitFirstByte(); err != nil {
		return err
	}
	t.seen.noteFirstByte()
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
