// Package s3test is a small S3 on loopback for tests, over real HTTP and with faults.
package s3test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// HangUp is the status of an answer that doesn't come: the connection is closed.
const HangUp = -1

// Store is an S3 with general and directory buckets, according to the S3 API reference, and with
// faults. Refuse and Latency must be set before the first request.
type Store struct {
	URL string
	// Refuse sees a request first, and may change it. It returns an error's status and code (or
	// whole body, which begins with "<"), status 0 for none. source is a copy's "/bucket/key".
	Refuse  func(r *http.Request, bucket, key, source string) (status int, code string)
	Latency time.Duration // of every copy that Refuse lets through

	// Requests counts all requests, Copies those for copies, Connections the open connections.
	Requests, Copies, Connections atomic.Int64
	PageKeys                      int           // keys in a page of a listing; 0: all
	Stall                         atomic.Int64  // ns before the second half of every body
	Life                          time.Duration // of a session with a directory bucket
	Faults

	mutex    sync.Mutex
	buckets  map[string]map[string]Stored
	sessions []*session
}

// Faults count down with every use.
type Faults struct {
	Lost         int               // copies that are made, but not answered
	Busy         int               // other requests answered 503
	Resets       int               // other requests whose connection is closed without an answer
	Cuts         int               // bodies that end in the middle, with the connection
	ReplaceAfter int64             // requests after which every object is replaced; 0: never
	Headers      map[string]string // that override those of every request
}

// Stored is an object. An empty ETag or Checksum is made from the body.
type Stored struct {
	Body           []byte
	ETag, Checksum string
	NoChecksum     bool      // like objects from before S3 computed checksums
	Modified       time.Time // zero: now
}

// session number N (from 1) has the token "tokenN".
type session struct {
	mode    string
	expires time.Time
}

// StartStore runs a store with empty buckets until the test ends, and isolates the AWS environment.
func StartStore(t *testing.T, buckets ...string) *Store {
	t.Helper()
	return start(t, (*httptest.Server).Start, buckets)
}

// StartStoreTLS is StartStore over HTTPS; AWS_CA_BUNDLE names the server's certificate.
func StartStoreTLS(t *testing.T, buckets ...string) *Store {
	t.Helper()
	return start(t, (*httptest.Server).StartTLS, buckets)
}

func start(t *testing.T, run func(*httptest.Server), buckets []string) *Store {
	t.Helper()
	s := &Store{buckets: map[string]map[string]Stored{}, Life: 5 * time.Minute}
	for _, bucket := range buckets {
		s.buckets[bucket] = map[string]Stored{}
	}
	running := httptest.NewUnstartedServer(s)
	// it would log every certificate that the client refuses
	running.Config.ErrorLog = log.New(io.Discard, "", 0)
	running.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		changes := map[http.ConnState]int64{http.StateNew: 1, http.StateClosed: -1,
			http.StateHijacked: -1}
		s.Connections.Add(changes[state])
	}
	run(running)
	t.Cleanup(running.Close)
	s.URL = running.URL
	Isolate(t, s.URL)
	if certificate := running.Certificate(); certificate != nil {
		bundle := filepath.Join(t.TempDir(), "certificate.pem")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
		if err := os.WriteFile(bundle, text, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_CA_BUNDLE", bundle)
	}
	return s
}

// Random returns n bytes, the same for the same n.
func Random(n int) []byte {
	body := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(body)
	return body
}

// Put stores an object.
func (s *Store) Put(bucket, key string, object Stored) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.put(bucket, key, object)
}

func (s *Store) put(bucket, key string, object Stored) {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(object.Body))
	if object.ETag == "" {
		object.ETag = fmt.Sprintf(`"%x"`, sum)
	}
	if object.Checksum == "" {
		object.Checksum = base64.StdEncoding.EncodeToString(sum)
	}
	if object.Modified.IsZero() {
		object.Modified = time.Now()
	}
	s.buckets[bucket][key] = object
}

// Keys returns the keys of a bucket in order.
func (s *Store) Keys(bucket string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Sorted(maps.Keys(s.buckets[bucket]))
}

// Numbered makes a Refuse of a function that gets a request's kind ("session", "list", or the
// method) and its number among those of the kind.
func Numbered(refuse func(kind string, number int) (status int, code string)) func(
	*http.Request, string, string, string) (int, string) {
	var mutex sync.Mutex
	asked := map[string]int{}
	return func(r *http.Request, _, _, _ string) (int, string) {
		mutex.Lock()
		kind := kindOf(r)
		asked[kind]++
		number := asked[kind]
		mutex.Unlock()
		return refuse(kind, number)
	}
}

