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
	guarded := forNoPage(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "127.0.0.1:1")
	for header, status := range map[string]int{"User-Agent": 200, "Origin": 403, "Referer": 403, "Sec-Fetch-Site": 403, "Host": 403} {
		request, answer := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1"+apiPath+"/invocation/next", nil), httptest.NewRecorder()
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
	defer func() { _ = listener.Close() }()
	accepted := make(chan net.Conn)
	go func() {
		for server, err := listener.Accept(); err == nil; server, err = listener.Accept() {
			accepted <- server
		}
	}()
	connect := func() (client, server net.Conn) {
		client, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client, <-accepted
	}
	isOpen := func(server net.Conn) bool {
		closeOthers(server, http.StateNew)
		return server.SetDeadline(time.Time{}) == nil
	}
	_, server := connect()
	client, gone := connect()
	_ = client.Close() // the kernel says that root has it
	if !isOpen(server) || isOpen(gone) {
		t.Error("of this user's connections, the open one is taken")
	}
	if os.Geteuid() == 0 { // and can be another user
		runtime.LockOSThread() // which ends with the test
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		if _, server = connect(); isOpen(server) {
			t.Error("another user's connection is taken")
		}
	}
}
