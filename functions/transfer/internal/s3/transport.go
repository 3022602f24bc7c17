package s3

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"time"

	"stampede/transfer/internal/failure"
)

const (
	connectTimeout = 5 * time.Second
	// ReadTimeout is the longest silence on a connection.
	ReadTimeout = 15 * time.Second
)

// secure is how TLS is spoken with a server, with the certificates of AWS_CA_BUNDLE where it names some.
func secure(server string) (*tls.Config, error) {
	secured := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12}
	if path := os.Getenv("AWS_CA_BUNDLE"); path != "" {
		pem, err := os.ReadFile(path)
		secured.RootCAs = x509.NewCertPool()
		if err != nil || !secured.RootCAs.AppendCertsFromPEM(pem) {
			return nil, failure.New(failure.Settings, "AWS_CA_BUNDLE %q contains no readable certificate", path)
		}
	}
	return secured, nil
}
