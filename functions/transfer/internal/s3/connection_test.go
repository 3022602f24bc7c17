package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/transfer/internal/failure"
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

// twice answers requests, and on every third one adds what nobody asked for.
func twice(t *testing.T, secured bool, unasked string) (*Client, *atomic.Int64) {
	t.Helper()
	asked := &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(result), result)
		connection, buffer, _ := http.NewResponseController(w).Hijack()
		defer connection.Close()
		for ; r != nil; r, _ = http.ReadRequest(buffer.Reader) {
			if asked.Add(1)%3 == 0 {
				_, _ = io.WriteString(connection, answer+unasked)
				time.Sleep(time.Millisecond)
			} else if strings.HasSuffix(r.URL.Path, "missing") {
				_, _ = io.WriteString(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
			} else {
				_, _ = io.WriteString(connection, answer)
			}
		}
	}))
	if secured {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	client, err := NewClient(server.URL, "us-east-1", "to-bucket", &rotating{})
	if err != nil {
		t.Fatal(err)
	}
	if secured {
		client.pool.tls = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		client.pool.tls.ServerName = "example.com"
	}
	return client.ForManySmallAnswers(2 * time.Second), asked
}

func TestAnAnswerThatNobodyAskedForIsNotTakenForTheNextOne(t *testing.T) {
	again := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(result), result)
	for _, secured := range []bool{false, true} {
		for _, unasked := range []string{again, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "nonsense"} {
			client, asked := twice(t, secured, unasked)
			for range 20 {
				key := "there"
				if asked.Load()%3 == 0 {
					key = "missing" // the answer to the request after the doubled one tells which it is
				}
				_, err := client.Copy(context.Background(), counter{}, "b", "k", key)
				var known *failure.Error
				if missing := errors.As(err, &known) && known.Type == failure.NoSuchKey; missing != (key == "missing") {
					t.Fatalf("TLS %v, %.20q: %s: %v", secured, unasked, key, err)
				}
				time.Sleep(2 * time.Millisecond)
			}
		}
	}
}

func TestA408ThatCrossesARequestIsNoFailure(t *testing.T) {
	asked := 0
	client := answering(t, &rotating{}, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 2 {
			w.Header().Set("Connection", "close")
			w.WriteHeader(408)
			return
		}
		fmt.Fprint(w, result)
	})
	for range 2 {
		if _, err := client.Copy(context.Background(), counter{}, "b", "k", "k2"); err != nil {
			t.Error(err)
		}
	}
}
