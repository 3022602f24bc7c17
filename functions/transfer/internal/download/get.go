package download

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/ident"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3"
)

// Verbs are the downloads from a host.
var Verbs = []host.Verb{
	{Name: "get", Does: "downloads one object, timed; prints one record", Run: get},
	{Name: "get-many", Does: "downloads every object under a prefix; prints one summary", Run: getMany},
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

type getOptions struct {
	source
	key, method, sink, output, checksum string
	parallel                            int
	partMB, timeoutS, objectBytes       int64
}

func readGetOptions(arguments []string, stderr io.Writer) (*getOptions, error) {
	o := &getOptions{}
	flags := flag.NewFlagSet("transfer get", flag.ContinueOnError)
	o.options(flags)
	flags.StringVar(&o.key, "key", "", "`key` of the object")
	flags.StringVar(&o.method, "method", Ranges, "`method`: stream (one GET) or ranges (parallel GETs)")
	flags.StringVar(&o.sink, "sink", Tmp, "where the bytes go: `sink` discard, memory or tmp (a file)")
	flags.StringVar(&o.output, "output", "", "`file` to write with --sink tmp; it appears only when it is complete")
	flags.StringVar(&o.checksum, "checksum", "", "`checksum` that the object must have, sha256:DIGITS or crc32:DIGITS (default none)")
	flags.Int64Var(&o.objectBytes, "object-bytes", -1, "size that the object must have, in `bytes` (default any)")
	flags.IntVar(&o.parallel, "parallel", 8, "parallel `connections` of --method ranges")
	flags.Int64Var(&o.partMB, "part-mb", 32, "size of a range, in `MiB`")
	flags.Int64Var(&o.timeoutS, "timeout-s", 3600, "longest duration, in `seconds`")
	err := host.Parse(flags, arguments, stderr, func() string {
		output := ""
		if (o.sink == Tmp) != (o.output != "") {
			output = "--output is needed with --sink tmp, and only then"
		}
		checksum := ""
		if o.checksum != "" && ParseChecksum(o.checksum) == nil {
			checksum = fmt.Sprintf("--checksum %q must be sha256: with 64 or crc32: with 8 lower-case hexadecimal digits", o.checksum)
		}
		return cmp.Or(host.URL("endpoint-url", o.EndpointURL), host.Missing("bucket", o.bucket), host.Missing("key", o.key),
			host.OneOf("method", o.method, Stream, Ranges),
			host.OneOf("sink", o.sink, Discard, Memory, Tmp),
			output, checksum, host.Between("parallel", int64(o.parallel), 1, 256), host.Between("part-mb", o.partMB, 1, 5120),
			host.Between("timeout-s", o.timeoutS, 1, 1_000_000))
	})
	return o, err
}

// get downloads one object and prints its record: that of the function, with null for what only Lambda knows.
func get(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	o, err := readGetOptions(arguments, stderr)
	if err != nil {
		return err
	}
	variant := Variant{Method: o.method, Sink: o.sink, Parallel: o.parallel, PartBytes: o.partMB << 20}
	outcome, method := o.download(ctx, variant), variant.name()
	labels := record.Labels{SandboxID: ident.New(), ColdStart: 1, Attempt: 1, Method: &method}
	if _, err := io.WriteString(stdout, record.Format(labels, outcome.said(&variant, 0))+"\n"); err != nil {
		return failure.OfFile(err)
	}
	return outcome.Err
}

func (o *getOptions) download(ctx context.Context, variant Variant) Outcome {
	client, err := s3.Open(ctx, o.Given, o.bucket)
	if err != nil {
		return NotStarted(err)
	}
	job := Job{Client: client, Key: o.key, Checksum: ParseChecksum(o.checksum)}
	if err := variant.Check(job.Checksum); err != nil {
		return NotStarted(err)
	}
	if o.objectBytes >= 0 {
		job.ObjectBytes = &o.objectBytes
	}
	deadline := time.Now().Add(time.Duration(o.timeoutS) * time.Second)
	runner := newRunner()
	if o.sink != Tmp {
		return timed(ctx, runner, variant, job, deadline)
	}
	// Beside its place and renamed when complete: a broken download leaves what was there before.
	job.File = filepath.Join(filepath.Dir(o.output), "."+filepath.Base(o.output)+"."+ident.New()[:8]+".part")
	outcome := timed(ctx, runner, variant, job, deadline)
	if outcome.Err == nil {
		if err := os.Rename(job.File, o.output); err != nil {
			outcome.Err = failure.OfFile(err)
		}
	}
	if outcome.Err != nil {
		_ = os.Remove(job.File) // it may never have been made
	}
	return outcome
}
