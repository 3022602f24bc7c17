package main

import (
	"net/http"
	"net/url"
	"strings"
)

// request is what a client asks of S3: a bucket, a key ("" for the bucket itself; of LIST its prefix), and of a COPY its source.
type request struct {
	operation               string // copy put delete delete_batch get head list create_bucket other
	bucket, key             string
	sourceBucket, sourceKey string
}

func understand(r *http.Request) request {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	asked := request{operation: "other", bucket: bucket, key: key}
	switch {
	case bucket == "":
	case key == "" && r.Method == http.MethodPut:
		asked.operation = "create_bucket"
	case key == "" && r.Method == http.MethodPost && r.URL.Query().Has("delete"):
		asked.operation = "delete_batch"
	case key == "" && r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		asked.operation, asked.key = "list", r.URL.Query().Get("prefix")
	case key == "" && r.Method == http.MethodHead:
		asked.operation = "head"
	case key == "":
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		asked.operation = "copy"
		asked.sourceBucket, asked.sourceKey = copySource(r.Header.Get("X-Amz-Copy-Source"))
	case r.Method == http.MethodPut, r.Method == http.MethodDelete, r.Method == http.MethodGet, r.Method == http.MethodHead:
		asked.operation = strings.ToLower(r.Method)
	}
	return asked
}

func (a request) writes() bool {
	switch a.operation {
	case "copy", "put", "delete", "delete_batch": // a batch counts once here; on S3 each of its keys does
		return true
	}
	return false
}

// mayBeCut: its answer can be lost, or its connection reset.
func (a request) mayBeCut() bool { return a.operation != "other" && a.operation != "create_bucket" }

// copySource decodes as S3 does: a bare + is a space there.
func copySource(header string) (bucket, key string) {
	header, _, _ = strings.Cut(header, "?versionId=")
	plain, err := url.QueryUnescape(header)
	if err != nil {
		return "", ""
	}
	bucket, key, _ = strings.Cut(strings.TrimPrefix(plain, "/"), "/")
	return bucket, key
}
