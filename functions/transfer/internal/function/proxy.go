// Package function measures somebody else's program without touching it. It stands between the program and Lambda's runtime
// API, hands requests and answers on as they are, and writes a record of each message: from handing out its event to the
// arrival of the reply. The program is a managed runtime with its handler, which Lambda has this one start
// (AWS_LAMBDA_EXEC_WRAPPER), or the bootstrap of provided.al2023, in whose place this one is the function.
package function

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/environment"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/sandbox"
	"stampede/transfer/internal/sqsevent"
)

const (
	apiPath = "/2018-06-01/runtime"
	// lead is how long before the function's timeout a message that is still with the program gets its record.
	lead = 200 * time.Millisecond
)

// errRefused says that a message has been answered without the program.
var errRefused = errors.New("the message can't be measured")

// proxy is the runtime API as the program sees it. A sandbox of Lambda has one invocation at a time.
type proxy struct {
	*sandbox.Recorder
	lookup  func(string) string
	labels  *environment.Labels // nil when the environment is wrong
	api     *url.URL            // Lambda's own
	lambda  *httputil.ReverseProxy
	lines   *wholeLines
	pid     int // the program's
	started time.Time

	mutex   sync.Mutex
	wrong   error         // why no message can be measured
	init    time.Duration // from the program's start until it asked for its first event; 0: not yet
	current *invocation
}

// Run starts a program, measures it for as long as it runs, and ends this process as it ended. runtime is the command line of
// a managed runtime; without one the program is the bootstrap that STAMPEDE_BOOTSTRAP names.
func Run(managed []string, lookup func(string) string, log io.Writer) {
	process.UseOneProcessor()
	runtime.LockOSThread() // the program is killed when the thread that started it ends
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := newProxy(lookup, log)
	program, output := command(managed, lookup), p.lines.open()
	program.Stdout, program.Stderr = output, output
	program.SysProcAttr = process.EndsWithParent()
	program.Env = append(program.Env, "AWS_LAMBDA_RUNTIME_API="+listener.Addr().String())
	if err = program.Start(); err == nil {
		p.pid = program.Process.Pid
		_ = output.Close() // the program has its own
		go p.lines.follow()
		server := &http.Server{Handler: forNoPage(p.handler(), listener.Addr().String())}
		go func() { _ = server.Serve(ownListener{listener}) }()
		_ = program.Wait()
		replying, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(replying) // what the program sent last may still be on its way
	}
	if program.ProcessState == nil {
		p.ended(err.Error())
		os.Exit(1)
	}
	p.ended(program.ProcessState.String())
	if program.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // so that Lambda reports the same of this process
	}
	os.Exit(program.ProcessState.ExitCode())
}

// command is the program's command line, folder and environment, which lacks two variables that lead elsewhere:
// _LAMBDA_TELEMETRY_LOG_FD names an open file of this process, and without it a runtime logs to its standard output.
func command(managed []string, lookup func(string) string) *exec.Cmd {
	elsewhere := func(variable string) bool {
		return strings.HasPrefix(variable, "_LAMBDA_TELEMETRY_LOG_FD=") || strings.HasPrefix(variable, "AWS_LAMBDA_EXEC_WRAPPER=")
	}
	environment := slices.DeleteFunc(os.Environ(), elsewhere)
	if len(managed) > 0 {
		program := exec.Command(managed[0], managed[1:]...)
		program.Env = environment
		return program
	}
	file := cmp.Or(lookup("STAMPEDE_BOOTSTRAP"), "/opt/bootstrap")
	program := exec.Command(file)
	program.Dir = filepath.Dir(file)
	program.Env = append(environment, "LAMBDA_TASK_ROOT="+program.Dir)
	return program
}

func newProxy(lookup func(string) string, log io.Writer) *proxy {
	p := &proxy{Recorder: sandbox.NewRecorder(log), lookup: lookup, lines: &wholeLines{log: log}, started: time.Now()}
	reader := environment.Reader{Lookup: lookup}
	if labels := reader.Labels(); reader.Err == nil {
		p.labels = &labels
	}
	p.wrong, p.api = reader.Err, &url.URL{Scheme: "http", Host: lookup("AWS_LAMBDA_RUNTIME_API")}
	p.lambda = &httputil.ReverseProxy{
		Rewrite:        p.forward,
		Transport:      &http.Transport{DisableCompression: true},
		ModifyResponse: p.begin,
		ErrorHandler:   p.again,
	}
	return p
}

func (p *proxy) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+apiPath+"/invocation/{id}/{kind}", p.reply)
	mux.HandleFunc("POST "+apiPath+"/init/error", p.initError)
	mux.Handle("/", p.lambda)
	return mux
}

// forward hands a request on to Lambda. The first one says that the program has started.
func (p *proxy) forward(r *httputil.ProxyRequest) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.init = cmp.Or(p.init, time.Since(p.started))
	r.SetURL(p.api)
}

