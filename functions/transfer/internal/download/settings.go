package download

import (
	"stampede/transfer/internal/environment"
)

// Methods, as in METHOD.
const (
	stream = "go_stream" // one GET
	ranges = "go_ranges" // parallel GETs of ranges
)

// Sinks, as in SINK.
const (
	discard = "discard" // received into a reused buffer, nothing kept
	memory  = "memory"  // a buffer of the object's size
	tmp     = "tmp"     // a file
)

// settings is what the function's environment says: the labels of the record, the object, and the way to download it. Parallel
// (connections) and PartBytes are of ranges only.
type settings struct {
	environment.Labels
	Bucket, Key, Region, Sink string
	Parallel, PartBytes       int64
}

// readSettings takes the settings out of an environment; the error is of the type Settings. What is left out of SINK,
// RANGE_PARALLEL and RANGE_PART_MB has the defaults of functions/download/settings.py.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{Labels: r.Labels(), Bucket: r.Text("BUCKET_NAME"), Key: r.Text("FILE_NAME"), Region: r.Region(), Parallel: 1}
	read.Method = r.OneOf("METHOD", "", stream, ranges)
	read.Sink = r.OneOf("SINK", map[string]string{stream: discard, ranges: memory}[read.Method], discard, memory, tmp)
	if read.Method == ranges {
		read.Parallel = r.IntegerOr("RANGE_PARALLEL", 8, 1, 64)
		// From 16 MiB: at 8, 500 functions would ask one key more often than the 5,500 times a second that S3 grants.
		read.PartBytes = r.IntegerOr("RANGE_PART_MB", 16, 16, 64) << 20
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return read, nil
}
