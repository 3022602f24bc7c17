package download

import "stampede/transfer/internal/workorder"

// order is one download to do. ObjectBytes is the size that the object must have, Checksum what its bytes must have; nil
// where the order leaves them out. WarmUp 1 marks a download that no figure counts.
type order struct {
	workorder.Order
	ObjectBytes *int64
	WarmUp      int64
	Checksum    *Checksum
}

// parse reads the body of a message; an error is of the type WorkOrder.
func parse(body string) (*order, error) {
	r, common := workorder.Open(body, "object_bytes", "warm_up", "checksum")
	parsed := &order{Order: common, ObjectBytes: r.Optional("object_bytes"), WarmUp: r.Flag("warm_up")}
	r.Text("checksum", "sha256: with 64 or crc32: with 8 lower-case hexadecimal digits", func(text string) bool {
		parsed.Checksum = ParseChecksum(text)
		return parsed.Checksum != nil
	})
	if r.Err != nil {
		return nil, r.Err
	}
	return parsed, nil
}
