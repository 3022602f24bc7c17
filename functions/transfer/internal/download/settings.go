package download

import (
	"strings"

	"stampede/transfer/internal/environment"
)

// settings is what the function's environment says: the labels of the record, the object, and the way to download it.
type settings struct {
	environment.Labels
	Bucket  string
	Key     string
	Region  string
	Variant Variant
}

// readSettings takes the settings out of an environment; the error is of the type Settings.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{Labels: r.Labels(), Bucket: r.Text("BUCKET_NAME"), Key: r.Text("FILE_NAME"), Region: r.Region()}
	read.Variant = readVariant(&r, read.MemorySizeMB)
	read.Method = read.Variant.name()
	if r.Err != nil {
		return nil, r.Err
	}
	return read, nil
}

// readVariant reads how to download. What is left out of SINK, RANGE_PARALLEL and RANGE_PART_MB has the defaults of
// functions/download/settings.py.
func readVariant(r *environment.Reader, memoryMB int64) Variant {
	method := strings.TrimPrefix(r.OneOf("METHOD", "", "go_"+Stream, "go_"+Ranges), "go_")
	sink := map[string]string{Stream: Discard, Ranges: Memory}[method]
	variant := Variant{Method: method, Sink: r.OneOf("SINK", sink, Discard, Memory, Tmp), MemoryMB: memoryMB}
	if method == Ranges {
		variant.Parallel = int(r.IntegerOr("RANGE_PARALLEL", 8, 1, 64))
		// From 16 MiB: at 8, 500 functions would ask one key more often than the 5,500 times a second that S3 grants.
		variant.PartBytes = r.IntegerOr("RANGE_PART_MB", 16, 16, 64) << 20
	}
	return variant
}
