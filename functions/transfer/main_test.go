package main

import (
	"strings"
	"testing"
)

func TestTheFunctionDoesWhatItsExperimentNamesAndTheDownloadWhereNoneIsNamed(t *testing.T) {
	known := []string{"", "download", "copy", "copy_host", "express"}
	for _, experiment := range append(known, "Download") {
		made, err := operationOf(t.Context(), func(name string) string {
			return map[string]string{"EXPERIMENT": experiment}[name]
		})
		if isRefused := experiment == "Download"; (made == nil) != isRefused ||
			isRefused && !strings.Contains(err.Error(), "copy, copy_host, download, express, not") {
			t.Error(experiment, made, err)
		}
	}
}
