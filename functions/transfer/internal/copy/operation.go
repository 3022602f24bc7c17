package copy

import (
	"context"
	"io"
	"strings"
	"time"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
	"stampede/transfer/internal/workorder"
)

// operation is the copy in Lambda or on a host, between the buckets that the environment names.
type operation struct {
	settings *settings
	route    *route
	wrong    error // why settings or route are nil
	runner   *deadline.Runner
}

// New reads the environment and makes what every message uses.
func New(ctx context.Context, lookup func(string) string) sandbox.Operation {
	process.UseOneProcessor()
	o := &operation{runner: &deadline.Runner{Operation: "copy"}}
	if o.settings, o.wrong = readSettings(lookup); o.wrong == nil {
		o.route, o.wrong = openRoute(ctx, o.settings.Region, o.settings.Source,
			o.settings.Destination, LargestParallel)
	}
	return o
}

// Labels implements sandbox.Operation.
func (o *operation) Labels() *environment.Labels {
	if o.settings == nil {
		return nil
	}
	return &o.settings.Labels
}

// Do implements sandbox.Operation. Rows that failed go to the log before the record.
func (o *operation) Do(ctx context.Context, message sqsevent.Message, log io.Writer,
	until time.Time) (*workorder.Order, record.Outcome) {
	seen := observe()
	order, err := parse(message.Body)
	if err != nil {
		return nil, seen.outcome(nil, o.settings, err)
	}
	if err = o.wrong; err == nil {
		err = o.begin(ctx, order, until)
	}
	if err == nil {
		seen = observe() // without the wait for the common start
		job := o.job(order, message.Attempt, log, seen, until)
		bounded, cancel := deadline.Outlasting(ctx, callsGrace)
		defer cancel()
		err = o.runner.Run(bounded, until, seen.Bytes.Load,
			func(calls context.Context) error { return job.run(calls, ctx) })
	}
	return &order.Order, seen.outcome(order, o.settings, err)
}

// begin waits until the copy may begin. An error says why it may not.
func (o *operation) begin(ctx context.Context, order *order, until time.Time) error {
	if order.EmptyFirst {
		if err := o.settings.mayEmpty(order.Manifest); err != nil {
			return err
		}
	}
	if order.Manifest == "" && o.settings.SourcePrefix == "" {
		return failure.New(failure.WorkOrder, "the message lacks the key manifest: without "+
			"SOURCE_PREFIX there is nothing to list")
	}
	return o.runner.Await(ctx, order.StartAtMs, until)
}

func (o *operation) job(order *order, attempt int64, log io.Writer, seen *observed,
	until time.Time) *job {
	j := &job{
		Policy: order.Policy, route: o.route, prefix: o.settings.DestinationPrefix,
		emptyFirst: order.EmptyFirst, seen: seen, until: until,
		failures: newFailures(log, order.RunID, order.Cell, order.Seq, attempt, longestLogLine),
	}
	if order.Manifest == "" {
		j.list(o.settings.SourcePrefix)
	} else if order.Slices > 0 {
		j.lookFirst.Store(attempt > 1)
		j.read(order.Manifest, order.FirstSlice, order.Slices)
	}
	return j
}

// settings are what the environment says: the labels of the record, the two buckets, and values
// that the record repeats.
type settings struct {
	environment.Labels
	Experiment        string
	Source            string // bucket
	SourcePrefix      string // for the listing mode; "" otherwise
	Destination       string // bucket
	DestinationPrefix string
	ObjectCount       int64
	KeyOrder          string
	InstanceType      string // of a host
	Region            string
}

// onHost is the experiment that copies on a host.
const onHost = "copy_host"

// readSettings reads the settings from an environment. Errors are of the type Settings.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{
		Experiment:        r.OneOf("EXPERIMENT", "", "copy", onHost),
		Source:            r.Text("BUCKET_NAME"),
		SourcePrefix:      lookup("SOURCE_PREFIX"),
		Destination:       r.Text("DESTINATION_BUCKET_NAME"),
		DestinationPrefix: lookup("DESTINATION_PREFIX"),
		ObjectCount:       r.Integer("OBJECT_COUNT", 1, 100_000_000),
		KeyOrder:          r.OneOf("KEY_ORDER", "none", "straight", "reversed_hash", "none"),
		Region:            r.Region(),
	}
	if read.Experiment == onHost {
		read.InstanceType = r.Text("INSTANCE_TYPE")
		read.Labels = r.HostLabels(process.MachineMemoryMB())
	} else {
		read.Labels = r.Labels()
	}
	read.Method = "copy_object"
	if r.Err != nil {
		return nil, r.Err
	}
	return read, nil
}

// overlap reports whether a key may begin with both.
func overlap(prefix, other string) bool {
	return strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix)
}

// mayEmpty refuses to empty more than the destination: in a single bucket, a prefix must not
// overlap with the stack's other prefixes.
func (s *settings) mayEmpty(manifest string) error {
	if s.Source != s.Destination {
		return nil
	}
	others := []string{"masters/", "source/", "manifest/", "program/", s.SourcePrefix, manifest}
	for _, other := range others {
		if s.DestinationPrefix == "" || other != "" && overlap(s.DestinationPrefix, other) {
			return failure.New(failure.Settings, "DESTINATION_PREFIX %q isn't emptied: in the "+
				"source bucket that would delete %q too; choose a separate prefix or bucket",
				s.DestinationPrefix, other)
		}
	}
	return nil
}