// begin starts the clock of an event that goes to the program. One that can't be measured is answered here; one that isn't a
// message of SQS goes to the program without a record.
func (p *proxy) begin(answer *http.Response) error {
	if !strings.HasSuffix(answer.Request.URL.Path, "/next") || answer.StatusCode != http.StatusOK {
		return nil
	}
	event, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(event))
	messages, err := sqsevent.Read(event)
	if err != nil || len(messages) > 1 {
		fmt.Fprintln(os.Stderr, "not measured: the event isn't one message of SQS")
		return nil
	}
	ms, _ := strconv.ParseInt(answer.Header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
	i := &invocation{deadline: time.UnixMilli(ms), Delivery: record.Delivery{
		Message: messages[0], RequestID: answer.Header.Get("Lambda-Runtime-Aws-Request-Id"), Function: p.labels,
	}}
	err = cmp.Or(i.read(), p.wrong)
	if err == nil && i.Order != nil {
		err = deadline.WaitUntil(answer.Request.Context(), i.Order.StartAtMs, i.deadline.Add(-lead))
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	i.IsFirst = p.IsFirst()
	p.lines.begin()
	i.startedCPU, i.started = process.CPUSecondsOf(p.pid), time.Now()
	if err != nil {
		return p.refuse(i, answer.Request, err)
	}
	p.current = i
	i.timer = time.AfterFunc(time.Until(i.deadline)-lead, func() { p.timedOut(i) })
	return nil
}

// refuse records a message that the program doesn't get, and tells Lambda that its invocation failed.
func (p *proxy) refuse(i *invocation, next *http.Request, err error) error {
	p.record(i, time.Now(), err)
	kind, message := failure.Describe(err)
	body := record.Object([]record.Pair{{Key: "errorType", Value: kind}, {Key: "errorMessage", Value: message}})
	url := strings.Replace(next.URL.String(), "/next", "/"+i.RequestID+"/error", 1)
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	return cmp.Or(answer.Body.Close(), errRefused)
}

// again asks for the next event after one that was refused.
func (p *proxy) again(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errRefused) {
		p.lambda.ServeHTTP(w, r)
		return
	}
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// reply takes what the program says of an event, and records it before handing it on: then Lambda may freeze the sandbox.
func (p *proxy) reply(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // all of a streamed one too: nobody reads that of a queue's trigger as a stream
	arrived := time.Now()
	p.lines.take()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mutex.Lock()
	if i := p.current; i != nil && i.RequestID == r.PathValue("id") { // another one is for Lambda to refuse
		p.current = nil
		i.timer.Stop()
		p.record(i, arrived, judge(r, body, i.Message.ID))
	}
	p.mutex.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.lambda.ServeHTTP(w, r)
}

// initError keeps why the program can't start. Lambda hears it as the error of the first message, which so has a record, and
// comes back after seconds.
func (p *proxy) initError(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mutex.Lock()
	p.wrong = failure.New(failure.HandlerMissing, "the program reported an error at its start: %s", thrown(r, body))
	p.mutex.Unlock()
	w.WriteHeader(http.StatusAccepted)
}

// timedOut records a message that the program still has when Lambda is about to end it. A reply may come after all.
func (p *proxy) timedOut(i *invocation) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.current == i {
		p.record(i, time.Now(), failure.New(failure.HandlerTimedOut, "still running %g s before the function's timeout: raise timeout_s", lead.Seconds()))
	}
}

// ended records the message that the program had when it ended; the next one, if it never asked for any. A runtime that dies of
// what the handler raised, as Python's does of an exception that can't be printed, says so in a traceback.
func (p *proxy) ended(how string) {
	p.lines.take()
	p.lines.end()
	p.mutex.Lock()
	i := p.current
	p.current = nil
	p.mutex.Unlock()
	printed := bytes.TrimSpace(p.lines.printed)
	ending := how
	if last := printed[bytes.LastIndexByte(printed, '\n')+1:]; len(last) > 0 {
		ending += fmt.Sprintf(", after %.200q", last)
	}
	if i != nil {
		why := failure.New(failure.HandlerExited, "the program ended before it replied: %s", ending)
		ofException := how == "exit status 1" || how == "signal: interrupt" // as Python ends of one
		if raised := uncaught(printed); raised != "" && ofException {
			why = failure.New(failure.HandlerError, "%s (the program ended: %s)", raised, how)
		}
		p.record(i, time.Now(), why)
	} else if p.init == 0 {
		p.wrong = cmp.Or(p.wrong, error(failure.New(failure.HandlerMissing, "the program ended before it asked for a message: %s", ending)))
		if answer, err := http.Get(p.api.JoinPath(apiPath, "invocation/next").String()); err == nil {
			_ = p.begin(answer)
		}
	}
}
