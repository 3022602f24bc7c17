package bucket

import (
	"testing"

	"stampede/transfer/internal/s3test/agreed"
)

func TestTheTimeoutsAreThoseThatBothLanguagesAgreedOn(t *testing.T) {
	var timeouts map[string]float64
	agreed.Read(t, "timeouts.json", &timeouts)
	if timeouts["connect_s"] != connectTimeout.Seconds() || timeouts["read_s"] != ReadTimeout.Seconds() {
		t.Errorf("%v: the timeouts are %v and %v", timeouts, connectTimeout, ReadTimeout)
	}
}
