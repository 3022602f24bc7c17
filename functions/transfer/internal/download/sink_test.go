package download

import (
	"testing"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/workfolder"
)

func TestADiskThatIsTooSmallIsNoSpaceBeforeTheFirstByte(t *testing.T) {
	folder, err := workfolder.New()
	if err != nil {
		t.Fatal(err)
	}
	made := &sink{settings: &settings{Sink: tmp}, folder: folder}
	defer made.close()
	if kind, _ := failure.Describe(made.prepare(1 << 60)); kind != failure.NoSpace {
		t.Error(kind)
	}
}
