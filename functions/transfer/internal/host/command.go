// Package host is the command line: data on stdout as JSON, progress and errors on stderr; exit
// status 0 when everything was done, 1 when something failed, 2 for a wrong command line or
// setting, 130 when it was interrupted.
package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"stampede/transfer/internal/failure"
)

// Verb is one command: its name, what it does in a few words, and the function that does it.
type Verb struct {
	Name, Does string
	Run        func(ctx context.Context, arguments []string, stdout, stderr io.Writer) error
}

// Usage is what is wrong with a command line.
type Usage string

func (wrong Usage) Error() string { return string(wrong) }

// Wrong says what is wrong with a command line.
func Wrong(format string, values ...any) error { return Usage(fmt.Sprintf(format, values...)) }

// help is what was asked for, and no error.
type help string

func (text help) Error() string { return string(text) }

// Main runs one of the verbs and returns the exit status.
func Main(ctx context.Context, verbs []Verb, arguments []string, stdout, stderr io.Writer) int {
	name := append(arguments, "")[0]
	err := run(ctx, verbs, name, arguments, stdout, stderr)
	var asked help
	var wrong Usage
	kind, message := failure.Describe(err)
	status, says := 1, kind+": "+message
	switch {
	case err == nil, errors.As(err, &asked):
		_, _ = io.WriteString(stdout, string(asked))
		return 0
	case errors.As(err, &wrong):
		status, says = 2, string(wrong)+"; see --help"
	case ctx.Err() != nil:
		status, says = 130, "interrupted"
	case kind == failure.Settings:
		status = 2
	}
	_, _ = fmt.Fprintf(stderr, "transfer %s: %s\n", name, says)
	return status
}

func run(ctx context.Context, verbs []Verb, name string, arguments []string, stdout,
	stderr io.Writer) error {
	place := slices.IndexFunc(verbs, func(verb Verb) bool { return verb.Name == name })
	if name == "--help" || name == "-h" {
		return help(usage(verbs))
	} else if place < 0 {
		return Usage("there is no such command")
	}
	return verbs[place].Run(ctx, arguments[1:], stdout, stderr)
}

func usage(verbs []Verb) string {
	lines := "transfer copies S3 objects.\n\n"
	for _, verb := range verbs {
		lines += fmt.Sprintf("  transfer %-8s  %s\n", verb.Name, verb.Does)
	}
	return lines + `
"transfer COMMAND --help" lists its options. Credentials, region and proxies are
looked up as the AWS CLI does.
`
}

// Parse reads the options of a verb.
func Parse(flags *flag.FlagSet, arguments []string) error {
	var options strings.Builder
	flags.SetOutput(&options)
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(options.String())
	case err != nil:
		return Usage(strings.Replace(err.Error(), " -", " --", 1))
	case flags.NArg() > 0:
		return Wrong("unexpected argument %q", flags.Arg(0))
	}
	return nil
}
