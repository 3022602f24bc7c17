package copy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
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
}

// unavailable are options of other copy tools that this one hasn't, and why.
var unavailable = map[string]string{
	"source-version-id": "only a manifest names versions",
	"tags":              "S3 copies the tags of the source",
	"metadata":          "S3 copies the metadata of the source",
	"acl":               "S3 doesn't copy ACLs; new objects are private",
	"sse":               "a copy is encrypted as the destination bucket says",
}

// storageClasses are those of a general purpose bucket.
var storageClasses = []string{"STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE", "REDUCED_REDUNDANCY"}

func readOptions(arguments []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("transfer copy", flag.ContinueOnError)
	text := func(value *string, name, usage string) { flags.StringVar(value, name, "", usage) }
	text(&o.EndpointURL, "endpoint-url", "`URL` of another S3 server, http://host:port (default AWS_ENDPOINT_URL)")
	text(&o.Region, "region", "`region` of the buckets (default AWS_REGION)")
	text(&o.sourceRegion, "source-region", "`region` of the source bucket (default --region)")
	text(&o.storageClass, "storage-class", "storage `class` of the copies (default STANDARD)")
	text(&o.payer, "request-payer", "`requester`: you pay for requests to a Requester Pays bucket")
	for name, why := range unavailable {
		flags.Func(name, "not available: "+why, func(string) error { return fmt.Errorf("--%s isn't available: %s", name, why) })
	}
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
		host.OneOf("storage-class", cmp.Or(o.storageClass, "STANDARD"), storageClasses...), host.OneOf("request-payer", cmp.Or(o.payer, "requester"), "requester"),
		host.URL("endpoint-url", o.EndpointURL),
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

func (o *options) wrongFiles() string {
	read, errRead := os.Stat(o.manifest)
	written, errWritten := os.Stat(o.failed)
	switch {
	case errRead != nil && o.manifest != "" && o.manifest != "-":
		return fmt.Sprintf("--manifest %s can't be read: %v", o.manifest, errors.Unwrap(errRead))
	case errRead == nil && read.IsDir():
		return fmt.Sprintf("--manifest %s must be a file, not a folder", o.manifest)
	case errWritten == nil && written.IsDir():
		return fmt.Sprintf("--failed %s must be a file, not a folder", o.failed)
	case errWritten == nil && errRead == nil && os.SameFile(read, written):
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
	j.copier.storageClass = o.storageClass
	o.chooseRows(j)
	calls, cancel := deadline.Outlasting(ctx, callsGrace)
	defer cancel()
	begin := ctx
	if o.seconds > 0 {
		limited, stop := context.WithTimeoutCause(ctx, time.Duration(o.seconds)*time.Second, errEnough)
		defer stop()
		begin = limited
	}
	ended := make(chan struct{})
	go o.progress(seen, stderr, ended)
	err = j.run(calls, begin)
	close(ended)
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
	if err == nil && j.seen.failed.Load() > 0 {
		without := ""
		if o.empty {
			without = " without --empty-first"
		}
		err = failure.New(failure.S3, "%s; mend what the reasons name, and run the command again%s", j.failures.summary(), without)
	}
	if errStdout != nil {
		err = errors.Join(err, failure.New(failure.File, "the summary can't be written to stdout: %v", errStdout))
	}
	return err
}

// chooseRows says where the rows come from.
func (o *options) chooseRows(j *job) {
	if o.isListing {
		j.rows = listed(j.patiently(j.from), j.seen, o.sourcePrefix, o.prefix)
		return
	}
	open := func() (*os.File, error) { return os.Open(o.manifest) }
	if stdin := os.Stdin; o.manifest == "-" {
		open = func() (*os.File, error) { return stdin, nil }
	}
	file, err := os.Stat(o.manifest)
	j.nameRest = o.failed != "" && err == nil && file.Mode().IsRegular()
	j.rows = func(ctx context.Context, take func(row) error) error {
		if j.nameRest { // it is read on when the copy has stopped
			ctx = context.WithoutCancel(ctx)
		}
		return manifestRows(follow(ctx, open), manifestFormat(o.source, o.prefix), take)
	}
}

// follow reads a file, which may be a pipe: neither opening nor reading one that nobody writes to can be ended, so both are left
// behind when the context ends.
func follow(ctx context.Context, open func() (*os.File, error)) io.Reader {
	rows, fed := io.Pipe()
	context.AfterFunc(ctx, func() { _ = rows.CloseWithError(context.Cause(ctx)) })
	go func() {
		file, err := open()
		if err == nil {
			defer file.Close()
			_, err = io.Copy(fed, file)
		}
		if err != nil {
			err = failure.OfFile(err)
		}
		_ = fed.CloseWithError(err)
	}()
	return rows
}

// capParallel lowers the calls at once to the connections that this process may open.
func (j *job) capParallel() {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil || files.Cur > LargestParallel*2 {
		return
	}
	if most := max(1, int(files.Cur)-keptFiles); j.Parallel > most {
		_, _ = fmt.Fprintf(j.notices, "--parallel-limit is %d instead of %d: this process may open only %d files; raise the limit (ulimit -n) for more\n",
			most, j.Parallel, files.Cur)
		j.Parallel = most
	}
}

// keptFiles is for what isn't a copy's connection: HEADs of sources, the listing, standard streams, files.
const keptFiles = sourcesAtOnce + 16

// sayRest says what stderr should have after the last line of progress.
func (o *options) sayRest(seen *observed, stderr io.Writer) {
	if more := seen.failed.Load() - shownFailures; o.failed == "" && more > 0 {
		_, _ = fmt.Fprintf(stderr, "%d more rows failed; --failed FILE has all of them\n", more)
	}
	if left := seen.left.Load(); left > 0 {
		_, _ = fmt.Fprintf(stderr, "%d rows were left; to copy them, give %s as --manifest\n", left, o.failed)
	}
}

// progress says every few seconds how far it has come, and for a file of rows, how long it will take.
func (o *options) progress(seen *observed, stderr io.Writer, ended chan struct{}) {
	total := make(chan int64, 1)
	go func() { total <- linesOf(o.manifest) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	rows, doneBefore, ofTotal := int64(0), int64(0), ""
	for {
		select {
		case <-ended:
			return
		case rows = <-total:
			if rows > 0 {
				ofTotal = fmt.Sprintf(" of %d", rows)
			}
		case <-ticker.C:
			done := seen.copied.Load() + seen.alreadyThere.Load() + seen.failed.Load()
			rate, wait := float64(done-doneBefore)/progressEvery.Seconds(), ""
			if rest := rows - done; rest > 0 && rate > 0 {
				wait = fmt.Sprintf(", %v left", (time.Duration(float64(rest)/rate) * time.Second).Round(time.Second))
			}
			doneBefore = done
			_, _ = fmt.Fprintf(stderr, "%d%s copied, %d already there, %d failed, %d SlowDowns, %.0f rows/s%s\n", seen.copied.Load(), ofTotal,
				seen.alreadyThere.Load(), seen.failed.Load(), seen.slowDowns.Load(), rate, wait)
		}
	}
}

// progressEvery is the time between two lines of progress. A variable for tests.
var progressEvery = 5 * time.Second

// linesOf counts the lines of a file that can be read twice; 0 for anything else, and for what is compressed.
func linesOf(name string) (count int64) {
	found, err := os.Stat(name)
	if err != nil || !found.Mode().IsRegular() {
		return 0
	}
	file, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer file.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := file.Read(buffer)
		if count == 0 && bytes.HasPrefix(buffer[:n], []byte(gzipMark)) {
			return 0
		}
		count += int64(bytes.Count(buffer[:n], []byte{'\n'}))
		if err != nil {
			return count
		}
	}
}
