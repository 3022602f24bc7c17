package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"stampede/transfer/internal/recorded"
	"stampede/transfer/internal/sqsevent"
)

// What SQS was recorded to answer for a handle that has expired (sqs-27), in both of its protocols' words: the code that the SDK
// gives is the older one, from the head.
func TestAHandleThatWasRecordedAsExpiredIsOfAMessageThatIsGone(t *testing.T) {
	wanted := recorded.Answer(t, "sqs-27").Answer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Query-Error", wanted.Code+";Sender")
		w.WriteHeader(wanted.Status)
		fmt.Fprintf(w, `{"__type": "com.amazonaws.sqs#%s", "message": %q}`, wanted.QueryErrorCode, wanted.Message)
	}))
	defer server.Close()
	client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1})
	err := (&queue{client: client, url: server.URL}).hide(context.Background(), &sqsevent.Message{ReceiptHandle: "h"}, 0)
	if !errors.Is(err, errGone) {
		t.Error(err)
	}
}
