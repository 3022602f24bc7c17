package copy

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// Verbs are the copies from a host.
var Verbs = []host.Verb{{
	Name: "copy", Run: copyVerb,
	Does: "copies the objects of a prefix or a manifest",
}}

// options are those of the verb.
type options struct {
	account.Given
	Policy
	source, sourcePrefix, sourceRegion string
	destination, prefix, storageClass  string
	manifest, failed                   string // files
	seconds                            int64
	isEmptying, isListing              bool
	size                               int64        // of a manifest that is a file
	read                               atomic.Int64 // of its bytes
}

func readOptions(arguments []string) (*options, error) {
	o := &options{Policy: Policy{Parallel: 100, Pace: Adaptive, RetryMode: Standard,
		Attempts: defaultAttempts}}
	flags := flag.NewFlagSet("transfer copy", flag.ContinueOnError)
	for name, option := range map[string]struct {
		value *string
		usage string
	}{
		"endpoint-url":       {&o.EndpointURL, "`URL` of another S3 server"},
		"region":             {&o.Region, "`region` of the buckets"},
		"source-region":      {&o.sourceRegion, "`region` of the source bucket, if another"},
		"source-bucket":      {&o.source, "`name` of the bucket to copy from"},
		"destination-bucket": {&o.destination, "`name` of the bucket to copy to"},
		"destination-prefix": {&o.prefix, "`prefix` of every destination key"},
		"storage-class":      {&o.storageClass, "storage `class` of the copies"},
		"manifest": {&o.manifest,
			"`file` of rows, - for stdin: source,destination[,bytes], or bucket,key[,version] as of S3 Inventory, or what " +
				"--failed wrote; gzip too. Keys are URL-encoded"},
		"failed": {&o.failed, "`file` for the failed rows, which is a manifest"},
	} {
		flags.StringVar(option.value, name, "", option.usage)
	}
	for name, option := range map[string]struct {
		value             *int64
		smallest, largest int64
		usage             string
	}{
		"parallel-limit": {&o.Parallel, 1, LargestParallel, "`calls` at once (default 100)"},
		"calls-per-s":    {&o.CallsPerS, 0, largestCallsPerS, "most `calls` per second"},
		"retry-attempts": {&o.Attempts, 1, largestAttempts, "`attempts` per call (default 4)"},
		"seconds":        {&o.seconds, 0, 1_000_000, "stop after so many `seconds`"},
	} {
		flags.Func(name, option.usage, func(text string) (err error) {
			*option.value, err = strconv.ParseInt(text, 10, 64)
			if err != nil || *option.value < option.smallest || *option.value > option.largest {
				return fmt.Errorf("must be a whole number from %d to %d", option.smallest,
					option.largest)
			}
			return nil
		})
	}
	flags.Func("pace", "`pace`: adaptive (default) or fixed", func(text string) error {
		if o.Pace = text; text != Fixed && text != Adaptive {
			return errors.New("must be adaptive or fixed")
		}
		return nil
	})
	flags.Func("source-prefix", "`prefix` of the keys to copy, left out of the copies'",
		func(text string) error {
			o.sourcePrefix, o.isListing = text, true
			return nil
		})
	flags.BoolVar(&o.isEmptying, "empty-first", false,
		"delete everything below --destination-prefix first")
	return o, cmp.Or(host.Parse(flags, arguments), o.checkPlaces(), o.checkFiles())
}

// checkPlaces refuses what would delete the sources, or copy the copies.
func (o *options) checkPlaces() error {
	sameBucket, isInside := o.source == o.destination, strings.HasPrefix(o.prefix, o.sourcePrefix)
	switch {
	case o.source == "" || o.destination == "":
		return host.Wrong("--source-bucket or --destination-bucket is missing")
	case (o.manifest != "") == o.isListing:
		return host.Wrong("give either --source-prefix or --manifest")
	case sameBucket && o.isEmptying && (o.prefix == "" || o.isListing && overlap(o.prefix,
		o.sourcePrefix)):
		return host.Wrong("--empty-first would delete sources: --destination-prefix %q overlaps "+
			"them; choose another", o.prefix)
	case sameBucket && o.isListing && isInside:
		return host.Wrong("--destination-prefix %q is inside --source-prefix %q, so copies "+
			"would be copied again; choose another",
			o.prefix, o.sourcePrefix)
	}
	return nil
}

// checkFiles refuses a manifest that can't be read, or that the failed rows would overwrite.
func (o *options) checkFiles() error {
	if o.manifest == "" || o.manifest == "-" {
		return nil
	}
	manifest, err := os.Stat(o.manifest)
	if err != nil {
		return host.Wrong("--manifest %s can't be read: %v", o.manifest, errors.Unwrap(err))
	}
	if manifest.Mode().IsRegular() {
		o.size = manifest.Size()
	}
	if failed, err := os.Stat(o.failed); err == nil && os.SameFile(manifest, failed) {
		return host.Wrong("--failed %s would overwrite what --manifest reads: give it another name",
			o.failed)
	}
	return nil
}

// errEnough ends a copy whose --seconds are over.
var errEnough = errors.New("enough")

// shownFailures is how many failed rows go to stderr where there is no file for them.
const shownFailures = 10