func kindOf(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case query.Has("session"):
		return "session"
	case query.Has("list-type"):
		return "list"
	}
	return r.Method
}

func (s *Store) use(counter *int) bool {
	*counter--
	return *counter >= 0
}

func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Requests.Add(1)
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	source, _ := url.PathUnescape(r.Header.Get("X-Amz-Copy-Source"))
	if source != "" {
		s.Copies.Add(1)
	}
	if s.Refuse != nil {
		if status, code := s.Refuse(r, bucket, key, source); status != 0 {
			Refuse(w, status, code)
			return
		}
	}
	if source != "" {
		time.Sleep(s.Latency)
	}
	body, _ := io.ReadAll(r.Body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if status, code := s.forbidden(r, bucket); status != 0 {
		Refuse(w, status, code)
		return
	}
	s.answer(w, r, bucket, key, source, body)
}

func (s *Store) answer(w http.ResponseWriter, r *http.Request, bucket, key, source string,
	body []byte) {
	for header, value := range s.Headers {
		r.Header.Set(header, value)
	}
	objects, query, match := s.buckets[bucket], r.URL.Query(), r.Header.Get("If-Match")
	object, there := objects[key]
	if s.ReplaceAfter > 0 && s.Requests.Load() > s.ReplaceAfter {
		object.ETag = `"another"`
	}
	switch {
	case source != "":
		s.copy(w, bucket, key, source)
	case s.use(&s.Resets):
		Refuse(w, HangUp, "")
	case s.use(&s.Busy):
		Refuse(w, 503, "SlowDown")
	case query.Has("session"):
		s.createSession(w, r.Header.Get("X-Amz-Create-Session-Mode"))
	case query.Has("list-type"):
		s.list(w, bucket, query)
	case query.Has("delete"):
		s.delete(w, objects, r, body)
	case r.Method == http.MethodPut:
		s.put(bucket, key, Stored{Body: body})
		if objects[key].Checksum != r.Header.Get("X-Amz-Checksum-Crc32") {
			delete(objects, key)
			Refuse(w, 400, "BadDigest") // also for a missing checksum
		}
	case !there:
		Refuse(w, 404, "NoSuchKey")
	case match != "" && match != object.ETag:
		Refuse(w, 412, "PreconditionFailed")
	default:
		cut := r.Method == http.MethodGet && s.use(&s.Cuts)
		s.mutex.Unlock()
		s.send(w, r, object, cut)
		s.mutex.Lock()
	}
}

// send sends an object, or a range of it, with a stall or a cut in its middle.
func (s *Store) send(w http.ResponseWriter, r *http.Request, object Stored, cut bool) {
	body, status := object.Body, 200
	if asked := r.Header.Get("Range"); asked != "" {
		var first, last int
		_, _ = fmt.Sscanf(asked, "bytes=%d-%d", &first, &last)
		if first >= len(body) {
			Refuse(w, 416, "InvalidRange")
			return
		}
		last = min(last, len(body)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(body)))
		body, status = body[first:last+1], 206
	}
	if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" && !object.NoChecksum {
		w.Header().Set("X-Amz-Checksum-Crc32", object.Checksum)
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	w.Header().Set("Etag", object.ETag)
	w.Header().Set("Last-Modified", object.Modified.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	half := len(body) / 2
	_, _ = w.Write(body[:half])
	_ = http.NewResponseController(w).Flush()
	if cut {
		Refuse(w, HangUp, "")
		return
	}
	select {
	case <-time.After(time.Duration(s.Stall.Load())):
		_, _ = w.Write(body[half:])
	case <-r.Context().Done():
	}
}

