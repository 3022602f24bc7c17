package main

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	largestCopyBytes = 5 << 30
	longestKeyBytes  = 1024
	// sizeHeader lets a test put an object of any size without its bytes.
	sizeHeader = "X-Front-Object-Bytes"
)

// object is what a key stands for. Copies share it, so 10 million of them cost their keys.
type object struct {
	etag, crc32 string
	body        []byte
	bytes       int64 // without a body for those that sizeHeader made
}

// store answers for keys, without a disk and without looking at signatures: what it costs is little beside its client.
type store struct {
	etagPerCopy bool
	made        time.Time

	mutex   sync.RWMutex
	buckets map[string]*bucket
}

type bucket struct {
	objects map[string]*object
	sorted  []string // as of the last listing; keys deleted since are still in it
	grown   bool     // there are keys that sorted lacks
}

func newStore(etagPerCopy bool) *store {
	return &store{etagPerCopy: etagPerCopy, made: time.Now().UTC(), buckets: map[string]*bucket{}}
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := understand(r)
	if asked.operation == "create_bucket" {
		s.mutex.Lock()
		if s.buckets[asked.bucket] == nil {
			s.buckets[asked.bucket] = &bucket{objects: map[string]*object{}}
		}
		s.mutex.Unlock()
		w.WriteHeader(http.StatusOK)
		return
	}
	s.mutex.RLock()
	into := s.buckets[asked.bucket]
	s.mutex.RUnlock()
	switch {
	case asked.operation == "other":
		refuse(w, r, http.StatusNotImplemented, "NotImplemented", "The store of keys doesn't know this request.")
	case into == nil:
		refuse(w, r, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	case len(asked.key) > longestKeyBytes:
		refuse(w, r, http.StatusBadRequest, "KeyTooLongError", "Your key is too long")
	default:
		s.carryOut(w, r, asked, into)
	}
}

func (s *store) carryOut(w http.ResponseWriter, r *http.Request, asked request, into *bucket) {
	switch asked.operation {
	case "copy":
		s.copy(w, r, asked, into)
	case "put":
		s.put(w, r, asked, into)
	case "delete":
		s.mutex.Lock()
		delete(into.objects, asked.key)
		s.mutex.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case "delete_batch":
		s.deleteBatch(w, r, into)
	case "list":
		s.list(w, r, asked, into)
	default:
		s.read(w, r, asked, into)
	}
}

func (s *store) copy(w http.ResponseWriter, r *http.Request, asked request, into *bucket) {
	if asked.bucket == asked.sourceBucket && asked.key == asked.sourceKey {
		refuse(w, r, http.StatusBadRequest, "InvalidRequest", "This copy request is illegal because it is trying to copy an "+
			"object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.")
		return
	}
	s.mutex.RLock()
	from := s.buckets[asked.sourceBucket]
	var source *object
	if from != nil {
		source = from.objects[asked.sourceKey]
	}
	s.mutex.RUnlock()
	switch {
	case from == nil:
		refuse(w, r, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
		return
	case source == nil:
		refuse(w, r, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	case source.bytes > largestCopyBytes:
		refuse(w, r, http.StatusBadRequest, "InvalidRequest",
			"The specified copy source is larger than the maximum allowable size for a copy source: 5368709120")
		return
	}
	if s.etagPerCopy {
		other := *source
		other.etag = etagOf([]byte(asked.bucket + "/" + asked.key))
		source = &other
	}
	if !s.keep(r, into, asked.key, source) {
		refuse(w, r, http.StatusPreconditionFailed, "PreconditionFailed",
			"At least one of the pre-conditions you specified did not hold")
		return
	}
	answer(w, http.StatusOK, fmt.Sprintf("<CopyObjectResult %s><LastModified>%s</LastModified><ETag>%s</ETag></CopyObjectResult>",
		namespace, s.made.Format("2006-01-02T15:04:05.000Z"), escaped(source.etag)))
}

// keep puts an object at a key, unless the request wants none to be there and one is.
func (s *store) keep(r *http.Request, into *bucket, key string, one *object) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, there := into.objects[key]
	if there && r.Header.Get("If-None-Match") == "*" {
		return false
	}
	if there {
		into.objects[key] = one
		return true
	}
	into.objects[strings.Clone(key)] = one // the request line, of which it is a part, need not stay
	into.grown = true
	return true
}

func (s *store) put(w http.ResponseWriter, r *http.Request, asked request, into *bucket) {
	if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		refuse(w, r, http.StatusNotImplemented, "NotImplemented", "The store of keys takes no aws-chunked body.")
		return
	}
	body, err := bodyOf(r)
	if err != nil {
		refuse(w, r, http.StatusBadRequest, "IncompleteBody", "The body ended early")
		return
	}
	one := &object{etag: etagOf(body), crc32: crc32Of(body), body: body, bytes: int64(len(body))}
	if size, err := strconv.ParseInt(r.Header.Get(sizeHeader), 10, 64); err == nil {
		one.bytes = size
	}
	if !s.keep(r, into, asked.key, one) {
		refuse(w, r, http.StatusPreconditionFailed, "PreconditionFailed",
			"At least one of the pre-conditions you specified did not hold")
		return
	}
	w.Header().Set("ETag", one.etag)
	w.WriteHeader(http.StatusOK)
}

// bodyOf reads a body into memory of its size, where the size is said: what the store costs is not what is measured.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

func (s *store) read(w http.ResponseWriter, r *http.Request, asked request, into *bucket) {
	if asked.key == "" { // HEAD of the bucket
		w.WriteHeader(http.StatusOK)
		return
	}
	s.mutex.RLock()
	one := into.objects[asked.key]
	s.mutex.RUnlock()
	if one == nil {
		refuse(w, r, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	}
	header := w.Header()
	header.Set("ETag", one.etag)
	header.Set("Content-Type", "binary/octet-stream")
	if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		header.Set("X-Amz-Checksum-Crc32", one.crc32)
		header.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	if r.Method == http.MethodHead {
		header.Set("Last-Modified", s.made.Format(http.TimeFormat))
		header.Set("Content-Length", strconv.FormatInt(one.bytes, 10))
		w.WriteHeader(http.StatusOK)
		return
	}
	http.ServeContent(w, r, "", s.made, bytes.NewReader(one.body))
}

func etagOf(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func crc32Of(body []byte) string {
	sum := crc32.ChecksumIEEE(body)
	return base64.StdEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}
