package function

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
)

// closeOthers closes connections from other users' processes: whoever asks for an event gets it.
func closeOthers(connection net.Conn, state http.ConnState) {
	if state == http.StateNew && !isOfThisUser(connection) {
		_ = connection.Close()
	}
}

// isOfThisUser reports whether a process of this user is at the other end of an IPv4 connection. It
// is also true if the system doesn't even name the owner of this end.
func isOfThisUser(connection net.Conn) bool {
	sockets, _ := os.ReadFile("/proc/net/tcp") // only on Linux
	own, peer := connection.LocalAddr().(*net.TCPAddr), connection.RemoteAddr().(*net.TCPAddr)
	return ownerOf(sockets, peer, own) == os.Geteuid() ||
		ownerOf(sockets, own, peer) != os.Geteuid()
}

// ownerOf returns the user of the socket at one end of a connection (proc(5)); -1 if no process has
// it any more.
func ownerOf(sockets []byte, end, other *net.TCPAddr) (user int) {
	address := func(of *net.TCPAddr) string {
		return fmt.Sprintf("%08X:%04X ", binary.NativeEndian.Uint32(of.IP.To4()), of.Port)
	}
	_, line, _ := bytes.Cut(sockets, []byte(" "+address(end)+address(other)))
	var state, queues, timer, repeated string
	var timeout, inode int
	_, _ = fmt.Sscan(string(line[:min(len(line), 120)]), &state, &queues, &timer, &repeated,
		&user, &timeout, &inode)
	if inode == 0 {
		return -1
	}
	return user
}

// forNoPage refuses requests of pages in a browser, and requests for another host than the
// listener: a page's host name may resolve to this machine.
func forNoPage(next http.Handler, address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address || r.Header["Origin"] != nil || r.Header["Referer"] != nil ||
			r.Header["Sec-Fetch-Site"] != nil {
			http.Error(w, "this is for the function's program", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
