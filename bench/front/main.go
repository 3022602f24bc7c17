// front is an S3 of keys alone that throttles, for tests and measurements: it refuses what is written to a bucket above a
// rate, as S3 does. It listens on 127.0.0.1, prints its URL as a line of
// JSON, and ends with the process that started it. GET /__front says as JSON what it has accepted and refused.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

const parentLookedForEvery = 200 * time.Millisecond

type settings struct {
	port, expireAfter           int
	writes                      rate
	latencyMS, refusalLatencyMS float64
	loseAnswers, reset          float64
	denyPrefix                  string
	etagPerCopy                 bool
	seed                        uint64
}

func main() {
	parent := os.Getppid() // before the URL is told: who has read it may be gone at once
	chosen, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "front:", err)
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", chosen.port))
	if err != nil {
		fmt.Fprintln(os.Stderr, "front: --port:", err)
		os.Exit(1)
	}
	fmt.Printf("{\"url\": \"http://%s\"}\n", listener.Addr())
	go endWithParent(parent)
	// Connections that we cut on purpose are no news.
	server := &http.Server{Handler: newFront(chosen, time.Now), ErrorLog: log.New(io.Discard, "", 0)}
	fmt.Fprintln(os.Stderr, "front:", server.Serve(listener))
	os.Exit(1)
}

func endWithParent(parent int) {
	for range time.Tick(parentLookedForEvery) {
		if os.Getppid() != parent {
			os.Exit(0)
		}
	}
}

func parse(arguments []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("front", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.port, "port", 0, "`port` on 127.0.0.1; 0: any free port")
	flags.Float64Var(&s.writes.perS, "limit-per-s", 0, "COPY, PUT, POST and DELETE `requests`/s of a bucket; 0: no limit")
	flags.Float64Var(&s.writes.burst, "burst", 0, "`requests` that a bucket takes at once; 0: a tenth of a second of its limit")
	flags.Float64Var(&s.latencyMS, "latency-ms", 0, "`milliseconds` added to every answer")
	flags.Float64Var(&s.refusalLatencyMS, "refusal-latency-ms", -1, "`milliseconds` before a SlowDown; -1: as --latency-ms")
	flags.Float64Var(&s.loseAnswers, "lose-answers", 0, "`share` of the requests that are carried out and never answered, 0 to 1")
	flags.Float64Var(&s.reset, "reset", 0, "`share` of the requests whose connection is reset before anything is done, 0 to 1")
	flags.StringVar(&s.denyPrefix, "deny-prefix", "", "403 AccessDenied for source or destination `bucket/key...` that begins so")
	flags.IntVar(&s.expireAfter, "expire-credentials-after", 0,
		"400 ExpiredToken once an access key and session token have served this many `requests`; 0: never")
	flags.BoolVar(&s.etagPerCopy, "etag-per-copy", false,
		"a copy's ETag isn't its source's (as SSE-KMS has it), its checksum is")
	flags.Uint64Var(&s.seed, "seed", 1, "`number`: the same seed loses and resets the same attempts of the same keys")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if s.refusalLatencyMS < 0 {
		s.refusalLatencyMS = s.latencyMS
	}
	return s, s.check(flags.Args())
}

func (s settings) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", rest[0])
	}
	for name, value := range map[string]float64{
		"limit-per-s": s.writes.perS, "burst": s.writes.burst, "latency-ms": s.latencyMS, "refusal-latency-ms": s.refusalLatencyMS,
		"expire-credentials-after": float64(s.expireAfter), "lose-answers": s.loseAnswers, "reset": s.reset,
	} {
		if !(value >= 0 && value <= 1e9) {
			return fmt.Errorf("--%s must be from 0 to 1e9, not %g", name, value)
		}
	}
	if s.loseAnswers+s.reset > 1 {
		return errors.New("--lose-answers and --reset are shares of all requests: together they must be at most 1")
	}
	return nil
}
