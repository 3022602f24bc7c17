package s3test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Store is an S3 with buckets that copies, deletes, lists and answers HEAD, and misbehaves as told. Refuse, Latency and the
// limit must be set before the first request; the faults count down with every copy.
type Store struct {
	URL string
	// Refuse answers a request with an error: status and code, 0 for none. Source is "/bucket/key", decoded, of a copy.
	Refuse  func(r *http.Request, bucket, key, source string) (status int, code string)
	Latency time.Duration // of every copy that is made; a refusal comes at once

	LimitPerS, Burst float64 // of a token bucket for copies; 0: no limit
	// Requests is the number of all, Copies that of copies asked for.
	Requests, Copies atomic.Int64
	PageKeys         int // keys in a page of a listing; 0: all
	Lost             int // copies that are made, but whose answer isn't sent
	Halved           int // copies that are made, but whose answer ends in the middle
	LateErrors       int // copies answered 200 and then an error
	SlowDowns        int // copies answered 503
	Conflicts        int // copies answered 409

	mutex   sync.Mutex
	buckets map[string]map[string]Stored
	tokens  float64
	filled  time.Time
}

// Stored is an object. ETag and Checksum are made from the body where they are empty.
type Stored struct {
	Body           []byte
	ETag, Checksum string
	// NoChecksum is how objects are that were uploaded before S3 made one for each.
	NoChecksum bool
	Modified   time.Time // when it was put, where it is zero
}

// StartStore runs a store with some empty buckets and ends it with the test; the environment is as for Start.
func StartStore(t *testing.T, buckets ...string) *Store {
	t.Helper()
	s := &Store{buckets: map[string]map[string]Stored{}}
	for _, bucket := range buckets {
		s.buckets[bucket] = map[string]Stored{}
	}
	running := httptest.NewServer(s)
	announced := &Server{}
	announced.announce(t, running)
	s.URL = running.URL
	return s
}

// Put stores an object.
func (s *Store) Put(bucket, key string, object Stored) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.put(bucket, key, object)
}

func (s *Store) put(bucket, key string, object Stored) {
	sum := crc32.ChecksumIEEE(object.Body)
	if object.ETag == "" {
		object.ETag = fmt.Sprintf(`"%08x"`, sum)
	}
	if object.Checksum == "" {
		object.Checksum = fmt.Sprintf("%08x", sum)
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
	keys := []string{}
	for key := range s.buckets[bucket] {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
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
			refuse(w, status, code)
			return
		}
	}
	body, _ := io.ReadAll(r.Body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if source != "" && s.slowDown() {
		refuse(w, 503, "SlowDown")
		return
	}
	if source != "" && s.Latency > 0 {
		s.mutex.Unlock()
		time.Sleep(s.Latency)
		s.mutex.Lock()
	}
	objects, known := s.buckets[bucket]
	object, there := objects[key]
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=test/"):
		refuse(w, 403, "AccessDenied")
	case !known:
		refuse(w, 404, "NoSuchBucket")
	case source != "":
		s.copy(w, bucket, key, source)
	case r.URL.Query().Has("list-type"):
		s.list(w, objects, r.URL.Query())
	case r.URL.Query().Has("delete"):
		s.delete(w, objects, r, body)
	case r.Method == http.MethodDelete:
		delete(objects, key)
		w.WriteHeader(204)
	case !there:
		refuse(w, 404, "NoSuchKey")
	default:
		w.Header().Set("Etag", object.ETag)
		w.Header().Set("Last-Modified", object.Modified.UTC().Format(http.TimeFormat))
		if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" && !object.NoChecksum {
			w.Header().Set("X-Amz-Checksum-Crc32", object.Checksum)
			w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		}
		(&Server{}).object(w, r, object.Body)
	}
}

func (s *Store) copy(w http.ResponseWriter, bucket, key, source string) {
	fromBucket, fromKey, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	object, there := s.buckets[fromBucket][fromKey]
	_, taken := s.buckets[bucket][key]
	switch {
	case s.use(&s.Conflicts):
		refuse(w, 409, "ConditionalRequestConflict")
	case s.buckets[fromBucket] == nil:
		refuse(w, 404, "NoSuchBucket")
	case !there:
		refuse(w, 404, "NoSuchKey")
	case taken: // every copy has to ask for If-None-Match: *
		refuse(w, 412, "PreconditionFailed")
	case s.use(&s.LateErrors):
		refuse(w, 200, "InternalError")
	default:
		object.Modified = time.Time{}
		if strings.Contains(object.ETag, "-") { // of parts: a copy isn't
			object.ETag = ""
		}
		s.put(bucket, key, object)
		if s.use(&s.Lost) {
			hangUp(w)
			return
		}
		if s.use(&s.Halved) {
			fmt.Fprint(w, []string{"", "<CopyObjectResult><ETag>"}[s.Halved%2])
			return
		}
		fmt.Fprintf(w, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>", object.ETag)
	}
}

// slowDown takes a token; true when there is none.
func (s *Store) slowDown() bool {
	if s.use(&s.SlowDowns) {
		return true
	}
	if s.LimitPerS == 0 {
		return false
	}
	now := time.Now()
	if s.filled.IsZero() {
		s.tokens = s.Burst
	} else {
		s.tokens = min(s.Burst, s.tokens+s.LimitPerS*now.Sub(s.filled).Seconds())
	}
	s.filled = now
	if s.tokens < 1 {
		return true
	}
	s.tokens--
	return false
}

func (s *Store) list(w http.ResponseWriter, objects map[string]Stored, query url.Values) {
	lister := Server{objects: map[string][]byte{}, etags: map[string]string{}, PageKeys: s.PageKeys}
	for key, object := range objects {
		lister.objects[key], lister.etags[key] = object.Body, object.ETag
	}
	lister.list(w, query)
}

// delete answers as Quiet asks for. A key that Refuse refuses for the method DELETE is an error of its own.
func (s *Store) delete(w http.ResponseWriter, objects map[string]Stored, r *http.Request, body []byte) {
	var asked struct {
		Quiet  bool
		Object []struct{ Key string }
	}
	if xml.Unmarshal(body, &asked) != nil || !asked.Quiet || len(asked.Object) > 1000 {
		refuse(w, 400, "MalformedXML")
		return
	}
	var b bytes.Buffer
	b.WriteString("<DeleteResult>")
	for _, one := range asked.Object {
		if s.Refuse != nil {
			each := r.Clone(r.Context())
			each.Method = http.MethodDelete
			if _, code := s.Refuse(each, "", one.Key, ""); code != "" {
				b.WriteString("<Error><Key>")
				_ = xml.EscapeText(&b, []byte(one.Key))
				fmt.Fprintf(&b, "</Key><Code>%s</Code><Message>Injected by the test.</Message></Error>", code)
				continue
			}
		}
		delete(objects, one.Key)
	}
	b.WriteString("</DeleteResult>")
	_, _ = w.Write(b.Bytes())
}
