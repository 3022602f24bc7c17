package copy

import (
	"strings"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
)

// settings is what the environment says: the labels of the record, the two buckets, and what the record repeats.
type settings struct {
	environment.Labels
	Experiment        string
	Source            string // bucket
	SourcePrefix      string // of the listing mode; "" otherwise
	Destination       string // bucket
	DestinationPrefix string
	ObjectCount       int64
	KeyOrder          string
	InstanceType      string // of a host
	Region            string
}

// onHost is the experiment whose function is a host.
const onHost = "copy_host"

// readSettings takes the settings out of an environment; the error is of the type Settings.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{
		Experiment: r.OneOf("EXPERIMENT", "", "copy", onHost),
		Source:     r.Text("BUCKET_NAME"), SourcePrefix: lookup("SOURCE_PREFIX"),
		Destination: r.Text("DESTINATION_BUCKET_NAME"), DestinationPrefix: lookup("DESTINATION_PREFIX"),
		ObjectCount: r.Integer("OBJECT_COUNT", 1, 100_000_000), KeyOrder: r.OneOf("KEY_ORDER", "none", "straight", "reversed_hash", "none"),
		Region: r.Region(),
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

// kept is what the source bucket holds besides destinations.
var kept = []string{"masters/", "source/", "manifest/", "program/"}

// mayEmpty refuses to empty what isn't the destination's alone: with one bucket for everything, a prefix that holds, or lies
// in, something else of the stack.
func (s *settings) mayEmpty(manifest string) error {
	if s.Source != s.Destination {
		return nil
	}
	for _, other := range append([]string{s.SourcePrefix, manifest}, kept...) {
		if other == "" && s.DestinationPrefix != "" {
			continue
		}
		if strings.HasPrefix(other, s.DestinationPrefix) || strings.HasPrefix(s.DestinationPrefix, other) {
			return failure.New(failure.Settings, "DESTINATION_PREFIX %q isn't emptied: in the source bucket %q that would delete %q too; give the "+
				"destination a separate prefix or bucket", s.DestinationPrefix, s.Source, other)
		}
	}
	return nil
}
