package express

import (
	"stampede/transfer/internal/workorder"
)

// Classes of storage, as in storage_class.
const (
	standard = "standard"
	oneZone  = "express"
)

const (
	// A sandbox has 1,024 file descriptors (Lambda guide, "Lambda quotas"), and every request a connection.
	largestParallel = 1000
	mostSlices      = 1000
)

var oneSlice int64 = 1 // of an order that says nothing

// order is one slice of a set to upload or to download. WarmUp 1 marks one that no figure counts; OnlyMissing uploads what
// isn't there, or has another size.
type order struct {
	workorder.Order
	set
	StorageClass string
	Parallel     int64
	Slices       int64
	FirstObject  int64
	Objects      int64
	WarmUp       int64
	OnlyMissing  bool
}

// parse reads the body of a message; an error is of the type WorkOrder.
func parse(body string) (*order, error) {
	r, common := workorder.Open(body, "storage_class", "object_bytes", "object_count", "slices", "parallel_limit", "first_object", "objects",
		"only_missing", "warm_up")
	read := &order{Order: common, StorageClass: r.Word("storage_class", standard, oneZone)}
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
