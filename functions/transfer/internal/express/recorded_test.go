package express

import (
	"encoding/json"
	"encoding/xml"
	"net/http/httptest"
	"os"
	"reflect"
	"testing"
	"time"
)

// The answer to CreateSession that AWS was recorded to give (x-133) has these members in this order, and five minutes.
func TestTheStubsSessionHasTheFormThatWasRecorded(t *testing.T) {
	text, err := os.ReadFile("../../../../tests/data/aws_answers/services.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		ID     string
		Answer struct {
			Fields struct {
				Root        string
				Credentials []string
			}
		}
	}
	_ = json.Unmarshal(text, &rows) // of other rows the fields are of other kinds
	wanted := rows[len(rows)-1]
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
	var names []string
	for _, member := range given.Credentials.Members {
		names = append(names, member.XMLName.Local)
	}
	if wanted.ID != "x-133" || given.XMLName.Local != wanted.Answer.Fields.Root || !reflect.DeepEqual(names, wanted.Answer.Fields.Credentials) {
		t.Errorf("%s %v instead of %+v", given.XMLName.Local, names, wanted)
	}
	if s.life != 5*time.Minute {
		t.Error(s.life)
	}
}
