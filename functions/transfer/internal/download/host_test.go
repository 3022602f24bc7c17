package download

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stampede/transfer/internal/host"
	"stampede/transfer/internal/s3test"
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

func TestGetWritesTheFileAndPrintsOneRecord(t *testing.T) {
	body := s3test.Random(5<<20 + 17)
	s3test.Start(t, "a/k", body)
	for _, method := range []string{"stream", "ranges"} {
		output := filepath.Join(t.TempDir(), "out")
		status, record, stderr := command(t, "get", "--bucket", s3test.Bucket, "--key", "a/k", "--method", method, "--part-mb", "1", "--output", output)
		if status != 0 || stderr != "" || record["method"] != "go_"+method || record["bytes"] != float64(len(body)) || record["memory_size"] != nil {
			t.Fatalf("%d %v %s", status, record, stderr)
		}
		if got, _ := os.ReadFile(output); !bytes.Equal(got, body) {
			t.Error("other bytes")
		}
		expectOnly(t, filepath.Dir(output), "out")
	}
}

func TestAFailedGetLeavesWhatWasThere(t *testing.T) {
	server := s3test.Start(t, "k", s3test.Random(100))
	server.Status = 403
	output := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(output, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, record, stderr := command(t, "get", "--bucket", s3test.Bucket, "--key", "k", "--output", output)
	if status != 1 || record["error_type"] != "AccessDenied" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%d %v %s", status, record, stderr)
	}
	if got, _ := os.ReadFile(output); string(got) != "old" {
		t.Error("the old file is gone")
	}
	expectOnly(t, filepath.Dir(output), "out")
}

func TestGetManyWritesEveryObjectUnderThePrefixOverFewConnections(t *testing.T) {
	server := s3test.Start(t, "p/large.bin", s3test.Random(3<<20))
	for i := range 50 {
		server.Put(fmt.Sprintf("p/deep/%02d é+.txt", i), s3test.Random((i+1)*100))
	}
	server.Put("p/folder/", nil)
	server.Put("q", nil)
	server.PageKeys, server.Cuts, server.SlowDowns = 7, 1, 1
	output := t.TempDir()
	status, summary, stderr := command(t, "get-many", "--bucket", s3test.Bucket, "--prefix", "p/", "--output", output, "--parallel", "3")
	if status != 0 || stderr != "" || summary["objects"] != 51.0 || summary["bytes"] != float64(3<<20+100*50*51/2) || summary["retries"] != 2.0 {
		t.Fatalf("%d %v %s", status, summary, stderr)
	}
	for i := range 50 {
		got, err := os.ReadFile(filepath.Join(output, "deep", fmt.Sprintf("%02d é+.txt", i)))
		if err != nil || !bytes.Equal(got, s3test.Random((i+1)*100)) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	expectOnly(t, output, "deep", "large.bin")
	connections := map[string]bool{}
	for _, request := range server.Requests() {
		connections[request.RemoteAddr] = true
	}
	if len(connections) > 5 || summary["requests"] != float64(len(server.Requests())) {
		t.Errorf("%d connections, %v requests counted of %d", len(connections), summary["requests"], len(server.Requests()))
	}
}

func TestAKeyThatWouldLeaveTheFolderIsNotWritten(t *testing.T) {
	server := s3test.Start(t, "p/good", s3test.Random(10))
	for _, key := range []string{"p/../evil", "p//absolute", "p/./x", "p/a/../../../evil"} {
		server.Put(key, s3test.Random(10))
	}
	output := filepath.Join(t.TempDir(), "in")
	status, summary, stderr := command(t, "get-many", "--bucket", s3test.Bucket, "--prefix", "p/", "--output", output)
	if status != 1 || summary["objects"] != 1.0 || summary["failed"] != 4.0 || strings.Count(stderr, "FileError") != 4 {
		t.Errorf("%d %v %s", status, summary, stderr)
	}
	expectOnly(t, output, "good")
	expectOnly(t, filepath.Dir(output), "in")
}

func TestAWrongCommandLineIsOneLineAndStatus2(t *testing.T) {
	valid := []string{"get", "--bucket", "b", "--key", "k", "--output", "o"}
	for _, c := range []struct {
		arguments []string
		word      string
	}{
		{[]string{"get"}, "--bucket is missing"},
		{append(valid, "--method", "crt"), "--method"},
		{append(valid, "--sink", "discard"), "--output"},
		{append(valid, "--parallel", "0"), "--parallel"},
		{append(valid, "--part-mb", "0"), "--part-mb"},
		{append(valid, "--checksum", "md5:0"), "--checksum"},
		{append(valid, "--endpoint-url", "foo"), `--endpoint-url must be http://host:port or https://host:port, not "foo"`},
		{append(valid, "more"), "more"},
		{[]string{"get-many", "--bucket", "b"}, "--output is missing"},
		{append(valid, "--paralel", "1"), "not defined: -paralel; see --help"},
		{append(valid, "--parallel", "1,5"), `"1,5" for flag -parallel: must be a whole number; see --help`},
		{[]string{"put"}, `there is no command "put"; see transfer --help`},
	} {
		status, answer, stderr := command(t, c.arguments...)
		if status != 2 || answer != nil || !strings.Contains(stderr, c.word) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: %d %s", c.arguments, status, stderr)
		}
	}
	if status, _, stderr := command(t); status != 2 || !strings.Contains(stderr, "get-many") {
		t.Errorf("without arguments: %d %s", status, stderr)
	}
}

func expectOnly(t *testing.T, folder string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	if fmt.Sprint(found) != fmt.Sprint(names) {
		t.Errorf("%s holds %v, not %v", folder, found, names)
	}
}
