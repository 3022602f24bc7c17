package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryOperationHasAFolderWhichNothingButMainImports(t *testing.T) {
	files, err := filepath.Glob("internal/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for experiment := range operations {
		folder := "internal/" + strings.TrimSuffix(experiment, "_host") // a host does what the function does
		if _, err := os.Stat(folder); err != nil {
			t.Error(err)
		}
		for _, file := range files {
			if strings.HasPrefix(file, folder+"/") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(source), `"stampede/transfer/`+folder) {
				t.Errorf("%s imports %s: %v", file, folder, err)
			}
		}
	}
}

func TestTheFunctionDoesWhatItsExperimentNamesAndTheDownloadWhereNoneIsNamed(t *testing.T) {
	for experiment, refusal := range map[string]string{
		"": "", "download": "", "copy": "", "copy_host": "", "express": "",
		"Download": `EXPERIMENT must be one of copy, copy_host, download, express, not "Download"`,
	} {
		lookup := func(name string) string { return map[string]string{"EXPERIMENT": experiment}[name] }
		made, err := operationOf(context.Background(), lookup)
		if (made == nil) != (err != nil) || (err == nil) != (refusal == "") || err != nil && !strings.HasSuffix(err.Error(), refusal) {
			t.Errorf("%q: %v, %v", experiment, made, err)
		}
	}
}