func (s *Store) copy(w http.ResponseWriter, bucket, key, source string) {
	fromBucket, fromKey, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	object, there := s.buckets[fromBucket][fromKey]
	_, taken := s.buckets[bucket][key]
	switch {
	case s.buckets[fromBucket] == nil:
		Refuse(w, 404, "NoSuchBucket")
	case !there:
		Refuse(w, 404, "NoSuchKey")
	case taken: // every copy has to send If-None-Match: *
		Refuse(w, 412, "PreconditionFailed")
	default:
		object.Modified = time.Time{}
		if strings.Contains(object.ETag, "-") { // of a multipart upload, which a copy isn't
			object.ETag = ""
		}
		s.put(bucket, key, object)
		if s.use(&s.Lost) {
			Refuse(w, HangUp, "")
			return
		}
		fmt.Fprintf(w, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>", object.ETag)
	}
}

func isDirectory(bucket string) bool { return strings.HasSuffix(bucket, "--x-s3") }

// forbidden checks the caller: only requests for objects of directory buckets have a session.
func (s *Store) forbidden(r *http.Request, bucket string) (status int, code string) {
	token := r.Header.Get("X-Amz-S3session-Token")
	switch {
	case s.buckets[bucket] == nil:
		return 404, "NoSuchBucket"
	case isDirectory(bucket) && kindOf(r) != "session":
		number, err := strconv.Atoi(strings.TrimPrefix(token, "token"))
		if err != nil || time.Now().After(s.sessions[number-1].expires) {
			return 400, "ExpiredToken"
		}
	case token != "":
		return 400, "InvalidRequest"
	case r.Header.Get("Authorization") == "":
		return 403, "AccessDenied"
	}
	return 0, ""
}

func (s *Store) createSession(w http.ResponseWriter, mode string) {
	made := &session{mode, time.Now().Add(s.Life)}
	s.sessions = append(s.sessions, made)
	fmt.Fprintf(w, `<CreateSessionResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`+
		`<Credentials><SessionToken>token%[1]d</SessionToken>`+
		`<SecretAccessKey>secret</SecretAccessKey><AccessKeyId>key</AccessKeyId>`+
		`<Expiration>%[2]s</Expiration></Credentials></CreateSessionResult>`,
		len(s.sessions), made.expires.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// ForgetSessions makes all sessions expire, and returns their modes.
func (s *Store) ForgetSessions() (modes []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, made := range s.sessions {
		made.expires = time.Time{}
		modes = append(modes, made.mode)
	}
	return modes
}

// list lists a directory bucket in no order, after a first page that is empty.
func (s *Store) list(w http.ResponseWriter, bucket string, query url.Values) {
	rank, token := func(key string) string { return key }, query.Get("continuation-token")
	if isDirectory(bucket) {
		rank = func(key string) string {
			return fmt.Sprintf("%08x%s", crc32.ChecksumIEEE([]byte(key)), key)
		}
	}
	ranks := map[string]string{}
	for key := range s.buckets[bucket] {
		if strings.HasPrefix(key, query.Get("prefix")) && rank(key) > token {
			ranks[rank(key)] = key
		}
	}
	page, next := slices.Sorted(maps.Keys(ranks)), ""
	if isDirectory(bucket) && token == "" {
		page, next = nil, " "
	} else if s.PageKeys > 0 && len(page) > s.PageKeys {
		page, next = page[:s.PageKeys], page[s.PageKeys-1]
	}
	fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%v</IsTruncated>"+
		"<NextContinuationToken>%s</NextContinuationToken>", next != "", escape(next))
	for _, ranked := range page {
		key, object := ranks[ranked], s.buckets[bucket][ranks[ranked]]
		if query.Get("encoding-type") == "url" {
			key = url.QueryEscape(key)
		}
		fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><ETag>%s</ETag></Contents>",
			escape(key), len(object.Body), escape(object.ETag))
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// delete answers in Quiet mode. It asks Refuse about each key, with the method DELETE.
func (s *Store) delete(w http.ResponseWriter, objects map[string]Stored, r *http.Request,
	body []byte) {
	var asked struct {
		Quiet  bool
		Object []struct{ Key string }
	}
	if xml.Unmarshal(body, &asked) != nil || !asked.Quiet || len(asked.Object) > 1000 {
		Refuse(w, 400, "MalformedXML")
		return
	}
	fmt.Fprint(w, "<DeleteResult>")
	for _, object := range asked.Object {
		if s.Refuse != nil {
			each := r.Clone(r.Context())
			each.Method = http.MethodDelete
			if _, code := s.Refuse(each, "", object.Key, ""); code != "" {
				fmt.Fprintf(w, "<Error><Key>%s</Key><Code>%s</Code>"+
					"<Message>Injected by the test.</Message></Error>", escape(object.Key), code)
				continue
			}
		}
		delete(objects, object.Key)
	}
	fmt.Fprint(w, "</DeleteResult>")
}

// Refuse answers with an error of S3 or with a body that begins with "<", or hangs up.
func Refuse(w http.ResponseWriter, status int, code string) {
	switch {
	case status == HangUp:
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
	case strings.HasPrefix(code, "<"):
		w.WriteHeader(status)
		fmt.Fprint(w, code)
	default:
		Refuse(w, status,
			"<Error><Code>"+code+"</Code><Message>Injected by the test.</Message></Error>")
	}
}
