package express

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"stampede/transfer/internal/s3test"
)

// place invokes the function directly.
func (f *function) place(payload string) (map[string]any, error) {
	answer, err := f.Deliver(payload)
	if err != nil {
		return nil, err
	}
	return f.Record(string(answer.(json.RawMessage))), nil
}

const placed = `{"storage_class": "express", "object_bytes": 1000, "object_count": 40, "first_object": 10, "objects": 20, "parallel_limit": 4}`

func TestPlacingUploadsWhatIsMissingOrHasAnotherSizeWhateverOrderTheListingHas(t *testing.T) {
	s := startStub(t)
	f, asked := start(t), set{1000, 40}
	for _, i := range []int64{0, 10, 11, 12, 13, 15, 28, 29, 31} { // the last one is another slice's
		s.objects[directory+"/"+asked.key(i)] = stored{bytes: 1000}
	}
	s.objects[directory+"/"+asked.key(20)] = stored{bytes: 999}
	s.objects[directory+"/"+asked.prefix()+"16.json"] = stored{bytes: 1000} // no key of the set
	s.objects[directory+"/"+set{1000, 41}.key(17)] = stored{bytes: 1000}
	record, err := f.place(`{"place": ` + placed + `}`)
	if err != nil {
		t.Fatal(err)
	}
	// A session, five pages, and 20 objects but for seven.
	s3test.Expect(t, record, map[string]any{"status": "ok", "operation": "upload", "bytes": 13_000, "objects": 20, "sessions": 1, "requests": 19, "run_id": "place"})
	for i := range int64(20) {
		if s.objects[directory+"/"+asked.key(10+i)].bytes != 1000 {
			t.Error(i)
		}
	}
	record, err = f.place(`{"place": ` + placed + `}`)
	s3test.Expect(t, record, map[string]any{"status": "ok", "bytes": 0, "objects_per_s": 0, "set_seconds": nil})
	if puts := s.count(http.MethodPut); err != nil || puts != 13 {
		t.Error(err, puts)
	}
}

func TestPlacingThatFailsIsAnErrorOfTheFunction(t *testing.T) {
	s := startStub(t)
	s.refuse = func(_ *http.Request, kind string, _ int) (int, string) {
		return map[string]int{"list": 403}[kind], "AccessDenied"
	}
	for payload, c := range map[string][2]string{
		`{"place": ` + placed + `}`:      {"AccessDenied", "ListObjectsV2 403 AccessDenied"},
		`{"place": {}}`:                  {"WorkOrderError", "lacks the key storage_class"},
	} {
		_, err := start(t).place(payload)
		failed, ok := err.(messages.InvokeResponse_Error)
		if !ok || failed.Type != c[0] || !strings.Contains(failed.Message, c[1]) {
			t.Errorf("%s: %v", payload, err)
		}
	}
	s.refuse = nil
	for kind, said := range map[string]string{"list": "ListObjectsV2: the answer isn't S3's", "session": "this server has no directory buckets"} {
		s.garbled = kind
		_, err := start(t).place(`{"place": ` + placed + `}`)
		if failed, ok := err.(messages.InvokeResponse_Error); !ok || failed.Type != "S3Error" || !strings.Contains(failed.Message, said) {
			t.Error(err)
		}
	}
	_, err := start(t, "OPERATION=download").place(`{"place": ` + placed + `}`)
	if failed, ok := err.(messages.InvokeResponse_Error); !ok || !strings.Contains(failed.Message, "only_missing is for the function with OPERATION=upload") {
		t.Error(err)
	}
}

func TestOtherEventsAreNoPlacing(t *testing.T) {
	for _, event := range []string{`{}`, `[]`, `null`, `{"place": {}, "more": 1}`, `{"placed": {}}`, `{"Records": [], "place": {}}`} {
		if body, ok := (&operation{}).Invoked(json.RawMessage(event)); ok {
			t.Errorf("%s: %s", event, body)
		}
	}
}
