package copy

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/bucket"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// Verbs are the copies from a host.
var Verbs = []host.Verb{{Name: "copy", Does: "copies the objects of a prefix or a manifest server-side; prints one summary", Run: copyVerb}}

// options are those of the verb.
type options struct {
	account.Given
	Policy
	source, sourcePrefix, manifest, destination, prefix, failed string
	parallel, seconds                                           int64
	empty, isListing                                            bool
	sourceRegion, storageClass, payer                           string
	size                                                        int64        // of a manifest that is a file
	read                                                        atomic.Int64 // of its bytes
}

func readOptions(arguments []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("transfer copy", flag.ContinueOnError)
	text := func(value *string, name, usage string) { flags.StringVar(value, name, "", usage) }
	text(&o.EndpointURL, "endpoint-url", "`URL` of another S3 server, http://host:port (default AWS_ENDPOINT_URL)")
	text(&o.Region, "region", "`region` of the buckets (default AWS_REGION)")
	text(&o.sourceRegion, "source-region", "`region` of the source bucket (default --region)")
	text(&o.storageClass, "storage-class", "storage `class` of the copies (default STANDARD)")
	text(&o.payer, "request-payer", "`requester`: you pay for requests to a Requester Pays bucket")
	text(&o.source, "source-bucket", "`name` of the bucket to copy from")
	flags.Func("source-prefix", "`prefix` of the keys to copy, left out of the copies' keys; \"\": the whole bucket", func(prefix string) error {
		o.sourcePrefix, o.isListing = prefix, true
		return nil
	})
	text(&o.manifest, "manifest", "`file` of rows instead of --source-prefix, - for stdin: source,destination[,bytes], or bucket,key[,version] of the "+
		"source bucket (S3 Inventory, S3 Batch Operations); gzip too. Keys are URL-encoded: + is a space, %2B a plus. A file of --failed is one too")
	text(&o.destination, "destination-bucket", "`name` of the bucket to copy to")
	text(&o.prefix, "destination-prefix", "`prefix` of every destination key; put in front of keys listed or of bucket,key")
	flags.Int64Var(&o.parallel, "parallel-limit", 100, "most parallel `calls`")
	flags.StringVar(&o.Pace, "pace", Adaptive, "`pace`: adaptive (finds S3's limit) or fixed (--parallel-limit alone)")
	flags.Int64Var(&o.CallsPerS, "calls-per-s", 0, "most `calls` per second; 0: no cap")
	flags.StringVar(&o.RetryMode, "retry-mode", Standard, "`mode`: standard (botocore's, with a quota of retries) or legacy")
	flags.Int64Var(&o.Attempts, "retry-attempts", defaultAttempts, "`attempts` per call, including the first")
	flags.Int64Var(&o.seconds, "seconds", 0, "stop after this many `seconds`; 0: when everything is copied")
	flags.BoolVar(&o.empty, "empty-first", false, "delete everything below --destination-prefix first")
	text(&o.failed, "failed", "`file` for the failed rows, as JSON lines (default: the first few on stderr). To retry them, give it as "+
		"--manifest, without --empty-first")
	err := host.Parse(flags, arguments, stderr, o.wrong)
	o.Parallel = int(o.parallel)
	return o, err
}

func (o *options) wrong() string {
	rows := ""
	if (o.manifest != "") == o.isListing {
		rows = "give either --source-prefix or --manifest"
	}
	return cmp.Or(host.Missing("source-bucket", o.source), host.Missing("destination-bucket", o.destination), rows, o.wrongPlaces(), o.wrongFiles(),
		host.OneOf("request-payer", cmp.Or(o.payer, "requester"), "requester"), host.URL("endpoint-url", o.EndpointURL),
		host.Between("parallel-limit", o.parallel, 1, LargestParallel), host.OneOf("pace", o.Pace, Fixed, Adaptive),
		host.Between("calls-per-s", o.CallsPerS, 0, largestCallsPerS), host.OneOf("retry-mode", o.RetryMode, Standard, Legacy),
		host.Between("retry-attempts", o.Attempts, 1, largestAttempts), host.Between("seconds", o.seconds, 0, 1_000_000))
}

