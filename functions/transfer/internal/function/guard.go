package function

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
)

// closeOthers leaves a server the connections of this user's processes alone: whoever asks for the
// next event gets one.
func closeOthers(connection net.Conn, state http.ConnState) {
	if state == http.StateNew && !isOfThisUser(connection) {
		_ = connection.Close()
	}
}

// isOfThisUser says whether this user's process is at the other end of a connection of IPv4; also
// where the system doesn't tell, not even of this end.
func isOfThisUser(connection net.Conn) bool {
	sockets, _ := os.ReadFile("/proc/net/tcp") // of Linux alone
	own, peer := connection.LocalAddr().(*net.TCPAddr), connection.RemoteAddr().(*net.TCPAddr)
	return ownerOf(sockets, peer, own) == os.Geteuid() ||
		ownerOf(sockets, own, peer) != os.Geteuid()
}

// ownerOf is the user whose socket is at an end of a connection, as proc(5) tells it; -1 where no
// process has it any more.
func ownerOf(sockets []byte, end, other *net.TCPAddr) (user int) {
	address := func(of *net.TCPAddr) string {
		return fmt.Sprintf("%08X:%04X ", binary.NativeEndian.Uint32(of.IP.To4()), of.Port)
	}
	_, line, _ := bytes.Cut(sockets, []byte(" "+address(end)+address(other)))
	var state, queues, timer, repeated string
	var timeout, inode int
	if _, _ = fmt.Sscan(string(line[:min(len(line), 120)]), &state, &queues, &timer, &repeated,
		&user, &timeout, &inode); inode == 0 {
		return -1
	}
	return user
}

// forNoPage refuses what a page in a browser sends, and what is meant for another host than the
// listener: a name of a page that resolves to this machine.
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
