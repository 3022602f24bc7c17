package express

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/transfer/internal/s3test"
)

const (
	general   = "stampede-test"
	directory = "stampede-test--use1-az4--x-s3"
)

// stub is a general and a directory bucket as the S3 API reference describes them ("CreateSession", "Regional and Zonal
// endpoint API operations", "ListObjectsV2"), and misbehaves as told. It checks whose credentials a request is signed with. What it stores
// is an object's size and checksum; it sends the content of the set, unless body says otherwise.
type stub struct {
	URL string
	// refuse answers a request with an error, 0 for none; asked counts the requests of its kind, from 1.
	refuse  func(r *http.Request, kind string, asked int) (status int, code string)
	body    func(key string, written io.Reader) io.Reader
	life    time.Duration // of a session
	garbled string        // kind of request that gets something else
	cuts    int           // bodies that end in their middle
	silent  time.Duration // before every answer
	open    atomic.Int64  // connections

	mutex    sync.Mutex
	objects  map[string]stored // by bucket/key
	sessions map[string]session
	asked    map[string]int
	modes    []string
}

type stored struct {
	bytes int64
	sum   string
}

type session struct {
	key      string
	expires  time.Time
	readOnly bool
}

// startStub runs a stub and ends it with the test; the AWS environment is that of a sandbox which can't reach anything else.
func startStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{life: 5 * time.Minute, objects: map[string]stored{}, sessions: map[string]session{}, asked: map[string]int{}}
	running := httptest.NewUnstartedServer(s)
	running.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		s.open.Add(map[http.ConnState]int64{http.StateNew: 1, http.StateClosed: -1}[state])
	}
	running.Start()
	t.Cleanup(running.Close)
	s.URL = running.URL
	s3test.Isolate(t, s.URL)
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.silent)
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if zonal, found := strings.CutSuffix(r.Host, ".s3express-use1-az4.us-east-1.amazonaws.com"); found {
		bucket, key = zonal, strings.TrimPrefix(r.URL.Path, "/")
	}
	query := r.URL.Query()
	kind := r.Method
	if query.Has("session") {
		kind = "session"
	} else if query.Has("list-type") {
		kind = "list"
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asked[kind]++
	if s.refuse != nil {
		if status, code := s.refuse(r, kind, s.asked[kind]); status != 0 {
			refuse(w, status, code)
			return
		}
	}
	if status, code := s.forbidden(r, bucket, kind); status != 0 {
		refuse(w, status, code)
		return
	}
	switch kind {
	case s.garbled:
		fmt.Fprint(w, map[string]string{"list": "<ListBucketResult><nonsense", "session": "<ListBucketResult/>"}[kind])
	case "session":
		s.create(w, r.Header.Get("X-Amz-Create-Session-Mode"))
	case "list":
		s.list(w, bucket+"/", query.Get("prefix"), query.Get("continuation-token"))
	case http.MethodPut:
		s.put(w, r, bucket+"/"+key)
	default:
		s.get(w, bucket+"/"+key, key)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Injected by the test.</Message></Error>", code)
}

// forbidden checks who asks: CreateSession and the general bucket by the account's credentials, all else by a session's.
func (s *stub) forbidden(r *http.Request, bucket, kind string) (status int, code string) {
	token, by := r.Header.Get("X-Amz-S3session-Token"), "test"
	switch {
	case bucket != general && bucket != directory:
		return 404, "NoSuchBucket"
	case bucket == directory && kind != "session":
		used, known := s.sessions[token]
		if !known || time.Now().After(used.expires) {
			return 400, "ExpiredToken"
		}
		if used.readOnly && kind == http.MethodPut {
			return 403, "AccessDenied"
		}
		by = used.key
	case token != "":
		return 400, "InvalidRequest"
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+by+"/") {
		return 403, "SignatureDoesNotMatch"
	}
	return 0, ""
}

func (s *stub) create(w http.ResponseWriter, mode string) {
	s.modes = append(s.modes, mode)
	number := strconv.Itoa(len(s.sessions) + 1)
	made := session{"session" + number, time.Now().Add(s.life), mode == "ReadOnly"}
	s.sessions["token"+number] = made
	fmt.Fprintf(w, `<CreateSessionResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Credentials><SessionToken>token%s</SessionToken>`+
		`<SecretAccessKey>secret</SecretAccessKey><AccessKeyId>%s</AccessKeyId><Expiration>%s</Expiration></Credentials></CreateSessionResult>`,
		number, made.key, made.expires.UTC().Format("2006-01-02T15:04:05.000Z"))
}

func (s *stub) put(w http.ResponseWriter, r *http.Request, path string) {
	digest := crc32.NewIEEE()
	n, _ := io.Copy(digest, r.Body)
	sum := base64.StdEncoding.EncodeToString(digest.Sum(nil))
	if sum != r.Header.Get("X-Amz-Checksum-Crc32") {
		refuse(w, 400, "BadDigest") // without one too
		return
	}
	s.objects[path] = stored{n, sum}
	w.Header().Set("Etag", `"1"`)
}

func (s *stub) get(w http.ResponseWriter, path, key string) {
	object, there := s.objects[path]
	if !there {
		refuse(w, 404, "NoSuchKey")
		return
	}
	var bytes, objectCount, number int64
	_, _ = fmt.Sscanf(key, "data/object_bytes=%d/object_count=%d/%d.json", &bytes, &objectCount, &number)
	written := set{object.bytes, objectCount}.content(number)
	body := io.Reader(&written)
	if s.body != nil {
		body = s.body(key, body)
	}
	w.Header().Set("Etag", `"1"`)
	w.Header().Set("X-Amz-Checksum-Crc32", object.sum)
	w.Header().Set("Content-Length", strconv.FormatInt(object.bytes, 10))
	if s.cuts--; s.cuts >= 0 {
		body = io.LimitReader(body, object.bytes/2)
	}
	_, _ = io.Copy(w, body) // net/http closes the connection of an answer that is too short
}

// list gives pages of three keys in no order, after one that is empty.
func (s *stub) list(w http.ResponseWriter, bucket, prefix, token string) {
	keys := []string{}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if key, found := strings.CutPrefix(path, bucket); found && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	rand.New(rand.NewPCG(1, uint64(len(keys)))).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	from, _ := strconv.Atoi(token)
	page, next := keys[max(0, from-1):min(len(keys), max(0, from+2))], from+3
	if token == "" {
		page, next = nil, 1
	}
	fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%v</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", next <= len(keys), next)
	for _, key := range page {
		fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size></Contents>", key, s.objects[bucket+key].bytes)
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// count is how many requests of a kind came in.
func (s *stub) count(kind string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.asked[kind]
}