// wrongPlaces refuses what would delete the sources, or copy the copies.
func (o *options) wrongPlaces() string {
	if o.source != o.destination {
		return ""
	}
	overlap := o.isListing && (strings.HasPrefix(o.sourcePrefix, o.prefix) || strings.HasPrefix(o.prefix, o.sourcePrefix))
	switch {
	case o.empty && (o.prefix == "" || overlap):
		return fmt.Sprintf("--empty-first would delete sources: --destination-prefix %q overlaps them in the same bucket; choose another", o.prefix)
	case o.isListing && strings.HasPrefix(o.prefix, o.sourcePrefix):
		return fmt.Sprintf("--destination-prefix %q is inside --source-prefix %q of the same bucket: every copy would be listed and "+
			"copied again; choose one outside it", o.prefix, o.sourcePrefix)
	}
	return ""
}

// wrongFiles refuses a manifest that can't be read, or that the failed rows would overwrite.
func (o *options) wrongFiles() string {
	if o.manifest == "" || o.manifest == "-" {
		return ""
	}
	manifest, err := os.Stat(o.manifest)
	if err != nil {
		return fmt.Sprintf("--manifest %s can't be read: %v", o.manifest, errors.Unwrap(err))
	}
	if manifest.Mode().IsRegular() {
		o.size = manifest.Size()
	}
	if failed, err := os.Stat(o.failed); err == nil && os.SameFile(manifest, failed) {
		return fmt.Sprintf("--failed %s would overwrite what --manifest reads: give it another name", o.failed)
	}
	return ""
}

// errEnough ends a copy whose --seconds are over.
var errEnough = errors.New("enough")

// shownFailures is how many failed rows go to stderr where there is no file for them.
const shownFailures = 10

// copyVerb copies and prints the counts of a record.
func copyVerb(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	o, err := readOptions(arguments, stderr)
	if err != nil {
		return err
	}
	process.UseOneProcessor()
	seen := observe()
	j := &job{Policy: o.Policy, prefix: o.prefix, emptyFirst: o.empty, seen: seen, failures: newFailures(stderr, "host", "host", 0, 1, 0), notices: stderr}
	j.failures.most = shownFailures
	if o.failed != "" {
		file, err := os.Create(o.failed)
		if err != nil {
			return host.Wrong("transfer copy", fmt.Sprintf("--failed %s can't be written: %v", o.failed, errors.Unwrap(err)), stderr)
		}
		defer file.Close()
		j.failures.log, j.failures.most = file, 0
	}
	from := o.Given
	from.Region = cmp.Or(o.sourceRegion, from.Region)
	j.route, err = openRoute(ctx, from, o.Given, o.source, o.destination, bucket.Options{Connections: o.Parallel, RequesterPays: o.payer != ""})
	if err != nil {
		return err
	}
	if o.storageClass != "" {
		j.copier.header["X-Amz-Storage-Class"] = []string{o.storageClass}
	}
	o.chooseRows(j)
	calls, cancel := deadline.Outlasting(ctx, callsGrace)
	defer cancel()
	begin := ctx
	if o.seconds > 0 {
		limited, stop := context.WithTimeoutCause(ctx, time.Duration(o.seconds)*time.Second, errEnough)
		defer stop()
		begin = limited
	}
	ended, silent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(silent)
		o.progress(seen, stderr, ended)
	}()
	err = j.run(calls, begin)
	close(ended)
	<-silent // no line of progress comes behind those that say how it ended
	if err == errEnough {
		err = nil
		_, _ = fmt.Fprintf(stderr, "stopped after %d seconds (--seconds), with %d copied\n", o.seconds, seen.copied.Load())
	}
	o.sayRest(seen, stderr)
	return o.conclude(j, err, stdout)
}

