// Package s3test is a small S3 on loopback for tests: it serves objects over real HTTP and misbehaves as told.
package s3test

import (
	"bytes"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bucket is the one bucket that the server has.
const Bucket = "stampede-test"

// Server is an S3 that answers GET with Range and If-Match, and ListObjectsV2. The faults count down with every use.
type Server struct {
	URL string

	mutex        sync.Mutex
	objects      map[string][]byte
	etags        map[string]string // for a listing
	generation   int
	requests     []*http.Request
	SlowDowns    int           // answers 503
	Cuts         int           // bodies that end in the middle, with the connection
	Resets       int           // connections closed without an answer
	ReplaceAfter int           // GETs after which the object is another one; 0: never
	IgnoreMatch  bool          // answers whatever If-Match says
	IgnoreRange  bool          // answers 200 with the whole object
	ShiftRanges  int           // bytes that every range begins later than asked for
	Status       int           // answers this instead
	stall        time.Duration // before the second half of every body
	PageKeys     int           // keys in a page of a listing; 0: all
}

// Start runs a server with one object and ends it with the test. The AWS environment is that of a sandbox which can't
// reach anything else.
func Start(t *testing.T, key string, body []byte) *Server {
	t.Helper()
	s := &Server{objects: map[string][]byte{key: body}, generation: 1}
	s.announce(t, httptest.NewServer(s))
	return s
}

// StartTLS is Start over HTTPS; AWS_CA_BUNDLE names the server's certificate.
func StartTLS(t *testing.T, key string, body []byte) *Server {
	t.Helper()
	s := &Server{objects: map[string][]byte{key: body}, generation: 1}
	running := httptest.NewUnstartedServer(s)
	running.Config.ErrorLog = log.New(io.Discard, "", 0) // a certificate that the client refuses is a line there
	running.StartTLS()
	s.announce(t, running)
	bundle := filepath.Join(t.TempDir(), "certificate.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: running.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	return s
}

// announce makes a running server the one that the AWS environment names, and ends it with the test.
func (s *Server) announce(t *testing.T, running *httptest.Server) {
	t.Helper()
	t.Cleanup(running.Close)
	s.URL = running.URL
	Isolate(t, s.URL)
}

// Put adds an object.
func (s *Server) Put(key string, body []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects[key] = body
}

// Stall makes every body pause in its middle; it may be changed between requests.
func (s *Server) Stall(pause time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.stall = pause
}

// Requests returns what came in so far.
func (s *Server) Requests() []*http.Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

// Random returns bytes that are the same for the same number.
func Random(n int) []byte {
	body := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = source.Read(body)
	return body
}

func (s *Server) use(counter *int) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	*counter--
	return *counter >= 0
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	s.requests = append(s.requests, r)
	if s.ReplaceAfter > 0 && len(s.requests) > s.ReplaceAfter {
		s.generation = 2
	}
	etag := fmt.Sprintf(`"generation-%d"`, s.generation)
	key := strings.TrimPrefix(r.URL.Path, "/"+Bucket+"/")
	body, known := s.objects[key]
	s.mutex.Unlock()
	match := r.Header.Get("If-Match")
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=test/"):
		refuse(w, 403, "AccessDenied")
	case s.Status != 0:
		refuse(w, s.Status, "Injected")
	case s.use(&s.Resets):
		hangUp(w)
	case s.use(&s.SlowDowns):
		refuse(w, 503, "SlowDown")
	case r.URL.Query().Has("list-type"):
		s.list(w, r.URL.Query())
	case !known:
		refuse(w, 404, "NoSuchKey")
	case match != "" && match != etag && !s.IgnoreMatch:
		refuse(w, 412, "PreconditionFailed")
	default:
		w.Header().Set("Etag", etag)
		s.object(w, r, body)
	}
}

func (s *Server) object(w http.ResponseWriter, r *http.Request, body []byte) {
	status := 200
	if asked := r.Header.Get("Range"); asked != "" && !s.IgnoreRange {
		var first, last int
		_, _ = fmt.Sscanf(asked, "bytes=%d-%d", &first, &last)
		first, last = first+s.ShiftRanges, last+s.ShiftRanges
		if first >= len(body) {
			refuse(w, 416, "InvalidRange")
			return
		}
		last = min(last, len(body)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(body)))
		body, status = body[first:last+1], 206
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	half := len(body) / 2
	_, _ = w.Write(body[:half])
	_ = http.NewResponseController(w).Flush()
	if s.use(&s.Cuts) {
		hangUp(w)
		return
	}
	s.mutex.Lock()
	stall := s.stall
	s.mutex.Unlock()
	if stall > 0 {
		select {
		case <-time.After(stall):
		case <-r.Context().Done():
			return
		}
	}
	_, _ = w.Write(body[half:])
}

func (s *Server) list(w http.ResponseWriter, query url.Values) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	keys := []string{}
	for key := range s.objects {
		if strings.HasPrefix(key, query.Get("prefix")) && key > query.Get("continuation-token") {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	truncated := s.PageKeys > 0 && len(keys) > s.PageKeys
	var b bytes.Buffer
	b.WriteString("<ListBucketResult>")
	if !truncated {
		b.WriteString("<IsTruncated>false</IsTruncated>")
	} else {
		keys = keys[:s.PageKeys]
		b.WriteString("<IsTruncated>true</IsTruncated><NextContinuationToken>")
		_ = xml.EscapeText(&b, []byte(keys[len(keys)-1]))
		b.WriteString("</NextContinuationToken>")
	}
	for _, key := range keys {
		etag := ""
		if found, known := s.etags[key]; known {
			etag = "<ETag>" + strings.ReplaceAll(found, `"`, "&quot;") + "</ETag>"
		}
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><Size>%d</Size>%s</Contents>", url.QueryEscape(key), len(s.objects[key]), etag)
	}
	b.WriteString("</ListBucketResult>")
	_, _ = w.Write(b.Bytes())
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Injected by the test.</Message></Error>", code)
}

func hangUp(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}
