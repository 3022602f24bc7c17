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
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3"
)

// Verbs are the copies from a host.
var Verbs = []host.Verb{{Name: "copy", Does: "copies the objects of a prefix or a manifest server-side; prints one summary", Run: copyVerb}}

// options are those of the verb.
type options struct {
	account.Given
	Policy
	source, sourcePrefix, manifest, destination, prefix, failed string
	parallel, seconds                                           int64
	empty                                                       bool
	sourceRegion, storageClass, payer                           string
	refused                                                     map[string]*string // values of options that there aren't
}

// refusals are options of other copy tools that this one hasn't, and why.
var refusals = map[string]string{
	"source-version-id": "only current versions are copied",
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
	flags.StringVar(&o.EndpointURL, "endpoint-url", "", "`URL` of the S3 server, http://host:port (default AWS_ENDPOINT_URL, else AWS)")
	flags.StringVar(&o.Region, "region", "", "`region` of the buckets (default AWS_REGION)")
	flags.StringVar(&o.sourceRegion, "source-region", "", "`region` of the source bucket (default that of --region)")
	flags.StringVar(&o.storageClass, "storage-class", "", "storage `class` of the copies (default STANDARD)")
	flags.StringVar(&o.payer, "request-payer", "", "`requester`: you pay for requests to a Requester Pays bucket")
	o.refused = map[string]*string{}
	for name, why := range refusals {
		o.refused[name] = flags.String(name, "", "not available: "+why)
	}
	flags.StringVar(&o.source, "source-bucket", "", "`name` of the bucket to copy from")
	flags.StringVar(&o.sourcePrefix, "source-prefix", "", "`prefix` of the keys to copy; it isn't part of the destination keys")
	flags.StringVar(&o.manifest, "manifest", "", "`file` of rows source,destination[,bytes] with percent-encoded keys, or a file of --failed, instead "+
		"of --source-prefix; - for stdin")
	flags.StringVar(&o.destination, "destination-bucket", "", "`name` of the bucket to copy to")
	flags.StringVar(&o.prefix, "destination-prefix", "", "`prefix` of every destination key")
	flags.Int64Var(&o.parallel, "parallel-limit", 100, "most parallel `calls`")
	flags.StringVar(&o.Pace, "pace", Adaptive, "`pace`: adaptive (finds S3's limit) or fixed (--parallel-limit alone)")
	flags.Int64Var(&o.CallsPerS, "calls-per-s", 0, "most `calls` per second; 0: no cap")
	flags.StringVar(&o.RetryMode, "retry-mode", Standard, "`mode`: standard (botocore's, with a quota of retries) or legacy (without)")
	flags.Int64Var(&o.Attempts, "retry-attempts", defaultAttempts, "`attempts` per call, including the first")
	flags.Int64Var(&o.seconds, "seconds", 0, "stop after this many `seconds`; 0: when everything is copied")
	flags.BoolVar(&o.empty, "empty-first", false, "delete everything below --destination-prefix first")
	flags.StringVar(&o.failed, "failed", "", "`file` for the failed rows and their reasons, as JSON lines (default: the first few on "+
		"stderr). To retry them, give the file as --manifest, and another one as --failed; leave out --empty-first")
	err := host.Parse(flags, arguments, stderr, o.wrong)
	o.Parallel = int(o.parallel)
	return o, err
}

func (o *options) wrong() string {
	rows, empty, nested, files := "", "", "", ""
	read, errRead := os.Stat(o.manifest)
	switch {
	case o.manifest == "" || o.manifest == "-":
	case errRead != nil:
		files = fmt.Sprintf("--manifest %s can't be read: %v", o.manifest, errors.Unwrap(errRead))
	case read.IsDir():
		files = fmt.Sprintf("--manifest %s must be a file, not a folder", o.manifest)
	}
	switch written, err := os.Stat(o.failed); {
	case err == nil && written.IsDir():
		files = fmt.Sprintf("--failed %s must be a file, not a folder", o.failed)
	case err == nil && errRead == nil && os.SameFile(read, written):
		files = fmt.Sprintf("--failed %s would overwrite what --manifest reads: give it another name", o.failed)
	}
	if (o.manifest == "") == (o.sourcePrefix == "") {
		rows = "give either --source-prefix or --manifest"
	}
	if overlap := strings.HasPrefix(o.sourcePrefix, o.prefix) || strings.HasPrefix(o.prefix, o.sourcePrefix); o.empty && o.source == o.destination &&
		(o.prefix == "" || o.sourcePrefix != "" && overlap) {
		empty = fmt.Sprintf("--empty-first would delete sources: --destination-prefix %q overlaps them in the same bucket; choose another", o.prefix)
	}
	if o.sourcePrefix != "" && o.source == o.destination && strings.HasPrefix(o.prefix, o.sourcePrefix) {
		nested = fmt.Sprintf("--destination-prefix %q is inside --source-prefix %q of the same bucket: every copy would be listed and "+
			"copied again; choose one outside it", o.prefix, o.sourcePrefix)
	}
	unavailable := ""
	for name, value := range o.refused {
		if *value != "" {
			unavailable = fmt.Sprintf("--%s isn't available: %s", name, refusals[name])
		}
	}
	if o.storageClass != "" {
		unavailable = cmp.Or(unavailable, host.OneOf("storage-class", o.storageClass, storageClasses...))
	}
	if o.payer != "" {
		unavailable = cmp.Or(unavailable, host.OneOf("request-payer", o.payer, "requester"))
	}
	return cmp.Or(unavailable, host.Missing("source-bucket", o.source), host.Missing("destination-bucket", o.destination), rows, empty, nested, files,
		host.URL("endpoint-url", o.EndpointURL),
		host.Between("parallel-limit", o.parallel, 1, LargestParallel), host.OneOf("pace", o.Pace, Fixed, Adaptive),
		host.Between("calls-per-s", o.CallsPerS, 0, largestCallsPerS), host.OneOf("retry-mode", o.RetryMode, Standard, Legacy),
		host.Between("retry-attempts", o.Attempts, 1, largestAttempts), host.Between("seconds", o.seconds, 0, 1_000_000))
}

