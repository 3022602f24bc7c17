package function

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listening answers "an event" to whoever is let in, as the proxy does.
func listening(t *testing.T) string {
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	server.Config.Handler = forNoPage(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "an event") }), address)
	server.Config.ConnState = closeOthers
	server.Start()
	t.Cleanup(server.Close)
	return address
}

func TestAPageAndAnotherHostGetNoEvent(t *testing.T) {
	address := listening(t)
	port := address[strings.LastIndex(address, ":"):]
	for _, c := range []struct {
		host, header, value string
		status              int
	}{
		{address, "User-Agent", "AWS_Lambda_Python", 200},
		{address, "Origin", "null", 403},
		{address, "Referer", "http://127.0.0.1/", 403},
		{address, "Sec-Fetch-Site", "none", 403}, // a link of a mail
		{"rebound.example" + port, "Accept", "*/*", 403},
		{"127.0.0.1", "Accept", "*/*", 403},
	} {
		request, _ := http.NewRequest(http.MethodGet, "http://"+address+apiPath+"/invocation/next", nil)
		request.Host = c.host
		request.Header.Set(c.header, c.value)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != c.status || (string(body) == "an event") != (c.status == 200) {
			t.Errorf("%+v: %d %s", c, answer.StatusCode, body)
		}
	}
}

func TestAnotherUsersProcessGetsNoConnection(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to be another user")
	}
	address := listening(t)
	runtime.LockOSThread() // whose sockets are another user's, and which ends with the test
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err = connection.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
}

func TestAConnectionThatWasClosedAtOnceIsNobodys(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	open := isOfThisUser(server)
	_ = client.Close() // the kernel would say that root has it
	if closed := isOfThisUser(server); !open || closed {
		t.Errorf("open: %t, closed: %t", open, closed)
	}
}
