// Package host is the command line: data on stdout as JSON, progress and errors on stderr; exit status 0 when everything
// was downloaded, 1 when something failed, 2 for a wrong command line.
package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
)

const usage = `transfer downloads from S3.

  transfer get       one object, timed; prints one record
  transfer get-many  every object under a prefix; prints one summary

"transfer get --help" and "transfer get-many --help" list the options. Credentials and region are found as AWS's own tools
find them; S3 is reached directly, without a proxy.
`

// errUsage has been explained on stderr already.
var errUsage = errors.New("wrong command line")

// Main runs one command and returns the exit status.
func Main(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	verbs := map[string]func(context.Context, []string, io.Writer, io.Writer) error{"get": get, "get-many": getMany}
	if len(arguments) > 0 && (arguments[0] == "--help" || arguments[0] == "-h") {
		_, _ = io.WriteString(stdout, usage)
		return 0
	}
	if len(arguments) == 0 || verbs[arguments[0]] == nil {
		_, _ = io.WriteString(stderr, usage)
		return 2
	}
	switch err := verbs[arguments[0]](ctx, arguments[1:], stdout, stderr); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	default:
		kind, message := failure.Describe(err)
		_, _ = fmt.Fprintf(stderr, "transfer %s: %s: %s\n", arguments[0], kind, message)
		return 1
	}
}

// source is where objects come from: the options that every verb has.
type source struct {
	account.Given
	bucket string
}

func (s *source) options(flags *flag.FlagSet) {
	flags.StringVar(&s.EndpointURL, "endpoint-url", "", "`URL` of the S3 server, http://host:port (default AWS_ENDPOINT_URL, else AWS)")
	flags.StringVar(&s.Region, "region", "", "`region` of the bucket (default AWS_REGION)")
	flags.StringVar(&s.bucket, "bucket", "", "`name` of the bucket")
}

// parse reads the options; what is wrong is said in one line on stderr.
func parse(flags *flag.FlagSet, arguments []string, stderr io.Writer, wrong func() string) error {
	flags.SetOutput(stderr)
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	message := wrong()
	if flags.NArg() > 0 {
		message = fmt.Sprintf("%q is not an option", flags.Arg(0))
	}
	if message != "" {
		_, _ = fmt.Fprintf(stderr, "%s: %s; see --help\n", flags.Name(), message)
		return errUsage
	}
	return nil
}

func between(name string, value, smallest, largest int64) string {
	if value < smallest || value > largest {
		return fmt.Sprintf("--%s %d must be a whole number from %d to %d", name, value, smallest, largest)
	}
	return ""
}

// firstOf returns the first complaint.
func firstOf(complaints ...string) string {
	for _, complaint := range complaints {
		if complaint != "" {
			return complaint
		}
	}
	return ""
}

func missing(name, value string) string {
	if value == "" {
		return "--" + name + " is missing"
	}
	return ""
}

func oneOf(name, value string, words ...string) string {
	for _, word := range words {
		if value == word {
			return ""
		}
	}
	return fmt.Sprintf("--%s %q must be one of %q", name, value, words)
}
