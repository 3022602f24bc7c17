package function

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"stampede/transfer/internal/process"
)

// The test's own binary is also the proxy and the measured program, under these names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "proxy":
		Run(os.Args[1:])
	case "bootstrap":
		program()
	}
	os.Exit(m.Run())
}

// task is the body of a message: what the program is to do, in this order.
type task struct {
	Print   string `json:",omitempty"` // without a line break
	SleepMs int    `json:",omitempty"`
	SpinMs  int    `json:",omitempty"` // CPU time
	Exit    *int   `json:",omitempty"` // status instead of a reply; below 0: be killed
	Kind    string `json:",omitempty"` // "error", otherwise a response
	Reply   string `json:",omitempty"` // "seen": what the program sees of event and process
	Chunked bool   `json:",omitempty"` // reply of unknown length
	Trailer string `json:",omitempty"`
}

// program is somebody's bootstrap, with a runtime of its own.
func program() {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + apiPath
	switch start := os.Getenv("PROGRAM_START"); {
	case start == "official":
		lambda.Start(func(json.RawMessage) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, nil
		})
	case strings.HasPrefix(start, "{"):
		post(api+"/init/error", task{Reply: start})
		os.Exit(4)
	case start != "":
		os.Exit(5)
	}
	for {
		answer, err := http.Get(api + "/invocation/next")
		if err != nil || answer.StatusCode != http.StatusOK {
			os.Exit(replied)
		}
		event, _ := io.ReadAll(answer.Body)
		var received events.SQSEvent
		todo := task{}
		if _ = json.Unmarshal(event, &received); len(received.Records) > 0 {
			_ = json.Unmarshal([]byte(received.Records[0].Body), &todo)
		}
		fmt.Print(todo.Print)
		time.Sleep(time.Duration(todo.SleepMs) * time.Millisecond)
		for begun := process.CPUSeconds(); process.CPUSeconds()-begun < float64(todo.SpinMs)/1000; {
		}
		if todo.Exit != nil && *todo.Exit < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		} else if todo.Exit != nil {
			os.Exit(*todo.Exit)
		}
		if todo.Reply == "seen" {
			elsewhere := os.Getenv("_LAMBDA_TELEMETRY_LOG_FD") +
				os.Getenv("AWS_LAMBDA_EXEC_WRAPPER")
			seen, _ := json.Marshal(map[string]any{"headers": answer.Header, "event": string(event),
				"pid": os.Getpid(), "root": os.Getenv("LAMBDA_TASK_ROOT"), "args": os.Args[1:],
				"elsewhere": elsewhere})
			todo.Reply = string(seen)
		}
		id := answer.Header.Get("Lambda-Runtime-Aws-Request-Id")
		post(api+"/invocation/"+id+"/"+cmp.Or(todo.Kind, "response"), todo)
	}
}

func post(url string, todo task) {
	var body io.Reader = bytes.NewReader([]byte(todo.Reply))
	if todo.Chunked {
		body = io.MultiReader(body)
	}
	request, _ := http.NewRequest(http.MethodPost, url, body)
	request.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
	if todo.Trailer != "" {
		request.Trailer = http.Header{errorType: {todo.Trailer}}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		os.Exit(7)
	}
}
