package express

import (
	"io"
	"net/http"
	"reflect"
	"regexp"
	"testing"

	"stampede/transfer/internal/s3test"
	"stampede/transfer/internal/s3test/recorded"
)

// The answer to CreateSession that AWS was recorded to give (x-133) has these members in this order.
func TestASessionOfTheTestsHasTheFormThatWasRecorded(t *testing.T) {
	wanted := recorded.Answer(t, "x-133").Answer.Fields
	s := s3test.StartStore(t, directory)
	request, _ := http.NewRequest(http.MethodGet, s.URL+"/"+directory+"?session", nil)
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	names := []any{}
	for _, opened := range regexp.MustCompile(`<(\w+)`).FindAllSubmatch(body, -1) {
		names = append(names, string(opened[1]))
	}
	if members := append([]any{wanted["root"], "Credentials"}, wanted["Credentials"].([]any)...); !reflect.DeepEqual(names, members) {
		t.Errorf("%s instead of %v", names, members)
	}
}
