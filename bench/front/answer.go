package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const namespace = `xmlns="http://s3.amazonaws.com/doc/2006-03-01/"`

// refuse answers with one of S3's errors.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	w.Header().Set("X-Amz-Request-Id", "FRONT")
	answer(w, status, fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message><Resource>%s</Resource>"+
		"<RequestId>FRONT</RequestId></Error>", code, message, escaped(r.URL.Path)))
}

func answer(w http.ResponseWriter, status int, body string) {
	header := w.Header()
	header.Set("Content-Type", "application/xml")
	header.Set("Content-Length", strconv.Itoa(len(xml.Header)+len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header+body)
}

func escaped(text string) string {
	var built strings.Builder
	_ = xml.EscapeText(&built, []byte(text))
	return built.String()
}
