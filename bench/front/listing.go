package main

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const largestPage = 1000

// list answers ListObjectsV2. The keys are sorted only when there are new ones since the last time: one that lists and
// deletes, page by page, doesn't pay for that.
func (s *store) list(w http.ResponseWriter, r *http.Request, asked request, into *bucket) {
	query := r.URL.Query()
	if query.Get("delimiter") != "" {
		refuse(w, r, http.StatusNotImplemented, "NotImplemented", "The store of keys lists without a delimiter.")
		return
	}
	page := largestPage
	if wanted, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		page = min(max(wanted, 1), largestPage)
	}
	after := query.Get("start-after")
	if token := query.Get("continuation-token"); token != "" {
		plain, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			refuse(w, r, http.StatusBadRequest, "InvalidArgument", "The continuation token provided is incorrect")
			return
		}
		after = string(plain)
	}
	name, encoding := escaped, ""
	if query.Get("encoding-type") == "url" {
		encoding = "<EncodingType>url</EncodingType>"
		name = func(key string) string { return escaped(strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")) }
	}
	answer(w, http.StatusOK, s.page(asked, into, after, page, name, encoding))
}

func (s *store) page(asked request, into *bucket, after string, page int, name func(string) string, encoding string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if into.grown {
		into.sorted, into.grown = into.sorted[:0], false
		for key := range into.objects {
			into.sorted = append(into.sorted, key)
		}
		slices.Sort(into.sorted)
	}
	place, found := slices.BinarySearch(into.sorted, max(after, asked.key))
	if found && after >= asked.key && after != "" {
		place++
	}
	var contents strings.Builder
	var last, token string
	count := 0
	for _, key := range into.sorted[place:] {
		one := into.objects[key]
		if !strings.HasPrefix(key, asked.key) {
			break
		}
		if one == nil {
			continue
		}
		if count == page {
			token = fmt.Sprintf("<NextContinuationToken>%s</NextContinuationToken>", base64.RawURLEncoding.EncodeToString([]byte(last)))
			break
		}
		fmt.Fprintf(&contents, "<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size>"+
			"<StorageClass>STANDARD</StorageClass></Contents>", name(key), s.made.Format("2006-01-02T15:04:05.000Z"), escaped(one.etag), one.bytes)
		last = key
		count++
	}
	return fmt.Sprintf("<ListBucketResult %s><Name>%s</Name><Prefix>%s</Prefix><KeyCount>%d</KeyCount><MaxKeys>%d</MaxKeys>"+
		"%s<IsTruncated>%t</IsTruncated>%s%s</ListBucketResult>",
		namespace, escaped(asked.bucket), name(asked.key), count, page, encoding, token != "", token, contents.String())
}

// deleteBatch answers DeleteObjects.
func (s *store) deleteBatch(w http.ResponseWriter, r *http.Request, into *bucket) {
	var wanted struct {
		Quiet  bool
		Object []struct{ Key string }
	}
	if err := xml.NewDecoder(r.Body).Decode(&wanted); err != nil || len(wanted.Object) > largestPage {
		refuse(w, r, http.StatusBadRequest, "MalformedXML",
			"The XML you provided was not well-formed or did not validate against our published schema")
		return
	}
	var deleted strings.Builder
	s.mutex.Lock()
	for _, one := range wanted.Object {
		delete(into.objects, one.Key)
		if !wanted.Quiet {
			fmt.Fprintf(&deleted, "<Deleted><Key>%s</Key></Deleted>", escaped(one.Key))
		}
	}
	s.mutex.Unlock()
	answer(w, http.StatusOK, fmt.Sprintf("<DeleteResult %s>%s</DeleteResult>", namespace, deleted.String()))
}