// conclude prints the summary, and returns what the command ends with.
func (o *options) conclude(j *job, err error, stdout io.Writer) error {
	if wrote := j.failures.flush(); wrote != nil {
		err = errors.Join(failure.New(failure.File, "the failed rows aren't all in %s: %v", o.failed, wrote), err)
	}
	summary := append(j.seen.counts(err == nil), some(true, "elapsed_seconds", j.seen.elapsedSeconds(), "bytes", j.seen.bytes.Load(),
		"trajectory", j.seen.track.text())...)
	_, errStdout := io.WriteString(stdout, record.Object(summary)+"\n")
	if failed := j.seen.failed.Load(); err == nil && failed > 0 {
		rows := "1 row wasn't copied"
		if failed > 1 {
			rows = fmt.Sprintf("%d rows weren't copied", failed)
		}
		err = failure.New(failure.S3, "%s %s; mend what the reasons name, and run the command again without --empty-first",
			rows, j.failures.summary())
	}
	if errStdout != nil {
		err = errors.Join(err, failure.New(failure.File, "the summary can't be written to stdout: %v", errStdout))
	}
	return err
}

// chooseRows says where the rows come from.
func (o *options) chooseRows(j *job) {
	if o.isListing {
		j.where = fmt.Sprintf("the source prefix %q", o.sourcePrefix)
		j.rows = listed(j.patiently(j.from), j.seen, o.sourcePrefix, o.prefix)
		return
	}
	open := func() (*os.File, error) { return os.Open(o.manifest) }
	if stdin := os.Stdin; o.manifest == "-" {
		open = func() (*os.File, error) { return stdin, nil }
	}
	j.where, j.nameRest = "the manifest", o.failed != "" && o.size > 0
	j.rows = func(ctx context.Context, take func(row) error) error {
		if j.nameRest { // it is read on when the copy has stopped
			ctx = context.WithoutCancel(ctx)
		}
		return manifestRows(o.follow(ctx, open), manifestFormat(o.source, o.prefix), take)
	}
}

// follow reads a file, which may be a pipe: neither opening nor reading one that nobody writes to can be ended, so both are left
// behind when the context ends.
func (o *options) follow(ctx context.Context, open func() (*os.File, error)) io.Reader {
	rows, fed := io.Pipe()
	context.AfterFunc(ctx, func() { _ = rows.CloseWithError(context.Cause(ctx)) })
	go func() {
		file, err := open()
		if err == nil {
			defer file.Close()
			_, err = io.Copy(fed, io.TeeReader(file, o))
		}
		if err != nil {
			err = failure.OfFile(err)
		}
		_ = fed.CloseWithError(err)
	}()
	return rows
}

// Write counts what is read of the manifest.
func (o *options) Write(p []byte) (int, error) {
	o.read.Add(int64(len(p)))
	return len(p), nil
}

// sayRest says what stderr should have after the last line of progress.
func (o *options) sayRest(seen *observed, stderr io.Writer) {
	if more := seen.failed.Load() - shownFailures; o.failed == "" && more > 0 {
		_, _ = fmt.Fprintf(stderr, "%d more rows failed; --failed FILE has all of them\n", more)
	}
	if left := seen.left.Load(); left > 0 {
		_, _ = fmt.Fprintf(stderr, "%d rows were left; to copy them, give %s as --manifest\n", left, o.failed)
	}
}

// progress says every few seconds how far it has come; of a file also how much of it is read.
func (o *options) progress(seen *observed, stderr io.Writer, ended chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for before := int64(0); ; {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		copied, there, failed := seen.copied.Load(), seen.alreadyThere.Load(), seen.failed.Load()
		done, part := copied+there+failed, ""
		if o.size > 0 {
			part = fmt.Sprintf(", %d %% of the manifest read", 100*o.read.Load()/o.size)
		}
		_, _ = fmt.Fprintf(stderr, "%d copied, %d already there, %d failed, %d SlowDowns, %.0f rows/s%s\n", copied, there, failed,
			seen.slowDowns.Load(), float64(done-before)/progressEvery.Seconds(), part)
		before = done
	}
}

// progressEvery is the time between two lines of progress. A variable for tests.
var progressEvery = 5 * time.Second
