package function

import (
	"net"
	"net/http"
)

// closeOthers leaves a server the connections of this user's processes alone: whoever asks for the next event gets one.
func closeOthers(connection net.Conn, state http.ConnState) {
	if state == http.StateNew && !isOfThisUser(connection) {
		_ = connection.Close()
	}
}

// forNoPage refuses what a page in a browser sends, and what is meant for another host than the listener: a name of a page
// that resolves to this machine.
func forNoPage(next http.Handler, address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address || r.Header["Origin"] != nil || r.Header["Referer"] != nil || r.Header["Sec-Fetch-Site"] != nil {
			http.Error(w, "this is for the function's program", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
