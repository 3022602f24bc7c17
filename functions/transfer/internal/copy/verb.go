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
	"time"

	"stampede/transfer/internal/deadline"
	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
)

// Verbs are the copies from a host.
var Verbs = []host.Verb{{
	Name: "copy", Run: copyVerb,
	Does: "copies the objects of a manifest",
}}

type options struct {
	Policy
	region, source, destination, prefix string
	manifest, failed                    string // files
	seconds                             int64
	isEmptying                          bool
}

func readOptions(arguments []string) (*options, error) {
	usual := Policy{Parallel: 100, Pace: Adaptive, RetryMode: Standard, Attempts: defaultAttempts}
	o := &options{Policy: usual}
	flags := flag.NewFlagSet("transfer copy", flag.ContinueOnError)
	flags.StringVar(&o.region, "region", "", "`region` of the buckets")
	flags.StringVar(&o.source, "source-bucket", "", "`name` of the bucket to copy from")
	flags.StringVar(&o.destination, "destination-bucket", "", "`name` of the bucket to copy to")
	flags.StringVar(&o.prefix, "destination-prefix", "", "`prefix` of every destination key")
	flags.StringVar(&o.manifest, "manifest", "", "`file` of rows source,destination[,bytes] with "+
		"URL-encoded keys, or what --failed wrote")
	flags.StringVar(&o.failed, "failed", "", "`file` for the failed rows, which is a manifest")
	number := func(name, usage string, value *int64, smallest, largest int64) {
		flags.Func(name, usage, func(text string) (err error) {
			*value, err = strconv.ParseInt(text, 10, 64)
			if err != nil || *value < smallest || *value > largest {
				return fmt.Errorf("must be a whole number from %d to %d", smallest, largest)
			}
			return nil
		})
	}
	number("parallel-limit", "`calls` at once (default 100)", &o.Parallel, 1, LargestParallel)
	number("calls-per-s", "most `calls` per second", &o.CallsPerS, 0, largestCallsPerS)
	number("retry-attempts", "`attempts` per call (default 4)", &o.Attempts, 1, largestAttempts)
	number("seconds", "stop after so many `seconds`", &o.seconds, 0, 1_000_000)
	flags.Func("pace", "`pace`: adaptive (default) or fixed", func(text string) error {
		if o.Pace = text; text != Fixed && text != Adaptive {
			return errors.New("must be adaptive or fixed")
		}
		return nil
	})
	flags.BoolVar(&o.isEmptying, "empty-first", false,
		"delete everything below --destination-prefix first")
	return o, cmp.Or(host.Parse(flags, arguments), o.checkPlaces())
}

// checkPlaces refuses missing options, and a prefix whose emptying would delete the sources.
func (o *options) checkPlaces() error {
	switch {
	case o.source == "" || o.destination == "" || o.manifest == "":
		return host.Wrong("--source-bucket, --destination-bucket or --manifest is missing")
	case o.source == o.destination && o.isEmptying && o.prefix == "":
		return host.Wrong("--empty-first would delete sources: give a --destination-prefix")
	}
	return nil
}

// openManifest refuses a manifest that isn't a file, or that the failed rows would overwrite.
func (o *options) openManifest() (*os.File, error) {
	manifest, err := os.Open(o.manifest)
	if err != nil {
		return nil, host.Wrong("--manifest %s can't be read: %v", o.manifest, errors.Unwrap(err))
	}
	read, err := manifest.Stat()
	if err != nil || !read.Mode().IsRegular() {
		return nil, host.Wrong("--manifest %s isn't a file of rows", o.manifest)
	}
	if written, err := os.Stat(o.failed); err == nil && os.SameFile(read, written) {
		return nil, host.Wrong("--failed %s would overwrite what --manifest reads: give it "+
			"another name", o.failed)
	}
	return manifest, nil
}

// shownFailures is how many failed rows go to stderr if there is no file for them.
const shownFailures = 10

// copyVerb copies, and prints the counts of a record.
func copyVerb(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	o, err := readOptions(arguments)
	if err != nil {
		return err
	}
	manifest, err := o.openManifest()
	if err != nil {
		return err
	}
	defer manifest.Close()
	process.UseOneProcessor()
	j := &job{
		Policy: o.Policy, prefix: o.prefix, emptyFirst: o.isEmptying, seen: observe(),
		failures: newFailures(stderr, "host", "host", 0, 1, 0), nameRest: o.failed != "",
		where: "the manifest", rows: func(_ context.Context, take func(row) error) error {
			return manifestRows(manifest, take)
		},
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
	if j.route, err = openRoute(ctx, o.region, o.source, o.destination, o.Parallel); err != nil {
		return err
	}
	j.progress = progress(j.seen, stderr)
	return o.conclude(j, o.run(ctx, j), stdout, stderr)
}

// run does the job until it ends or --seconds are over, which is no error.
func (o *options) run(ctx context.Context, j *job) error {
	calls, cancel := deadline.Outlasting(ctx, callsGrace)
	defer cancel()
	begin, enough := ctx, errors.New("enough")
	if o.seconds > 0 {
		limited, stop := context.WithTimeoutCause(ctx, time.Duration(o.seconds)*time.Second, enough)
		defer stop()
		begin = limited
	}
	if err := j.run(calls, begin); err != enough {
		return err
	}
	return nil
}

// conclude prints the summary, and returns the error of the command.
func (o *options) conclude(j *job, err error, stdout, stderr io.Writer) error {
	seen := j.seen
	if rest := seen.left.Load(); rest > 0 {
		_, _ = fmt.Fprintf(stderr, "%d rows were left; to copy them, give %s as --manifest\n", rest,
			o.failed)
	}
	summary := append(seen.counts(err == nil), record.Pairs(
		"elapsed_seconds", seen.elapsedSeconds(), "bytes", seen.Bytes.Load(),
		"trajectory", seen.course())...)
	_, _ = io.WriteString(stdout, record.Object(summary)+"\n")
	if wrote := j.failures.flush(); wrote != nil {
		return failure.New(failure.File, "the failed rows aren't all in %s: %v", o.failed, wrote)
	}
	if failed := seen.failed.Load(); err == nil && failed > 0 {
		return failure.New(failure.S3, "rows that weren't copied: %d (%s)", failed,
			j.failures.summary())
	}
	return err
}

// progressEvery is the time between two lines of progress. A variable for tests.
var progressEvery = 5 * time.Second

// progress returns a function that prints how far the copy has come.
func progress(seen *observed, stderr io.Writer) func() {
	before := int64(0)
	return func() {
		copied, there, failed := seen.copied.Load(), seen.alreadyThere.Load(), seen.failed.Load()
		done := copied + there + failed
		_, _ = fmt.Fprintf(stderr, "%d copied, %d already there, %d failed, %d SlowDowns, %.0f "+
			"rows/s\n", copied, there, failed, seen.slowDowns.Load(),
			float64(done-before)/progressEvery.Seconds())
		before = done
	}
}
