package express

import (
	"encoding/xml"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"stampede/transfer/internal/s3test/recorded"
)

// The answer to CreateSession that AWS was recorded to give (x-133) has these members in this order, and five minutes.
func TestTheStubsSessionHasTheFormThatWasRecorded(t *testing.T) {
	wanted := recorded.Answer(t, "x-133").Answer.Fields
	answer := httptest.NewRecorder()
	s := startStub(t)
	s.create(answer, "ReadWrite")
	var given struct {
		XMLName     xml.Name
		Credentials struct {
			Members []struct{ XMLName xml.Name } `xml:",any"`
		}
	}
	if err := xml.Unmarshal(answer.Body.Bytes(), &given); err != nil {
		t.Fatal(err)
	}
	var names []any
	for _, member := range given.Credentials.Members {
		names = append(names, member.XMLName.Local)
	}
	if given.XMLName.Local != wanted["root"] || !reflect.DeepEqual(names, wanted["Credentials"]) {
		t.Errorf("%s %v instead of %+v", given.XMLName.Local, names, wanted)
	}
	if s.life != 5*time.Minute {
		t.Error(s.life)
	}
}
