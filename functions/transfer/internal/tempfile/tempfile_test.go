package tempfile

import (
	"os"
	"testing"
)

func TestAFileHasNoNameThatAKilledProcessWouldLeave(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteAt([]byte("x"), 1<<20); err != nil {
		t.Error(err)
	}
	if room, err := Room(file); err != nil || room < 1<<20 {
		t.Error(room, err)
	}
	if names, err := os.ReadDir(os.TempDir()); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
}
