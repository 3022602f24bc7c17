package s3test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"stampede/transfer/internal/s3test/agreed"
)

// The tests' server answers with the status, code and members of S3's recorded answers
// (tests/data/aws_answers/services.json).
func TestTheServerOfTheTestsAnswersAsRecorded(t *testing.T) {
	const directory = "b--use1-az4--x-s3"
	store := StartStore(t, "b", directory)
	store.Put("b", "k", Stored{Body: []byte("12345678")})
	for id, asked := range map[string]struct{ method, path, header, value string }{
		"s3-100":  {http.MethodPut, "b/copy", "X-Amz-Copy-Source", "/b/random-src-key"},
		"s3a-113": {http.MethodPut, "b/k", "X-Amz-Copy-Source", "/b/k"},
		"s3-116":  {http.MethodGet, "b/k", "Range", "bytes=1024-4096"},
		"s3-119":  {http.MethodGet, "b/k", "If-Match", `"other"`},
		"x-133": {http.MethodGet, directory + "?session", "X-Amz-Create-Session-Mode",
			"ReadOnly"},
	} {
		wanted := agreed.Recorded(t, id)
		request, _ := http.NewRequest(asked.method, store.URL+"/"+asked.path, nil)
		request.Header.Set(asked.header, asked.value)
		request.SetBasicAuth("", "")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		members, _ := wanted.Fields["Credentials"].([]any)
		for _, part := range append(members, wanted.Code) {
			if answer.StatusCode != wanted.Status ||
				!strings.Contains(string(body), fmt.Sprint(part)) {
				t.Error(id, answer.StatusCode, string(body))
			}
		}
	}
}
