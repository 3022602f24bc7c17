package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/recorded"
)

// write sends a recorded answer as S3 does.
func write(w http.ResponseWriter, a recorded.Row) {
	if a.Answer.Code != "" {
		w.WriteHeader(a.Answer.Status)
		if a.Answer.Status == http.StatusNotModified {
			return
		}
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>", a.Answer.Code)
		_ = xml.EscapeText(w, []byte(a.Answer.Message))
		fmt.Fprint(w, "</Message></Error>")
		return
	}
	if result, ok := a.Answer.Fields["CopyObjectResult"].(map[string]any); ok {
		fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n\n<CopyObjectResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">")
		for name, value := range result {
			fmt.Fprintf(w, "<%s>%v</%s>", name, value, name)
		}
		fmt.Fprint(w, "</CopyObjectResult>")
		return
	}
	fmt.Fprint(w, "<DeleteResult>")
	for _, deleted := range a.Answer.Fields["Deleted"].([]any) {
		fmt.Fprint(w, "<Deleted><Key>")
		_ = xml.EscapeText(w, []byte(deleted.(map[string]any)["Key"].(string)))
		fmt.Fprint(w, "</Key></Deleted>")
	}
	fmt.Fprint(w, "</DeleteResult>")
}

func judged(err error) string {
	var known *failure.Error
	switch {
	case err == nil:
		return "done"
	case err == ErrExists:
		return "exists"
	case err == ErrNoBytes:
		return "no bytes"
	case errors.As(err, &known) && known.Temporary:
		return known.Type + ", tried again"
	case errors.As(err, &known):
		return known.Type
	}
	return fmt.Sprintf("%T", err)
}

func TestWhatS3WasRecordedToAnswerIsWhatACopyTakesItFor(t *testing.T) {
	for id, wanted := range map[string]string{
		"s3-97": failure.S3, "s3-98": "done", "s3-100": failure.NoSuchKey, "s3-102": "done", "s3-103": failure.S3, "s3p-104": "exists",
		"s3-107": "done", "s3-108": "done", "s3a-113": "exists", "s3-none-match": "exists", "s3-conflict": failure.S3 + ", tried again",
	} {
		row := recorded.Answer(t, id)
		client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) { write(w, row) })
		_, err := client.Copy(context.Background(), counter{}, "b", "k", "k2")
		if got := judged(err); got != wanted {
			t.Errorf("%s: %s instead of %s: %v", id, got, wanted, err)
		}
		if wanted == failure.S3 && !strings.Contains(err.Error(), row.Answer.Message) {
			t.Errorf("%s: S3's reason isn't in %q", id, err)
		}
	}
}

func TestWhatS3WasRecordedToAnswerIsWhatAReadTakesItFor(t *testing.T) {
	for id, wanted := range map[string]string{
		"s3-116": failure.S3, "s3-119": failure.ObjectChanged, "s3-120": failure.S3, "s3-123": failure.S3,
	} {
		row := recorded.Answer(t, id)
		client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) { write(w, row) })
		_, _, err := client.Get(context.Background(), counter{}, Get{Key: "k", First: 1024, Last: 4096})
		if got := judged(err); got != wanted {
			t.Errorf("%s: %s instead of %s: %v", id, got, wanted, err)
		}
	}
	row := recorded.Answer(t, "s3-116")
	client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) { write(w, row) })
	if _, _, err := client.Get(context.Background(), counter{}, Get{Key: "k", Last: 4096}); judged(err) != "no bytes" {
		t.Error(err)
	}
}

// S3 looks at a condition once more when a copy ends, and then has answered 200 already.
func TestAConditionThatFailsBehindThe200IsTakenForTheSameAsBeforeIt(t *testing.T) {
	row := recorded.Answer(t, "s3a-113")
	for code, wanted := range map[string]string{
		row.Answer.Code: "exists", "ConditionalRequestConflict": failure.S3 + ", tried again", "OperationAborted": failure.S3 + ", tried again",
	} {
		late := row
		late.Answer.Code, late.Answer.Status = code, http.StatusOK
		client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) { write(w, late) })
		if _, err := client.Copy(context.Background(), counter{}, "b", "k", "k2"); judged(err) != wanted {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestKeysThatAreListedAsDeletedAreGone(t *testing.T) {
	row := recorded.Answer(t, "s3-130")
	client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) { write(w, row) })
	left, err := client.Delete(context.Background(), counter{}, []string{"a", "b", "c", "d", "e"})
	if err != nil || left != nil {
		t.Error(left, err)
	}
}

// A copy of parts has a plain ETag, and of KMS another one, but the checksum of the whole object that its source has.
func TestACopyIsKnownByTheChecksumThatItKeeps(t *testing.T) {
	for id, algorithm := range map[string]string{"s3-107": "ChecksumCRC64NVME", "s3-108": "ChecksumCRC32"} {
		result := recorded.Answer(t, id).Answer.Fields["CopyObjectResult"].(map[string]any)
		header := http.Header{}
		header.Set("X-Amz-Checksum-"+strings.TrimPrefix(algorithm, "Checksum"), result[algorithm].(string))
		header.Set("X-Amz-Checksum-Type", result["ChecksumType"].(string))
		copied := Head{Object: Object{ETag: result["ETag"].(string), Bytes: 9}, Checksum: checksumOf(header)}
		source := Head{Object: Object{ETag: `"e-1"`, Bytes: 9}, Checksum: checksumOf(header)}
		if !copied.Same(source) || copied.Checksum == "" {
			t.Errorf("%s: %+v", id, copied)
		}
	}
}
