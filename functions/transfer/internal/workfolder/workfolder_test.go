package workfolder

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderThatNobodyLocksIsRemovedAndOneInUseIsNot(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	abandoned, other := filepath.Join(os.TempDir(), prefix+"killed"), filepath.Join(os.TempDir(), "another")
	for _, folder := range []string{abandoned, other} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "object"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used, err := New()
	if err != nil {
		t.Fatal(err)
	}
	removeAbandoned()
	if there, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(there) != 2 || there[0] != other || there[1] != used.Path {
		t.Error(there)
	}
	used.Close()
	if there, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(there) != 1 {
		t.Error(there)
	}
}
