// Package download does one timed download for each message: a method fetches the bytes into a
// sink, and a record describes the result, whatever S3 or the network does.
package download

import (
	"context"
	"io"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/observed"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/retry"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// Methods, as in METHOD.
const (
	stream = "go_stream" // one GET
	ranges = "go_ranges" // parallel GETs of ranges
)

// Sinks, as in SINK.
const (
	discard = "discard" // a reused buffer; nothing is kept
	memory  = "memory"  // a buffer of the object's size
	tmp     = "tmp"     // a file
)

// settings are what the function's environment says: the labels of the record, the object, and how
// to download it. Parallel (connections) and PartBytes are for ranges only.
type settings struct {
	environment.Labels
	Bucket, Key, Region, Sink string
	Parallel, PartBytes       int64
	RequesterPays             bool
}

// readSettings reads the settings from an environment. An error is of the type Settings and comes
// with empty settings. SINK, RANGE_PARALLEL and RANGE_PART_MB have the defaults of
// functions/download/settings.py.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{Labels: r.Labels(), Bucket: r.Text("BUCKET_NAME"), Key: r.Text("FILE_NAME"),
		Region: r.Region(), Parallel: 1}
	read.RequesterPays = r.OneOf("REQUESTER_PAYS", "false", "false", "true") == "true"
	read.Method = r.OneOf("METHOD", "", stream, ranges)
	usual := map[string]string{stream: discard, ranges: memory}[read.Method]
	read.Sink = r.OneOf("SINK", usual, discard, memory, tmp)
	if read.Method == ranges {
		read.Parallel = r.IntegerOr("RANGE_PARALLEL", 8, 1, 64)
		// With 8 MiB, 500 functions would exceed the 5,500 requests a second of one S3 prefix.
		read.PartBytes = r.IntegerOr("RANGE_PART_MB", 16, 16, 64) << 20
	}
	if r.Err != nil {
		return &settings{}, r.Err
	}
	return read, nil
}

// order is one download to do. ObjectBytes, ObjectETag and Checksum (SHA-256) are what the object
// must have; nil and "" if the order leaves them out. WarmUp 1: no figure counts it.
type order struct {
	workorder.Order
	ObjectBytes *int64
	ObjectETag  string
	WarmUp      int64
	Checksum    string
}

var checksumForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// parse reads the body of a message. Errors are of the type WorkOrder.
func parse(body string) (*order, error) {
	r, common := workorder.Open(body, "object_bytes", "object_etag", "warm_up", "checksum")
	parsed := &order{Order: common, ObjectBytes: r.Optional("object_bytes"),
		ObjectETag: r.Name("object_etag"), WarmUp: r.Flag("warm_up")}
	parsed.Checksum = r.Text("checksum", "sha256: and 64 hexadecimal digits in lower case",
		checksumForm.MatchString)
	return parsed, r.Err
}

// operation is the download in Lambda, as the environment describes it.
type operation struct {
	settings *settings
	bucket   *bucket.Bucket
	wrong    error // with the settings or the bucket
	runner   *deadline.Runner
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	o := &operation{runner: &deadline.Runner{Operation: "download"}}
	if o.settings, o.wrong = readSettings(lookup); o.wrong == nil {
		options := bucket.Options{Connections: int(o.settings.Parallel), ReadAheadBytes: 128 << 10,
			RequesterPays: o.settings.RequesterPays}
		o.bucket, o.wrong = bucket.Open(ctx, o.settings.Region, o.settings.Bucket, options)
	}
	return o
}

// Labels implements sandbox.Operation.
func (o *operation) Labels() *environment.Labels { return &o.settings.Labels }

// Do implements sandbox.Operation.
func (o *operation) Do(ctx context.Context, message sqsevent.Message, _ io.Writer,
	until time.Time) (*workorder.Order, record.Outcome) {
	seen := &seen{}
	seen.Prepare()
	order, err := parse(message.Body)
	if err != nil {
		return nil, o.outcome(0, seen, err)
	}
	err = o.download(ctx, order, until, seen)
	return &order.Order, o.outcome(order.WarmUp, seen, err)
}

// download waits until it may begin. At the deadline it stops and its connections are closed.
func (o *operation) download(ctx context.Context, order *order, until time.Time, seen *seen) error {
	if o.wrong != nil {
		return o.wrong
	}
	if err := o.runner.Await(ctx, order.StartAtMs, until); err != nil {
		return err
	}
	sink, err := newSink(o.settings, order.Checksum)
	if err != nil {
		return err
	}
	seen.Prepare()
	seen.Begin()
	t := &transfer{settings: o.settings, bucket: o.bucket, order: order, sink: sink, seen: seen}
	return o.runner.Run(ctx, until, seen.Bytes.Load, t.complete)
}

// seen is the state of a running download.
type seen struct {
	observed.Work
	firstByte atomic.Value // float64, seconds
}

// noteAnswer notes the time of the first good answer, whose body may come much later, as in
// functions/common/object_read.py.
func (s *seen) noteAnswer() {
	if s.firstByte.Load() == nil {
		elapsed, _ := s.Spent()
		s.firstByte.CompareAndSwap(nil, elapsed)
	}
}

// outcome returns what the record says. Without settings, their keys are null.
func (o *operation) outcome(warmUp int64, s *seen, err error) record.Outcome {
	isSet, pairs := o.settings.Method != "", observed.Pairs
	elapsed, cpu := s.Spent()
	return s.Outcome("download_time_seconds", elapsed, err, slices.Concat(
		pairs(true, "warm_up", warmUp),
		pairs(isSet, "sink", o.settings.Sink),
		pairs(true, "first_byte_seconds", s.firstByte.Load(), "client_cpu_seconds", cpu,
			"retries", s.Retries.Load(), "requests", s.Requests.Load()),
		pairs(isSet, "retry_mode", retry.Mode, "retry_attempts", int64(retry.Attempts),
			"sdk", bucket.SDK),
	))
}