// errEnough ends a copy whose --seconds are over.
var errEnough = errors.New("enough")

// copyVerb copies and prints the counts of a record.
func copyVerb(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	o, err := readOptions(arguments, stderr)
	if err != nil {
		return err
	}
	log, closeLog, err := o.log(stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	process.UseOneProcessor()
	seen := observe()
	j := &job{Policy: o.Policy, sourceBucket: o.source, sameBucket: o.source == o.destination, prefix: o.prefix, emptyFirst: o.empty,
		failures: newFailures(log, "host", "host", 0, 1), notices: stderr}
	if o.failed == "" {
		j.failures.most = shownFailures
	}
	o.capParallel(j, stderr)
	if o.seconds > 0 {
		j.until, j.enough = seen.began.Add(time.Duration(o.seconds)*time.Second), errEnough
	}
	if err := o.connect(ctx, j, seen); err != nil {
		return err
	}
	told := make(chan struct{})
	go o.progress(seen, stderr, told)
	begun := time.Now()
	calls, cancel := deadline.Outlasting(ctx, callsGrace)
	defer cancel()
	err = j.run(calls, ctx, seen)
	close(told)
	o.sayRest(seen, begun, stderr)
	if wrote := j.failures.flush(); wrote != nil {
		err = errors.Join(failure.New(failure.File, "the failed rows aren't all in %s: %v", o.failed, wrote), err)
	}
	_, errStdout := io.WriteString(stdout, record.Object(append(seen.counts(err == nil),
		record.Pair{Key: "elapsed_seconds", Value: seen.elapsedSeconds()}, record.Pair{Key: "bytes", Value: seen.bytes.Load()},
		record.Pair{Key: "trajectory", Value: seen.trajectory()}))+"\n")
	if failed := seen.failed.Load(); err == nil && failed > 0 {
		without := ""
		if o.empty {
			without = " without --empty-first"
		}
		err = failure.New(failure.S3, "%s copied: mend what their reasons name, and run the command again%s", notCopied(failed), without)
	}
	if errStdout != nil {
		err = errors.Join(err, failure.New(failure.File, "the summary can't be written to stdout: %v", errStdout))
	}
	return err
}

func notCopied(rows int64) string {
	if rows == 1 {
		return "1 row wasn't"
	}
	return fmt.Sprintf("%d rows weren't", rows)
}

// connect makes the clients, and opens where the rows come from.
func (o *options) connect(ctx context.Context, j *job, seen *observed) error {
	var err error
	given := o.Given
	given.Region = cmp.Or(o.sourceRegion, given.Region)
	if j.from, err = s3.Open(ctx, given, o.source); err != nil {
		return err
	}
	to, err := s3.Open(ctx, o.Given, o.destination)
	if err != nil {
		return err
	}
	j.to = to.ForManySmallAnswers(silence)
	j.to.StorageClass = o.storageClass
	j.from.RequesterPays, j.to.RequesterPays = o.payer != "", o.payer != ""
	switch o.manifest {
	case "":
		j.rows = listed(o.lister(j.from), seen, o.sourcePrefix, o.prefix)
	case "-":
		stdin := os.Stdin
		j.rows = ofFile(func() (*os.File, error) { return stdin, nil })
	default:
		found, err := os.Stat(o.manifest)
		if err != nil {
			return failure.OfFile(err)
		}
		j.nameRest = o.failed != "" && found.Mode().IsRegular()
		if j.nameRest {
			j.rows = ofRegularFile(o.manifest)
			break
		}
		j.rows = ofFile(func() (*os.File, error) { return os.Open(o.manifest) })
	}
	return nil
}

// ofFile gives the rows of a file, which may be a pipe: neither opening nor reading one that nobody writes to can be ended, so both
// are left behind when the copy stops.
func ofFile(open func() (*os.File, error)) source {
	return func(ctx context.Context, take func(row) error) error {
		rows, fed := io.Pipe()
		defer context.AfterFunc(ctx, func() { _ = rows.CloseWithError(context.Cause(ctx)) })()
		defer rows.Close()
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
		return manifestRows(rows, take)
	}
}

// ofRegularFile reads on when the copy has stopped, so that the rows that are left can be named.
func ofRegularFile(name string) source {
	return func(_ context.Context, take func(row) error) error {
		file, err := os.Open(name)
		if err != nil {
			return failure.OfFile(err)
		}
		defer file.Close()
		return manifestRows(file, take)
	}
}

// log is where rows that failed go.
func (o *options) log(stderr io.Writer) (io.Writer, func(), error) {
	if o.failed == "" {
		return stderr, func() {}, nil
	}
	file, err := os.Create(o.failed)
	if err != nil {
		return nil, nil, host.Wrong("transfer copy", fmt.Sprintf("--failed %s can't be written: %v", o.failed, errors.Unwrap(err)), stderr)
	}
	return file, func() { _ = file.Close() }, nil
}

// shownFailures is how many failed rows go to stderr where there is no file for them.
const shownFailures = 10

// capParallel lowers the calls at once to the connections that this process may open.
func (o *options) capParallel(j *job, stderr io.Writer) {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil || files.Cur > LargestParallel*2 {
		return
	}
	if most := max(1, int(files.Cur)-keptFiles); j.Parallel > most {
		j.Parallel = most
		_, _ = fmt.Fprintf(stderr, "--parallel-limit is %d instead of %d: this process may open only %d files; raise the limit (ulimit -n) for more\n",
			most, o.Parallel, files.Cur)
	}
}

// keptFiles is for what isn't a copy's connection: HEADs of sources, the listing, standard streams, files.
const keptFiles = sourcesAtOnce + 16

// sayRest says what stderr should have after the last line of progress.
func (o *options) sayRest(seen *observed, begun time.Time, stderr io.Writer) {
	if took := time.Duration(o.seconds) * time.Second; o.seconds > 0 && time.Since(begun) >= took {
		_, _ = fmt.Fprintf(stderr, "stopped after %d seconds (--seconds), with %d copied\n", o.seconds, seen.copied.Load())
	}
	if more := seen.failed.Load() - shownFailures; o.failed == "" && more > 0 {
		_, _ = fmt.Fprintf(stderr, "%d more rows failed; --failed FILE has all of them\n", more)
	}
	if left := seen.left.Load(); left > 0 {
		_, _ = fmt.Fprintf(stderr, "%d rows were left; to copy them, give %s as --manifest\n", left, o.failed)
	}
}

// progress says every few seconds how far it has come, and for a file of rows, how long it will take.
func (o *options) progress(seen *observed, stderr io.Writer, told chan struct{}) {
	total := make(chan int64, 1)
	go func() { total <- linesOf(o.manifest) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	rows, doneBefore := int64(0), int64(0)
	for {
		select {
		case <-told:
			return
		case rows = <-total:
		case <-ticker.C:
			done := seen.copied.Load() + seen.alreadyThere.Load() + seen.failed.Load()
			rate := float64(done-doneBefore) / progressEvery.Seconds()
			doneBefore = done
			_, _ = fmt.Fprintf(stderr, "%d%s copied, %d already there, %d failed, %d SlowDowns, %.0f rows/s%s\n", seen.copied.Load(), ofTotal(rows),
				seen.alreadyThere.Load(), seen.failed.Load(), seen.slowDowns.Load(), rate, timeLeft(rows-done, rate))
		}
	}
}

// progressEvery is the time between two lines of progress. A variable for tests.
var progressEvery = 5 * time.Second

func ofTotal(rows int64) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", rows)
}

func timeLeft(rows int64, rate float64) string {
	if rows <= 0 || rate == 0 {
		return ""
	}
	return fmt.Sprintf(", %v left", (time.Duration(float64(rows)/rate) * time.Second).Round(time.Second))
}

// linesOf counts the lines of a file that can be read twice; 0 for anything else, and for what --failed wrote.
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
		if count == 0 && n > 0 && buffer[0] == '{' {
			return 0
		}
		count += int64(bytes.Count(buffer[:n], []byte{'\n'}))
		if err != nil {
			return count
		}
	}
}
