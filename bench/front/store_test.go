package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestTheStoreAnswersACopyAsS3Does(t *testing.T) {
	server := serving(t, func(*settings) {})
	const header, none = "X-Amz-Copy-Source", "If-None-Match"
	ask(t, server, "PUT", "/b/a%20b%2Bc%25%C3%A4", "hello")
	ask(t, server, "PUT", "/b/two%20words", "")
	ask(t, server, "PUT", "/b/huge", "", sizeHeader, fmt.Sprint(5<<30+1))
	for _, one := range []struct {
		path   string
		pairs  []string
		status int
		said   string
	}{
		{"/c/x", []string{header, "b/master", none, "*"}, 200, "<ETag>&#34;d41d8cd98f00b204e9800998ecf8427e&#34;</ETag>"},
		{"/c/x", []string{header, "b/master", none, "*"}, 412, "<Code>PreconditionFailed</Code>"},
		{"/c/x", []string{header, "/b/master"}, 200, "CopyObjectResult"},
		{"/c/y", []string{header, "b/a%20b%2Bc%25%C3%A4"}, 200, "5d41402abc4b2a76b9719d911017c592"},
		{"/c/spaced", []string{header, "b/two+words"}, 200, "CopyObjectResult"}, // a bare + is a space
		{"/c/z", []string{header, "b/nothing"}, 404, "<Code>NoSuchKey</Code>"},
		{"/c/z", []string{header, "nowhere/x"}, 404, "<Code>NoSuchBucket</Code>"},
		{"/nowhere/z", []string{header, "b/master"}, 404, "<Code>NoSuchBucket</Code>"},
		{"/b/master", []string{header, "b/master"}, 400, "copy an object to itself"},
		{"/c/huge", []string{header, "b/huge"}, 400, "larger than the maximum allowable size for a copy source"},
		{"/c/" + strings.Repeat("k", 1025), []string{header, "b/master"}, 400, "<Code>KeyTooLongError</Code>"},
	} {
		if got, _, body, _ := ask(t, server, "PUT", one.path, "", one.pairs...); got != one.status || !strings.Contains(body, one.said) {
			t.Errorf("%.40s %v: %d %s", one.path, one.pairs, got, body)
		}
	}
	if got, _, body, header := ask(t, server, "GET", "/c/y", "", "X-Amz-Checksum-Mode", "ENABLED"); got != 200 || body != "hello" ||
		header.Get("X-Amz-Checksum-Crc32") != "NhCmhg==" {
		t.Errorf("the copy reads %d %q %v", got, body, header)
	}
	if _, _, _, header := ask(t, server, "HEAD", "/b/huge", ""); header.Get("Content-Length") != "5368709121" {
		t.Errorf("the huge object is said to have %s bytes", header.Get("Content-Length"))
	}
}

func TestACopyCanHaveAnotherETagThanItsSourceAsUnderKMS(t *testing.T) {
	server := serving(t, func(s *settings) { s.etagPerCopy = true })
	ask(t, server, "PUT", "/c/x", "", "X-Amz-Copy-Source", "b/master")
	_, _, _, source := ask(t, server, "HEAD", "/b/master", "", "X-Amz-Checksum-Mode", "ENABLED")
	_, _, _, copied := ask(t, server, "HEAD", "/c/x", "", "X-Amz-Checksum-Mode", "ENABLED")
	if source.Get("ETag") == copied.Get("ETag") || source.Get("X-Amz-Checksum-Crc32") != copied.Get("X-Amz-Checksum-Crc32") {
		t.Errorf("source %v, copy %v", source, copied)
	}
}

func TestListingIsSortedInPagesAndFollowsWhatIsAddedAndDeleted(t *testing.T) {
	server := serving(t, func(*settings) {})
	listed := func(parameters string) (keys []string, token string) {
		got, _, body, _ := ask(t, server, "GET", "/c?list-type=2&"+parameters, "")
		if got != 200 {
			t.Fatalf("%d %s", got, body)
		}
		for _, part := range strings.Split(body, "<Key>")[1:] {
			key, _, _ := strings.Cut(part, "</Key>")
			keys = append(keys, key)
		}
		_, token, _ = strings.Cut(body, "<NextContinuationToken>")
		token, _, _ = strings.Cut(token, "</NextContinuationToken>")
		return keys, token
	}
	for _, key := range []string{"p/3", "p/1", "p/4", "p/2 +", "q/1"} {
		ask(t, server, "PUT", "/c/"+url.PathEscape(key), "")
	}
	first, token := listed("prefix=p/&max-keys=2&encoding-type=url")
	if fmt.Sprint(first) != "[p/1 p/2+%2B]" || token == "" {
		t.Errorf("the first page is %q, token %q", first, token)
	}
	ask(t, server, "POST", "/c?delete", "<Delete><Object><Key>p/2 +</Key></Object><Object><Key>p/3</Key></Object></Delete>")
	if rest, more := listed("prefix=p/&continuation-token=" + token); fmt.Sprint(rest) != "[p/4]" || more != "" {
		t.Errorf("after a batch of deletes the second page is %q, token %q", rest, more)
	}
	ask(t, server, "PUT", "/c/p/0", "")
	ask(t, server, "DELETE", "/c/p/1", "")
	if all, _ := listed(""); fmt.Sprint(all) != "[p/0 p/4 q/1]" {
		t.Errorf("in the end there are %q", all)
	}
	if keys, _ := listed("start-after=p/0&prefix=p/"); fmt.Sprint(keys) != "[p/4]" {
		t.Errorf("after p/0 come %q", keys)
	}
}
