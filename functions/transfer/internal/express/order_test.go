package express

import (
	"strings"
	"testing"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3test"
)

// ordered is a work order of four objects of 1,000 bytes.
func ordered(changes ...string) string {
	return s3test.Order(map[string]string{"storage_class": `"express"`, "object_bytes": "1000", "object_count": "100", "slices": "25",
		"parallel_limit": "8", "first_object": "20", "objects": "4"}, changes...)
}

func TestAWorkOrderSaysWhichObjects(t *testing.T) {
	read, err := parse(ordered(`"warm_up": 1`, `"only_missing": 1`))
	if err != nil {
		t.Fatal(err)
	}
	if read.StorageClass != oneZone || read.set != (set{1000, 100}) || read.Slices != 25 || read.Parallel != 8 || read.FirstObject != 20 ||
		read.Objects != 4 || read.WarmUp != 1 || !read.OnlyMissing || read.RunID != "run-1" || read.Seq != 7 {
		t.Errorf("%+v", read)
	}
	if read, err = parse(ordered("slices", `"first_object": 96`)); err != nil || read.Slices != 1 || read.OnlyMissing {
		t.Errorf("%v: %+v", err, read)
	}
}

func TestAWrongWorkOrderIsRefusedWithItsRule(t *testing.T) {
	for change, said := range map[string]string{
		"storage_class":              "the message lacks the key storage_class: it must be standard or express",
		`"storage_class": "glacier"`: "storage_class must be standard or express, not",
		`"storage_class": 1`:         "storage_class must be standard or express, not",
		"object_bytes":               "lacks the key object_bytes: it must be a whole number from 100 to 1000000000",
		`"object_bytes": 99`:         "object_bytes must be a whole number from 100 to 1000000000",
		`"object_bytes": 1000000001`: "object_bytes must be",
		`"object_count": 10000001`:   "object_count must be a whole number from 1 to 10000000",
		`"slices": 0`:                "slices must be a whole number from 1 to 1000",
		`"parallel_limit": 1001`:     "parallel_limit must be a whole number from 1 to 1000",
		`"first_object": 100`:        "first_object must be a whole number from 0 to 99",
		`"objects": 81`:              "objects must be a whole number from 1 to 80",
		`"objects": 0`:               "objects must be",
		`"only_missing": true`:       "only_missing must be 0 or 1",
		`"manifest": "m/"`:           "unknown key",
	} {
		_, err := parse(ordered(change))
		kind, message := failure.Describe(err)
		if err == nil || kind != failure.WorkOrder || !strings.Contains(message, said) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
