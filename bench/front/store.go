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
	longestKeyBytes = 1024
	pageKeys        = 1000
	modified        = "2026-01-01T00:00:00.000Z"
	sourceHeader    = "X-Amz-Copy-Source"
)

// request is what a client asks of S3: of a bucket without a key, and of a copy with its source.
type request struct {
	operation               string // create_bucket list copy put get head
	bucket, key             string
	sourceBucket, sourceKey string
}

func understand(r *http.Request) request {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	asked := request{operation: strings.ToLower(r.Method), bucket: bucket, key: key}
	switch {
	case key == "" && r.Method == http.MethodPut:
		asked.operation = "create_bucket"
	case key == "":
		asked.operation = "list"
	case r.Header.Get(sourceHeader) != "":
		asked.operation = "copy"
		source, _ := url.QueryUnescape(r.Header.Get(sourceHeader)) // a bare + is a space there
		asked.sourceBucket, asked.sourceKey, _ = strings.Cut(strings.TrimPrefix(source, "/"), "/")
	}
	return asked
}

func (a request) writes() bool { return a.operation == "copy" || a.operation == "put" }

type object struct {
	etag, crc32 string
	body        []byte
}

type bucket struct {
	objects map[string]object
	sorted  []string // nil when there are keys that it lacks
}

type store struct {
	sync.Mutex
	buckets map[string]*bucket
}

func (s *store) carryOut(w http.ResponseWriter, r *http.Request, asked request) {
	body := make([]byte, max(0, r.ContentLength))
	if _, err := io.ReadFull(r.Body, body); err != nil && asked.operation == "put" {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	s.Lock()
	defer s.Unlock()
	if asked.operation == "create_bucket" && s.buckets[asked.bucket] == nil {
		s.buckets[asked.bucket] = &bucket{objects: map[string]object{}}
	}
	b := s.buckets[asked.bucket]
	switch {
	case b == nil:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case len(asked.key) > longestKeyBytes:
		refuse(w, http.StatusBadRequest, "KeyTooLongError")
	case asked.operation == "list":
		b.list(w, r.URL.Query())
	case asked.operation == "copy":
		s.copy(w, r, asked, b)
	case asked.operation == "put":
		sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body))
		made := object{etagOf(body), base64.StdEncoding.EncodeToString(sum), body}
		w.Header().Set("ETag", made.etag)
		b.keep(asked.key, made)
	case asked.operation == "get" || asked.operation == "head":
		b.read(w, r, asked.key)
	}
}

func (s *store) copy(w http.ResponseWriter, r *http.Request, asked request, into *bucket) {
	from := s.buckets[asked.sourceBucket]
	if from == nil {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	source, exists := from.objects[asked.sourceKey]
	_, taken := into.objects[asked.key]
	switch {
	case from == into && asked.key == asked.sourceKey:
		refuse(w, http.StatusBadRequest, "InvalidRequest")
	case !exists:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case taken && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		source.etag = etagOf([]byte(asked.key)) // of its own, as with SSE-KMS: whoever compares has to take the checksum
		into.keep(asked.key, source)
		answer(w, http.StatusOK, copied{ETag: source.etag, LastModified: modified})
	}
}

func (b *bucket) keep(key string, made object) {
	if _, exists := b.objects[key]; !exists {
		b.sorted = nil
	}
	b.objects[strings.Clone(key)] = made // the request line, of which the key is a part, need not stay
}

func (b *bucket) read(w http.ResponseWriter, r *http.Request, key string) {
	asked, exists := b.objects[key]
	if !exists {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", asked.etag)
	w.Header().Set("Content-Type", "binary/octet-stream")
	if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		w.Header().Set("X-Amz-Checksum-Crc32", asked.crc32)
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(asked.body))
}

func (b *bucket) list(w http.ResponseWriter, query url.Values) {
	if b.sorted == nil {
		b.sorted = slices.Sorted(maps.Keys(b.objects))
	}
	prefix, after := query.Get("prefix"), query.Get("continuation-token")
	made := listing{Prefix: prefix}
	first, _ := slices.BinarySearch(b.sorted, max(prefix, after+"\x00"))
	for _, key := range b.sorted[first:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if made.KeyCount == pageKeys {
			made.IsTruncated, made.NextContinuationToken = true, made.Contents[pageKeys-1].Key
			break
		}
		made.Contents = append(made.Contents, listed{key, modified, b.objects[key].etag, len(b.objects[key].body)})
		made.KeyCount++
	}
	answer(w, http.StatusOK, made)
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Prefix                string
	KeyCount              int
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key, LastModified, ETag string
	Size                    int
}

type copied struct {
	XMLName            xml.Name `xml:"CopyObjectResult"`
	ETag, LastModified string
}

type refused struct {
	XMLName       xml.Name `xml:"Error"`
	Code, Message string
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, refused{Code: code, Message: "said by the front"})
}

func answer(w http.ResponseWriter, status int, value any) {
	body, _ := xml.Marshal(value)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func etagOf(body []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(body)) }
