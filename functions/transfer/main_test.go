package main

import (
	"context"
	"strings"
	"testing"
)

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
