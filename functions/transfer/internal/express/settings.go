package express

import (
	"regexp"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
)

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

// directoryBucket is what the name of one is: S3 User Guide, "Directory bucket naming rules".
var directoryBucket = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*--([a-z0-9]+(?:-[a-z0-9]+)*-az[0-9]+)--x-s3$`)

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

// checkName refuses the name of anything but a directory bucket.
func checkName(bucket string) error {
	if directoryBucket.MatchString(bucket) {
		return nil
	}
	return failure.New(failure.Settings, "EXPRESS_BUCKET_NAME %.100q isn't the name of a directory bucket: it must end in --ZONE--x-s3 with the "+
		"ID of its zone, such as --use1-az4--x-s3", bucket)
}
