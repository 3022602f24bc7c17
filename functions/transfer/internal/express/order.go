package express

import (
	"encoding/json"
	"maps"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/workorder"
)

// Operations, as in OPERATION. Its other value, query, needs no function: stampede asks Athena.
const (
	upload   = "upload"
	download = "download"
)

// Classes of storage, as in storage_class.
const (
	standard = "standard"
	oneZone  = "express"
)

const (
	// A sandbox has 1,024 file descriptors (Lambda guide, "Lambda quotas"), and every request needs
	// a connection.
	largestParallel = 1000
	mostSlices      = 1000
)

// settings are what the function's environment says: the labels of the record, the two buckets, and
// what to do.
type settings struct {
	environment.Labels
	Experiment, Operation, Placement, Region string
	Buckets                                  map[string]string // by class
}

var methods = map[string]string{upload: "put_object", download: "get_object"}

// readSettings reads the settings from an environment. An error is of the type Settings and comes
// with empty settings.
func readSettings(lookup func(string) string) (*settings, error) {
	r := environment.Reader{Lookup: lookup}
	read := &settings{
		Experiment: r.OneOf("EXPERIMENT", "", "express"),
		Operation:  r.OneOf("OPERATION", "", upload, download),
		Placement:  r.OneOf("PLACEMENT", "", "any_zone", "same_zone"),
		Buckets: map[string]string{standard: r.Text("BUCKET_NAME"),
			oneZone: r.Text("EXPRESS_BUCKET_NAME")},
		Region: r.Region(), Labels: r.Labels(),
	}
	read.Method = methods[read.Operation]
	if r.Err != nil {
		return &settings{}, r.Err
	}
	return read, nil
}

// order is one slice of a set to upload or download. WarmUp 1 marks a slice that no figure counts.
// OnlyMissing uploads the objects that are missing or have another size.
type order struct {
	workorder.Order
	set
	StorageClass                                   string
	Parallel, Slices, FirstObject, Objects, WarmUp int64
	OnlyMissing                                    bool
}

// parse reads the body of a message. Errors are of the type WorkOrder.
func parse(body string) (*order, error) {
	r, common := workorder.Open(body, "storage_class", "object_bytes", "object_count", "slices",
		"parallel_limit", "first_object", "objects", "only_missing", "warm_up")
	read, oneSlice := &order{Order: common}, int64(1)
	read.StorageClass = r.Word("storage_class", "", standard, oneZone)
	read.objectBytes = r.Between("object_bytes", nil, smallestObject, largestObject)
	read.objectCount = r.Between("object_count", nil, 1, mostObjects)
	read.Slices = r.Between("slices", &oneSlice, 1, mostSlices)
	read.Parallel = r.Between("parallel_limit", nil, 1, largestParallel)
	read.FirstObject = r.Between("first_object", nil, 0, max(0, read.objectCount-1))
	read.Objects = r.Between("objects", nil, 1, max(1, read.objectCount-read.FirstObject))
	read.OnlyMissing, read.WarmUp = r.Flag("only_missing") == 1, r.Flag("warm_up")
	if r.Err != nil {
		return nil, r.Err
	}
	return read, nil
}

// Invoked implements sandbox.Direct: {"place": an order} uploads what is missing.
func (o *operation) Invoked(event json.RawMessage) (body string, ok bool) {
	var asked map[string]map[string]json.RawMessage
	if json.Unmarshal(event, &asked) != nil || len(asked) != 1 || asked["place"] == nil {
		return "", false
	}
	ordered := map[string]json.RawMessage{
		"run_id": json.RawMessage(`"place"`), "cell": json.RawMessage(`"place"`),
		"seq": json.RawMessage("0"), "only_missing": json.RawMessage("1"),
	}
	maps.Copy(ordered, asked["place"])
	text, err := json.Marshal(ordered)
	return string(text), err == nil
}
