package s3

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/agreed"
)

func TestAnEndpointIsAWSByNameOfTheBucketAndAnyOtherByPath(t *testing.T) {
	for _, c := range []struct{ given, region, bucket, key, url, dial string }{
		{"", "eu-west-1", "data", "a b/é+'", "https://data.s3.eu-west-1.amazonaws.com/a%20b/%C3%A9%2B%27", "data.s3.eu-west-1.amazonaws.com:443"},
		{"", "us-east-1", "my.data", "k", "https://s3.us-east-1.amazonaws.com/my.data/k", "s3.us-east-1.amazonaws.com:443"},
		{"", "cn-north-1", "data", "k", "https://data.s3.cn-north-1.amazonaws.com.cn/k", "data.s3.cn-north-1.amazonaws.com.cn:443"},
		{"http://127.0.0.1:9000", "us-east-1", "data", "/k", "http://127.0.0.1:9000/data//k", "127.0.0.1:9000"},
		{"http://localhost", "us-east-1", "data", "k", "http://localhost/data/k", "localhost:80"},
		{"https://[::1]/", "us-east-1", "data", "", "https://[::1]/data/", "[::1]:443"},
	} {
		where, err := endpointOf(c.given, c.region, c.bucket)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if got := where.url(c.key, nil).String(); got != c.url || where.dial != c.dial {
			t.Errorf("%s to %s, not %s to %s", got, where.dial, c.url, c.dial)
		}
	}
}

func TestEveryPartitionsHostsEndAsBothLanguagesAgreedOn(t *testing.T) {
	var suffixes map[string]string
	agreed.Read(t, "dns_suffixes.json", &suffixes)
	if len(suffixes) == 0 {
		t.Fatal("no region is agreed on")
	}
	for region, suffix := range suffixes {
		where, err := endpointOf("", region, "data")
		if err != nil || where.dial != "data.s3."+region+"."+suffix+":443" {
			t.Errorf("%s: %+v, %v", region, where, err)
		}
	}
}

func TestAnEndpointThatIsNoURLIsRefused(t *testing.T) {
	for _, given := range []string{"not a url", "127.0.0.1:9000", "ftp://host", "http://", "http://host/path"} {
		if _, err := NewClient(given, "us-east-1", "data", aws.AnonymousCredentials{}); err == nil {
			t.Errorf("%q was taken", given)
		}
	}
}
