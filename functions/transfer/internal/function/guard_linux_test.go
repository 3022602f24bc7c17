package function

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestAPageAndAnotherHostGetNoEvent(t *testing.T) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	guarded := forNoPage(next, "127.0.0.1:1")
	for header, status := range map[string]int{"User-Agent": 200, "Origin": 403, "Referer": 403,
		"Sec-Fetch-Site": 403, "Host": 403} {
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1"+apiPath, nil)
		answer := httptest.NewRecorder()
		request.Header.Set(header, "null")
		if header == "Host" {
			request.Host = "rebound.example:1"
		}
		if guarded.ServeHTTP(answer, request); answer.Code != status {
			t.Error(header, answer.Code)
		}
	}
}

func TestAConnectionOfAnotherUserOrOfNobodyIsClosed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan net.Conn)
	go func() { // this thread keeps its user
		for server, err := listener.Accept(); err == nil; server, err = listener.Accept() {
			accepted <- server
		}
	}()
	isTaken := func(isEnded bool) bool {
		client, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server := <-accepted
		if isEnded { // then the kernel names root as its owner
			_ = client.Close()
		}
		closeOthers(server, http.StateNew)
		return server.SetDeadline(time.Time{}) == nil
	}
	if !isTaken(false) || isTaken(true) {
		t.Error("of this user's connections, the open one is taken")
	}
	if os.Geteuid() == 0 { // may become another user
		runtime.LockOSThread() // the thread ends with the test
		if err := syscall.Setfsuid(65534); err != nil || isTaken(false) {
			t.Error("another user's connection is taken", err)
		}
	}
}
