package express

import "stampede/transfer/internal/environment"

// Operations, as in OPERATION. The last two are Athena's, which stampede asks itself.
const (
	upload    = "upload"
	download  = "download"
	count     = "count"
	aggregate = "aggregate"
)

// settings is what the function's environment says: the labels of the record, the two buckets, and what is done with them.
type settings struct {
	environment.Labels
	Experiment string
	Operation  string
	Placement  string
	Buckets    map[string]string // by class
	Region     string
}

var methods = map[string]string{upload: "put_object", download: "get_object", count: "athena", aggregate: "athena"}

// readSettings takes the settings out of an environment; the error is of the type Settings.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{
		Experiment: r.OneOf("EXPERIMENT", "", "express"),
		Operation:  r.OneOf("OPERATION", "", upload, download, count, aggregate),
		Placement:  r.OneOf("PLACEMENT", "", "any_zone", "same_zone"),
		Buckets:    map[string]string{standard: r.Text("BUCKET_NAME"), oneZone: r.Text("EXPRESS_BUCKET_NAME")},
		Region:     r.Region(), Labels: r.Labels(),
	}
	read.Method = methods[read.Operation]
	if r.Err != nil {
		return nil, r.Err
	}
	return read, nil
}
