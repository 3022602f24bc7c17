package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"stampede/transfer/internal/sqsevent"
)

// What SQS was recorded to answer for a handle that has expired (sqs-27), in both of its protocols' words: the code that the SDK
// gives is the older one, from the head.
func TestAHandleThatWasRecordedAsExpiredIsOfAMessageThatIsGone(t *testing.T) {
	text, err := os.ReadFile("../../../../tests/data/aws_answers/services.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		ID     string
		Answer struct {
			Status                        int
			Code, Message, QueryErrorCode string
		}
	}
	_ = json.Unmarshal(text, &rows) // of other rows the members are of other kinds
	for _, row := range rows {
		if row.ID != "sqs-27" {
			continue
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-Query-Error", row.Answer.Code+";Sender")
			w.WriteHeader(row.Answer.Status)
			fmt.Fprintf(w, `{"__type": "com.amazonaws.sqs#%s", "message": %q}`, row.Answer.QueryErrorCode, row.Answer.Message)
		}))
		defer server.Close()
		client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1})
		err := (&queue{client: client, url: server.URL}).visible(context.Background(), &sqsevent.Message{ReceiptHandle: "h"}, 0)
		if !errors.Is(err, errGone) {
			t.Error(err)
		}
		return
	}
	t.Error("no recorded answer sqs-27")
}
