package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNothingButMainImportsAnOperation(t *testing.T) {
	files, _ := filepath.Glob("internal/*/*.go")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		for experiment := range operations {
			if folder := "internal/" + experiment; !strings.HasPrefix(file, folder) && strings.Contains(string(source), folder+`"`) {
				t.Errorf("%s imports %s", file, folder)
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
