package express

import (
	"encoding/xml"
	"io"
	"net/http"
	"reflect"
	"testing"

	"stampede/transfer/internal/recorded"
	"stampede/transfer/internal/s3test"
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
	var given struct {
		XMLName     xml.Name
		Credentials struct {
			Members []struct{ XMLName xml.Name } `xml:",any"`
		}
	}
	if err := xml.Unmarshal(body, &given); err != nil {
		t.Fatal(err)
	}
	var names []any
	for _, member := range given.Credentials.Members {
		names = append(names, member.XMLName.Local)
	}
	if given.XMLName.Local != wanted["root"] || !reflect.DeepEqual(names, wanted["Credentials"]) {
		t.Errorf("%s %v instead of %+v", given.XMLName.Local, names, wanted)
	}
}
