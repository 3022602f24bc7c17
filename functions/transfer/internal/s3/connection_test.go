package s3

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A thousand connections at once on a small share of a processor: each handshake of a few has its time, those of a thousand at once
// would all end after the last.
func TestManyConnectionsAreMadeAFewAtATime(t *testing.T) {
	var now, most atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		for count, seen := now.Add(1), most.Load(); count > seen && !most.CompareAndSwap(seen, count); seen = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		return nil, nil
	}}
	server.StartTLS()
	defer server.Close()
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig
	made := newPool(endpoint{scheme: "https", dial: server.Listener.Addr().String()},
		&tls.Config{RootCAs: trusted.RootCAs, ServerName: "example.com"}, smallReaderBytes, time.Second)

	var failed atomic.Int64
	var waiting sync.WaitGroup
	for range 300 {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			c, err := made.take(t.Context(), false)
			if err != nil {
				failed.Add(1)
				return
			}
			_ = c.Close()
		}()
	}
	waiting.Wait()
	if failed.Load() > 0 || most.Load() > 64 || most.Load() < 2 {
		t.Errorf("%d failed; %d at once", failed.Load(), most.Load())
	}
}
