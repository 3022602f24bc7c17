package express

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// Verbs upload and download a set from a host.
var Verbs = []host.Verb{
	{Name: "put-set", Does: "uploads a set of objects of one size, one PutObject each; prints one summary", Run: verb("put-set", types.SessionModeReadWrite,
		func(ctx context.Context, s *slice) error { return s.upload(ctx, nil) })},
	{Name: "get-set", Does: "downloads that set to temporary files, one GetObject each; prints one summary", Run: verb("get-set", types.SessionModeReadOnly,
		func(ctx context.Context, s *slice) error { return s.download(ctx) })},
}

// options are those of both verbs.
type options struct {
	account.Given
	bucket                             string
	objectBytes, objectCount, parallel int64
}

func readOptions(name string, arguments []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("transfer "+name, flag.ContinueOnError)
	flags.StringVar(&o.EndpointURL, "endpoint-url", "", "`URL` of the S3 server, http://host:port (default AWS_ENDPOINT_URL, else AWS)")
	flags.StringVar(&o.Region, "region", "", "`region` of the bucket (default AWS_REGION)")
	flags.StringVar(&o.bucket, "bucket", "", "`name` of the bucket; one that ends in --ZONE--x-s3 is a directory bucket")
	flags.Int64Var(&o.objectBytes, "object-bytes", 10_000, "size of each object in `bytes`")
	flags.Int64Var(&o.objectCount, "object-count", 100, "number of `objects`")
	flags.Int64Var(&o.parallel, "parallel", 64, "most parallel `requests`")
	return o, host.Parse(flags, arguments, stderr, func() string {
		return cmp.Or(host.URL("endpoint-url", o.EndpointURL), host.Missing("bucket", o.bucket), host.Between("object-bytes", o.objectBytes, smallestObject, largestObject),
			host.Between("object-count", o.objectCount, 1, mostObjects), host.Between("parallel", o.parallel, 1, largestParallel))
	})
}

func verb(name string, mode types.SessionMode, do func(context.Context, *slice) error) func(context.Context, []string, io.Writer, io.Writer) error {
	return func(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
		o, err := readOptions(name, arguments, stderr)
		if err != nil {
			return err
		}
		b, err := open(ctx, o.Given, "", o.bucket, mode)
		if err != nil {
			return err
		}
		process.CollectRarely(process.MachineMemoryMB())
		seen := observe()
		s := &slice{set: set{o.objectBytes, o.objectCount}, bucket: b, objects: o.objectCount, parallel: int(o.parallel), seen: seen}
		if err = s.prime(ctx); err == nil {
			err = do(ctx, s)
		}
		_, printed := io.WriteString(stdout, record.Object(append([]record.Pair{
			{Key: "objects", Value: seen.objects.Load()}, {Key: "bytes", Value: seen.bytes.Load()}, {Key: "elapsed_seconds", Value: seen.elapsedSeconds()},
		}, seen.measured(o.objectCount)...))+"\n")
		return errors.Join(err, printed)
	}
}
