package s3test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// The servers of the tests answer with status and code as S3 was recorded to (tests/data/aws_answers/services.json).
func TestTheServersOfTheTestsRefuseAsRecorded(t *testing.T) {
	text, err := os.ReadFile("../../../../tests/data/aws_answers/services.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		ID     string
		Answer struct {
			Status int
			Code   string
		}
	}
	_ = json.Unmarshal(text, &rows) // of other rows the members are of other kinds
	server, store := Start(t, "k", []byte("12345678")), StartStore(t, "b")
	store.Put("b", "k", Stored{Body: []byte("12345678")})
	store.Put("b", "taken", Stored{})
	asked := map[string]struct{ method, url, header, value string }{
		"s3-100":  {http.MethodPut, store.URL + "/b/copy", "X-Amz-Copy-Source", "/b/random-src-key"},
		"s3a-113": {http.MethodPut, store.URL + "/b/taken", "X-Amz-Copy-Source", "/b/k"},
		"s3-116":  {http.MethodGet, server.URL + "/" + Bucket + "/k", "Range", "bytes=1024-4096"},
		"s3-119":  {http.MethodGet, server.URL + "/" + Bucket + "/k", "If-Match", `"other"`},
	}
	for _, row := range rows {
		one, ok := asked[row.ID]
		if !ok {
			continue
		}
		delete(asked, row.ID)
		request, _ := http.NewRequest(one.method, one.url, nil)
		request.Header.Set(one.header, one.value)
		request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != row.Answer.Status || !strings.Contains(string(body), "<Code>"+row.Answer.Code+"</Code>") {
			t.Errorf("%s: %d %s", row.ID, answer.StatusCode, body)
		}
	}
	if len(asked) > 0 {
		t.Errorf("not recorded: %v", asked)
	}
}
