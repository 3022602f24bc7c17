package s3

import (
	"net/netip"
	"net/url"
	"strings"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
)

// endpoint says where a bucket answers, and how its URLs are made.
type endpoint struct {
	scheme string
	host   string // as in the Host header
	dial   string // host:port
	server string // name in the server's certificate
	base   string // path in front of every key, without a slash at its end
}

// endpointOf makes the endpoint of a bucket. On AWS (given is empty) that is the virtual-hosted name, except for a bucket
// with dots, which no wildcard certificate covers; a given endpoint gets the bucket in the path, which every server knows.
func endpointOf(given, region, bucket string) (endpoint, error) {
	base := given
	if given == "" {
		base = "https://s3." + region + "." + DNSSuffix(region)
	}
	parsed := account.Server(base)
	if parsed == nil {
		return endpoint{}, failure.New(failure.Settings, "the endpoint %q %s", given, account.ServerRule)
	}
	if given == "" && !strings.Contains(bucket, ".") {
		parsed.Host = bucket + "." + parsed.Host
		return endpoint{parsed.Scheme, parsed.Host, parsed.Host + ":443", parsed.Hostname(), ""}, nil
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	return endpoint{parsed.Scheme, parsed.Host, dialAddress(parsed.Hostname(), port), parsed.Hostname(), "/" + escape(bucket, false)}, nil
}

// dnsSuffixes is what a host name of AWS ends with, by the beginning of the region, as in functions/common/endpoint.py.
var dnsSuffixes = map[string]string{
	"cn-":      "amazonaws.com.cn",
	"eusc-":    "amazonaws.eu",
	"us-iso-":  "c2s.ic.gov",
	"us-isob-": "sc2s.sgov.gov",
	"us-isof-": "csp.hci.ic.gov",
	"eu-isoe-": "cloud.adc-e.uk",
}

// DNSSuffix returns what the host names of AWS's services end with in a region, without a dot in front.
func DNSSuffix(region string) string {
	for beginning, suffix := range dnsSuffixes {
		if strings.HasPrefix(region, beginning) {
			return suffix
		}
	}
	return "amazonaws.com"
}

func dialAddress(host, port string) string {
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}

// url returns the URL of a key ("" for the bucket itself). Path and RawPath are both set, so that the key is escaped in
// one way only: the one that S3 signs.
func (e endpoint) url(key string, query url.Values) *url.URL {
	made := &url.URL{Scheme: e.scheme, Host: e.host, RawQuery: query.Encode()}
	made.RawPath = e.base + "/" + escape(key, true)
	made.Path, _ = url.PathUnescape(made.RawPath)
	return made
}

const hexDigits = "0123456789ABCDEF"

// escape is AWS's own: everything but A-Z a-z 0-9 - _ . ~ (and the slash, when kept) as %XX.
func escape(text string, keepSlash bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0, keepSlash && c == '/':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}