// copyVerb copies and prints the counts of a record.
func copyVerb(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	o, err := readOptions(arguments)
	if err != nil {
		return err
	}
	process.UseOneProcessor()
	j := &job{
		Policy: o.Policy, prefix: o.prefix, emptyFirst: o.isEmptying, seen: observe(),
		failures: newFailures(stderr, "host", "host", 0, 1, 0), nameRest: o.failed != "" &&
			o.size > 0,
	}
	j.failures.most = shownFailures
	if o.failed != "" {
		file, err := os.Create(o.failed)
		if err != nil {
			return host.Wrong("--failed %s can't be written: %v", o.failed, errors.Unwrap(err))
		}
		defer file.Close()
		j.failures.log, j.failures.most = file, 0
	}
	from := account.Given{EndpointURL: o.EndpointURL, Region: cmp.Or(o.sourceRegion, o.Region)}
	if j.route, err = openRoute(ctx, from, o.Given, o.source, o.destination,
		o.Parallel); err != nil {
		return err
	}
	if o.storageClass != "" {
		j.copier.header["X-Amz-Storage-Class"] = []string{o.storageClass}
	}
	o.chooseRows(j)
	j.progress = o.progress(j.seen, stderr)
	err = o.run(ctx, j)
	return o.conclude(j, err, stdout, stderr)
}

// run does the job until its --seconds are over.
func (o *options) run(ctx context.Context, j *job) error {
	calls, cancel := deadline.Outlasting(ctx, callsGrace)
	defer cancel()
	begin := ctx
	if o.seconds > 0 {
		limited, stop := context.WithTimeoutCause(ctx, time.Duration(o.seconds)*time.Second,
			errEnough)
		defer stop()
		begin = limited
	}
	return j.run(calls, begin)
}

// conclude prints the summary and what stderr should have after it, and returns what the command
// ends with.
func (o *options) conclude(j *job, err error, stdout, stderr io.Writer) error {
	seen := j.seen
	if err == errEnough {
		err = nil
		_, _ = fmt.Fprintf(stderr, "stopped after %d seconds (--seconds), with %d copied\n",
			o.seconds, seen.copied.Load())
	}
	if more := seen.failed.Load() - shownFailures; o.failed == "" && more > 0 {
		_, _ = fmt.Fprintf(stderr, "%d more rows failed; --failed FILE has all of them\n", more)
	}
	if rest := seen.left.Load(); rest > 0 {
		_, _ = fmt.Fprintf(stderr, "%d rows were left; to copy them, give %s as --manifest\n", rest,
			o.failed)
	}
	wrote := j.failures.flush()
	summary := append(seen.counts(err == nil), record.Pairs("elapsed_seconds",
		seen.elapsedSeconds(), "bytes", seen.Bytes.Load(),
		"trajectory", seen.course())...)
	_, unprinted := io.WriteString(stdout, record.Object(summary)+"\n")
	switch failed := seen.failed.Load(); {
	case wrote != nil:
		return failure.New(failure.File, "the failed rows aren't all in %s: %v", o.failed, wrote)
	case unprinted != nil:
		return failure.New(failure.File, "the summary can't be written to stdout: %v", unprinted)
	case err == nil && failed == 1:
		return failure.New(failure.S3, "1 row wasn't copied %s", j.failures.summary())
	case err == nil && failed > 1:
		return failure.New(failure.S3, "%d rows weren't copied %s", failed, j.failures.summary())
	}
	return err
}

// chooseRows says where the rows come from.
func (o *options) chooseRows(j *job) {
	if o.isListing {
		j.list(o.sourcePrefix)
		return
	}
	j.where = "the manifest"
	j.rows = func(ctx context.Context, take func(row) error) error {
		if j.nameRest { // it is read on when the copy has stopped
			ctx = context.WithoutCancel(ctx)
		}
		return manifestRows(o.follow(ctx), manifestFormat(o.source, o.prefix), take)
	}
}

// follow reads the manifest, which may be a pipe: neither opening nor reading one that nobody
// writes to can be ended, so both are left behind when the context ends.
func (o *options) follow(ctx context.Context) io.Reader {
	rows, fed := io.Pipe()
	context.AfterFunc(ctx, func() { _ = rows.CloseWithError(context.Cause(ctx)) })
	file, err := os.Stdin, error(nil)
	go func() {
		if o.manifest != "-" {
			file, err = os.Open(o.manifest)
		}
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

// progressEvery is the time between two lines of progress. A variable for tests.
var progressEvery = 5 * time.Second

// progress says how far the copy has come; of a file also how much of it is read.
func (o *options) progress(seen *observed, stderr io.Writer) func() {
	before := int64(0)
	return func() {
		copied, there, failed := seen.copied.Load(), seen.alreadyThere.Load(), seen.failed.Load()
		done, part := copied+there+failed, ""
		if o.size > 0 {
			part = fmt.Sprintf(", %d %% of the manifest read", 100*o.read.Load()/o.size)
		}
		_, _ = fmt.Fprintf(stderr, "%d copied, %d already there, %d failed, %d SlowDowns, %.0f "+
			"rows/s%s\n", copied, there, failed,
			seen.slowDowns.Load(), float64(done-before)/progressEvery.Seconds(), part)
		before = done
	}
}
