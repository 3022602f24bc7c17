// Package host is the command line: data goes to stdout as JSON, progress and errors to stderr. The
// exit status is 0 when everything was done, 1 when something failed, 2 for a wrong command line or
// setting, 130 after an interrupt.
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

// Verb is one command: its name, a short description, and its function.
type Verb struct {
	Name, Does string
	Run        func(ctx context.Context, arguments []string, stdout, stderr io.Writer) error
}

// Wrong makes the error for a wrong command line.
func Wrong(format string, values ...any) error {
	return failure.New(failure.Settings, format+"; see --help", values...)
}

// help is text that the user asked for, not an error.
type help string

func (text help) Error() string { return string(text) }

// Main runs a verb and returns the exit status.
func Main(ctx context.Context, verbs []Verb, arguments []string, stdout, stderr io.Writer) int {
	name := append(arguments, "")[0]
	lines := ""
	for _, verb := range verbs {
		lines += fmt.Sprintf(" %s (%s)", verb.Name, verb.Does)
	}
	err := Wrong("the commands are%s", lines)
	if place := slices.IndexFunc(verbs, func(v Verb) bool { return v.Name == name }); place >= 0 {
		err = verbs[place].Run(ctx, arguments[1:], stdout, stderr)
	}
	var asked help
	kind, message := failure.Describe(err)
	status, says := 1, kind+": "+message
	switch {
	case err == nil, errors.As(err, &asked):
		_, _ = io.WriteString(stdout, string(asked))
		return 0
	case kind == failure.Settings:
		status = 2
	case ctx.Err() != nil:
		status, says = 130, "interrupted"
	}
	_, _ = fmt.Fprintf(stderr, "transfer %s: %s\n", name, says)
	return status
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
		return Wrong("%s", strings.Replace(err.Error(), " -", " --", 1))
	case flags.NArg() > 0:
		return Wrong("unexpected argument %q", flags.Arg(0))
	}
	return nil
}
