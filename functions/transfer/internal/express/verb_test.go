package express

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"stampede/transfer/internal/host"
)

// command runs one command line; stdout is parsed when there is one.
func command(t *testing.T, arguments ...string) (status int, answer map[string]any, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	status = host.Main(context.Background(), Verbs, arguments, &out, &errors)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return status, answer, errors.String()
}

func TestTheVerbsPutAndGetAWholeSetAndSayWhatItTook(t *testing.T) {
	s := startStub(t)
	for bucket, sessions := range map[string]int{general: 0, directory: 1} {
		for _, verb := range []string{"put-set", "get-set"} {
			status, answer, stderr := command(t, verb, "--bucket", bucket, "--object-bytes", "150", "--object-count", "20", "--parallel", "3")
			expect(t, answer, map[string]any{"objects": 20, "bytes": 3000, "requests": 20 + sessions, "sessions": sessions, "retries": 0})
			if status != 0 || stderr != "" || answer["elapsed_seconds"] != answer["set_seconds"] {
				t.Error(verb, status, stderr, answer)
			}
		}
	}
	if len(s.objects) != 40 || strings.Join(s.modes, " ") != "ReadWrite ReadOnly" {
		t.Error(len(s.objects), s.modes)
	}
	s.refuse = func(_ *http.Request, kind string, _ int) (int, string) {
		return map[string]int{http.MethodGet: 403}[kind], "AccessDenied"
	}
	status, answer, stderr := command(t, "get-set", "--bucket", general, "--object-bytes", "150", "--object-count", "20")
	if status != 1 || answer["objects"] != 0.0 || !strings.HasPrefix(stderr, "transfer get-set: AccessDenied: GetObject 403") {
		t.Error(status, answer, stderr)
	}
}

func TestAWrongCommandLineIsOneLineAndStatus2(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		word      string
	}{
		{nil, "--bucket is missing"},
		{[]string{"--bucket", "b", "--object-bytes", "99"}, "--object-bytes must be a whole number from 100 to 1000000000, not 99"},
		{[]string{"--bucket", "b", "--object-count", "0"}, "--object-count"},
		{[]string{"--bucket", "b", "--parallel", "1001"}, "--parallel must be a whole number from 1 to 1000, not 1001"},
		{[]string{"--bucket", "b", "more"}, "more"},
	} {
		status, answer, stderr := command(t, append([]string{"put-set"}, c.arguments...)...)
		if status != 2 || answer != nil || !strings.Contains(stderr, c.word) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: %d %s", c.arguments, status, stderr)
		}
	}
}
