package s3test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"stampede/transfer/internal/s3test/recorded"
)

// The servers of the tests answer with status and code as S3 was recorded to (tests/data/aws_answers/services.json).
func TestTheServersOfTheTestsRefuseAsRecorded(t *testing.T) {
	server, store := Start(t, "k", []byte("12345678")), StartStore(t, "b")
	store.Put("b", "k", Stored{Body: []byte("12345678")})
	store.Put("b", "taken", Stored{})
	asked := map[string]struct{ method, url, header, value string }{
		"s3-100":  {http.MethodPut, store.URL + "/b/copy", "X-Amz-Copy-Source", "/b/random-src-key"},
		"s3a-113": {http.MethodPut, store.URL + "/b/taken", "X-Amz-Copy-Source", "/b/k"},
		"s3-116":  {http.MethodGet, server.URL + "/" + Bucket + "/k", "Range", "bytes=1024-4096"},
		"s3-119":  {http.MethodGet, server.URL + "/" + Bucket + "/k", "If-Match", `"other"`},
	}
	for id, one := range asked {
		wanted := recorded.Answer(t, id).Answer
		request, _ := http.NewRequest(one.method, one.url, nil)
		request.Header.Set(one.header, one.value)
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
