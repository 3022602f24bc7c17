package main

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	pageKeys     = 1000
	sourceHeader = "X-Amz-Copy-Source"
)

// request is a request to S3. A path is bucket/key, or a bucket alone.
type request struct {
	operation    string // create_bucket list copy put get head
	path, source string
}

func understand(r *http.Request) request {
	path := strings.TrimPrefix(r.URL.Path, "/")
	call := request{operation: strings.ToLower(r.Method), path: path}
	_, key, _ := strings.Cut(call.path, "/")
	switch {
	case key == "" && r.Method == http.MethodPut:
		call.operation = "create_bucket"
	case key == "":
		call.operation = "list"
	case r.Header.Get(sourceHeader) != "":
		call.operation = "copy"
		source, _ := url.QueryUnescape(r.Header.Get(sourceHeader)) // a bare + is a space there
		call.source = strings.TrimPrefix(source, "/")
	}
	return call
}

func (r request) writes() bool { return r.operation == "copy" || r.operation == "put" }

type object struct {
	etag, crc32 string
	body        []byte
}

type store struct {
	sync.Mutex
	buckets map[string]bool
	objects map[string]object // by path
}

func (s *store) carryOut(w http.ResponseWriter, r *http.Request, call request) {
	body := make([]byte, max(0, r.ContentLength))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return
	}
	bucket, _, _ := strings.Cut(call.path, "/")
	sourceBucket, _, _ := strings.Cut(call.source, "/")
	s.Lock()
	defer s.Unlock()
	switch {
	case call.operation == "create_bucket":
		s.buckets[bucket] = true
	case !s.buckets[bucket] || call.source != "" && !s.buckets[sourceBucket]:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case call.operation == "list":
		s.list(w, bucket+"/", r.URL.Query())
	case call.operation == "copy":
		s.copy(w, r, call)
	case call.operation == "put":
		sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body))
		stored := object{etagOf(body), base64.StdEncoding.EncodeToString(sum), body}
		w.Header().Set("ETag", stored.etag)
		s.objects[call.path] = stored
	default:
		s.read(w, r, call.path)
	}
}

func (s *store) copy(w http.ResponseWriter, r *http.Request, call request) {
	stored, exists := s.objects[call.source]
	_, taken := s.objects[call.path]
	switch {
	case call.path == call.source:
		refuse(w, http.StatusBadRequest, "InvalidRequest")
	case !exists:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case taken && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		// a new one, as with SSE-KMS: clients have to compare the checksum
		stored.etag = etagOf([]byte(call.path))
		s.objects[call.path] = stored
		answer(w, http.StatusOK, copied{ETag: stored.etag})
	}
}

func (s *store) read(w http.ResponseWriter, r *http.Request, path string) {
	stored, exists := s.objects[path]
	if !exists {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", stored.etag)
	w.Header().Set("Content-Type", "binary/octet-stream")
	if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		w.Header().Set("X-Amz-Checksum-Crc32", stored.crc32)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(stored.body))
}

func (s *store) list(w http.ResponseWriter, bucket string, query url.Values) {
	prefix, after := bucket+query.Get("prefix"), bucket+query.Get("continuation-token")
	var page listing
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(path, prefix) || path <= after {
			continue
		}
		if len(page.Contents) == pageKeys {
			page.IsTruncated, page.NextContinuationToken = true, page.Contents[pageKeys-1].Key
			break
		}
		page.Contents = append(page.Contents,
			listed{strings.TrimPrefix(path, bucket), len(s.objects[path].body)})
	}
	answer(w, http.StatusOK, page)
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key  string
	Size int
}

type copied struct {
	XMLName xml.Name `xml:"CopyObjectResult"`
	ETag    string
}

type refused struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, refused{Code: code})
}

func answer(w http.ResponseWriter, status int, value any) {
	body, _ := xml.Marshal(value)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func etagOf(body []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(body)) }
