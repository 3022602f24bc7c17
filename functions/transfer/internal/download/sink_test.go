package download

import (
	"testing"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/tempfile"
)

func TestADiskThatIsTooSmallIsNoSpaceBeforeTheFirstByte(t *testing.T) {
	file, err := tempfile.New()
	if err != nil {
		t.Fatal(err)
	}
	made := &sink{kind: tmp, file: file}
	defer made.close()
	if kind, _ := failure.Describe(made.prepare(1 << 60)); kind != failure.NoSpace {
		t.Error(kind)
	}
}
