// Package function measures an unchanged program. It stands between the program and Lambda's
// runtime API, passes requests and answers on, and writes a record of each message: from handing
// out its event to the arrival of the reply. The program is a managed runtime with its handler,
// which Lambda has this process start (AWS_LAMBDA_EXEC_WRAPPER), or the bootstrap of
// provided.al2023, which this process replaces.
package function

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/sandbox"
)

const (
	apiPath = "/2018-06-01/runtime"
	// lead is how long before the function's timeout an unfinished message gets its record.
	lead = 200 * time.Millisecond
	// hastened is the longest that a reply waits while failed messages are sent back.
	hastened = 2 * time.Second
)

// proxy is the runtime API as the program sees it. A sandbox has one invocation at a time.
type proxy struct {
	*sandbox.Recorder
	labels *environment.Labels // nil when the environment is wrong
	// The trigger's batch size and batching window, for the records.
	batchSize, windowS int64
	api                *url.URL // Lambda's own
	client             http.Client
	output             output
	pid                int // the program's
	started            time.Time

	mutex   sync.Mutex
	wrong   error         // why no message can be measured
	init    time.Duration // from the program's start to its first request for an event; 0: none yet
	current *invocation
}

// Run starts a program, measures it while it runs, and then ends this process in the same way.
// managed is the command line of a managed runtime; otherwise STAMPEDE_BOOTSTRAP is the program.
func Run(managed []string) {
	process.UseOneProcessor()
	runtime.LockOSThread() // the program is killed when the thread that started it ends
	p, program := newProxy(), command(managed)
	if err := p.run(program); err != nil {
		p.ended(err.Error())
		os.Exit(1)
	}
	p.ended(program.ProcessState.String())
	if program.ProcessState.ExitCode() < 0 {
		// so that Lambda reports the same signal
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	os.Exit(program.ProcessState.ExitCode())
}

// command is the program's command line, folder and environment, without two variables that would
// mislead it: _LAMBDA_TELEMETRY_LOG_FD names an open file of this process, and without it a runtime
// logs to its standard output.
func command(managed []string) *exec.Cmd {
	_ = os.Unsetenv("_LAMBDA_TELEMETRY_LOG_FD")
	_ = os.Unsetenv("AWS_LAMBDA_EXEC_WRAPPER")
	if len(managed) > 0 {
		return exec.Command(managed[0], managed[1:]...)
	}
	program := exec.Command(cmp.Or(os.Getenv("STAMPEDE_BOOTSTRAP"), "/opt/bootstrap"))
	program.Dir = filepath.Dir(program.Path)
	_ = os.Setenv("LAMBDA_TASK_ROOT", program.Dir)
	return program
}

func newProxy() *proxy {
	reader := environment.Reader{Lookup: os.Getenv}
	labels := reader.Labels()
	p := &proxy{
		batchSize: reader.IntegerOr("STAMPEDE_BATCH_SIZE", 1, 1, 10_000),
		windowS:   reader.IntegerOr("STAMPEDE_BATCHING_WINDOW_S", 0, 0, 300),
		Recorder:  sandbox.NewRecorder(os.Stdout), output: output{log: os.Stdout},
		started: time.Now(), wrong: reader.Err,
		api:    &url.URL{Scheme: "http", Host: os.Getenv("AWS_LAMBDA_RUNTIME_API"), Path: "/"},
		client: http.Client{Transport: &http.Transport{DisableCompression: true}},
	}
	if reader.Err == nil {
		p.labels = &labels
	}
	return p
}

// run serves a program until it ends. An error says that it couldn't be started.
func (p *proxy) run(program *exec.Cmd) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var written *os.File
	if p.output.pipe, written, err = os.Pipe(); err != nil {
		return err
	}
	address := listener.Addr().String()
	program.Stdout, program.Stderr, program.SysProcAttr = written, written, process.EndsWithParent()
	program.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+address)
	if err = program.Start(); err != nil {
		return err
	}
	p.pid = program.Process.Pid
	_ = written.Close() // the program has its own
	go p.output.follow()
	server := &http.Server{Handler: forNoPage(p.handler(), address), ConnState: closeOthers}
	go func() { _ = server.Serve(listener) }()
	_ = program.Wait()
	replying, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = server.Shutdown(replying) // the program's last reply may still be on its way
	return nil
}

func (p *proxy) handler() http.Handler {
	toLambda := func(r *httputil.ProxyRequest) { r.SetURL(p.api) }
	lambda := &httputil.ReverseProxy{Rewrite: toLambda, Transport: p.client.Transport}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiPath+"/invocation/next", p.next)
	mux.HandleFunc("POST "+apiPath+"/init/error", p.initError)
	mux.Handle("POST "+apiPath+"/invocation/{id}/{kind}", p.reply(lambda))
	mux.Handle("/", lambda)
	return mux
}

// next gives the program its next event. The first request shows that the program has started.
func (p *proxy) next(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	p.init = time.Since(p.started) // used for the first message only
	p.mutex.Unlock()
	r.Header.Del("Connection") // it concerns the program's own connection
	for {
		answer, event, err := p.ask(r.Context(), http.MethodGet, "next", r.Header, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		if p.begin(r.Context(), answer, event) {
			maps.Copy(w.Header(), answer.Header)
			w.WriteHeader(answer.StatusCode)
			_, _ = w.Write(event)
			return
		}
	}
}

// ask calls Lambda's runtime API: for the next event, or with a reply.
func (p *proxy) ask(
	ctx context.Context, method, path string, header http.Header, body io.Reader,
) (answer *http.Response, text []byte, err error) {
	url := p.api.JoinPath(apiPath, "invocation", path).String()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, nil, err
	}
	request.Header = header
	if answer, err = p.client.Do(request); err == nil {
		text, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
	}
	return answer, text, err
}

// reply records the program's reply before passing it on: after that Lambda may freeze the sandbox.
func (p *proxy) reply(lambda http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// the whole of a stream, too: a queue's trigger doesn't read replies as streams
		body, err := io.ReadAll(r.Body)
		arrived := time.Now()
		p.output.take()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if i := p.release(r.PathValue("id")); i != nil {
			p.record(i, arrived, judge(r, body, i.ids()))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		lambda.ServeHTTP(w, r)
	}
}

// initError keeps the reason why the program can't start. Lambda gets it as the error of the first
// message, which therefore has a record and comes back after seconds.
func (p *proxy) initError(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mutex.Lock()
	p.wrong = failure.New(failure.HandlerMissing,
		"the program reported an error at its start: %s", thrown(r, body))
	p.mutex.Unlock()
	w.WriteHeader(http.StatusAccepted)
}

// ended records the message that the program had when it ended, or the next one if it never asked
// for any.
func (p *proxy) ended(how string) {
	if line := p.output.last(); line != "" {
		how += fmt.Sprintf(", after %.200q", line)
	}
	if i := p.release(""); i != nil {
		why := failure.New(failure.HandlerExited, "the program ended before it replied: %s", how)
		p.record(i, time.Now(), each(i.ids(), why))
	} else if p.init == 0 {
		p.wrong = cmp.Or(p.wrong, error(failure.New(failure.HandlerMissing,
			"the program ended before it asked for a message: %s", how)))
		answer, event, err := p.ask(context.Background(), http.MethodGet, "next", nil, nil)
		if err == nil {
			p.begin(context.Background(), answer, event)
		}
	}
}
