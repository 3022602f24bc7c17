package express

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/s3test"
)

// dialed lets the client of a bucket reach another address than the one that it asks for.
func dialed(b *bucket.Bucket, dial func(address string) (net.Conn, error), trusted *httptest.Server) {
	transport := trusted.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com" // that of the test's certificate
	transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) { return dial(address) }
	b.Client = sdk.New(b.Client.Options(), func(o *sdk.Options) { o.HTTPClient = &http.Client{Transport: transport} })
}

func TestADirectoryBucketIsAskedAtTheHostOfItsZoneOverTLS(t *testing.T) {
	s := startStub(t)
	secured := httptest.NewTLSServer(s)
	defer secured.Close()
	t.Setenv("AWS_ENDPOINT_URL", "")
	asked := map[string]bool{}
	reach := func(address string) (net.Conn, error) {
		asked[address] = true
		return net.Dial("tcp", secured.Listener.Addr().String())
	}
	up, down := start(t), start(t, "OPERATION=download")
	dialed(up.buckets[oneZone], reach, secured)
	dialed(down.buckets[oneZone], reach, secured)
	s3test.Expect(t, up.Invoke(ordered(`"parallel_limit": 1`)), map[string]any{"status": "ok", "sessions": 1})
	s3test.Expect(t, down.Invoke(ordered(`"parallel_limit": 1`)), map[string]any{"status": "ok", "sessions": 1})
	if len(asked) != 1 || !asked[directory+".s3express-use1-az4.us-east-1.amazonaws.com:443"] {
		t.Error(asked)
	}
}

func TestAZoneThatIsNotInTheRegionIsSaid(t *testing.T) {
	s := startStub(t)
	secured := httptest.NewTLSServer(s)
	defer secured.Close()
	t.Setenv("AWS_ENDPOINT_URL", "")
	f := start(t, "EXPRESS_BUCKET_NAME=b--apne1-az4--x-s3")
	dialed(f.buckets[oneZone], func(address string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
	}, secured)
	s3test.Expect(t, f.Invoke(ordered()), map[string]any{"error_type": "NoConnection", "requests": 1,
		"error_message": "no host b--apne1-az4--x-s3.s3express-apne1-az4.us-east-1.amazonaws.com:443: the zone in EXPRESS_BUCKET_NAME must be one of AWS_REGION"})
}

func TestWhatKeepsS3OutOfReachIsSaid(t *testing.T) {
	startStub(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
	s3test.Expect(t, start(t).Invoke(ordered()), map[string]any{"error_type": "NoConnection", "error_message": "CreateSession: no connection", "retries": 3})
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	for _, of := range []string{standard, oneZone} {
		s3test.Expect(t, start(t).Invoke(ordered(class(of))), map[string]any{"error_type": "NoCredentials", "error_message": "no AWS credentials found", "requests": 0})
	}
}
