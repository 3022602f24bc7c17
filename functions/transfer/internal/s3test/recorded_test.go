package s3test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"stampede/transfer/internal/s3test/recorded"
)

// The server of the tests answers with status and code as S3 was recorded to (tests/data/aws_answers/services.json).
func TestTheServerOfTheTestsRefusesAsRecorded(t *testing.T) {
	store := StartStore(t, "b")
	store.Put("b", "k", Stored{Body: []byte("12345678")})
	for id, asked := range map[string]struct{ method, key, header, value string }{
		"s3-100":  {http.MethodPut, "copy", "X-Amz-Copy-Source", "/b/random-src-key"},
		"s3a-113": {http.MethodPut, "k", "X-Amz-Copy-Source", "/b/k"},
		"s3-116":  {http.MethodGet, "k", "Range", "bytes=1024-4096"},
		"s3-119":  {http.MethodGet, "k", "If-Match", `"other"`},
	} {
		wanted := recorded.Answer(t, id).Answer
		request, _ := http.NewRequest(asked.method, store.URL+"/b/"+asked.key, nil)
		request.Header.Set(asked.header, asked.value)
		request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != wanted.Status || !strings.Contains(string(body), "<Code>"+wanted.Code+"</Code>") {
			t.Errorf("%s: %d %s", id, answer.StatusCode, body)
		}
	}
}
