package function

import (
	"net"
	"net/http"
	"slices"
)

// ownListener takes the connections of this user's processes alone: whoever asks for the next event gets one.
type ownListener struct{ net.Listener }

// Accept waits for such a connection, and closes any other.
func (l ownListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil || isOfThisUser(connection) {
			return connection, err
		}
		_ = connection.Close()
	}
}

// forNoPage refuses what a page in a browser sends, and what is meant for another host than the listener: a name of a page
// that resolves to this machine.
func forNoPage(next http.Handler, address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isOfPage := func(name string) bool { return r.Header.Values(name) != nil }
		if r.Host != address || slices.ContainsFunc([]string{"Origin", "Referer", "Sec-Fetch-Site"}, isOfPage) {
			http.Error(w, "this is for the function's program", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
