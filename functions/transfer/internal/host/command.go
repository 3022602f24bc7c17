// Package host is the command line: data on stdout as JSON, progress and errors on stderr; exit status 0 when everything
// was done, 1 when something failed, 2 for a wrong command line or setting, 130 when it was interrupted.
package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"stampede/transfer/internal/account"
	"stampede/transfer/internal/failure"
)

// Verb is one command: its name, what it does in a few words, and the function that does it.
type Verb struct {
	Name, Does string
	Run        func(ctx context.Context, arguments []string, stdout, stderr io.Writer) error
}

func usage(verbs []Verb) string {
	lines := "transfer reads, writes and copies S3 objects.\n\n"
	for _, verb := range verbs {
		lines += fmt.Sprintf("  transfer %-8s  %s\n", verb.Name, verb.Does)
	}
	return lines + `
"transfer COMMAND --help" lists the options of a command; "transfer --version" names the build. Credentials and region are looked up as the AWS CLI does.
Proxies are taken from HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
`
}

// errUsage has been explained on stderr already.
var errUsage = errors.New("wrong command line")

// help is what was asked for, and no error.
type help string

func (text help) Error() string { return string(text) }

// Main runs one of the verbs and returns the exit status.
func Main(ctx context.Context, verbs []Verb, arguments []string, stdout, stderr io.Writer) int {
	name := append(arguments, "")[0]
	place := slices.IndexFunc(verbs, func(verb Verb) bool { return verb.Name == name })
	var err error
	switch build, _ := debug.ReadBuildInfo(); {
	case name == "--help" || name == "-h":
		err = help(usage(verbs))
	case name == "--version":
		err = help(fmt.Sprintf("transfer, commit %s, %s\n", build.Main.Version, build.GoVersion))
	case place < 0:
		_, _ = fmt.Fprintf(stderr, "transfer: there is no command %q\n\n%s", name, usage(verbs))
		return 2
	default:
		err = verbs[place].Run(ctx, arguments[1:], stdout, stderr)
	}
	var asked help
	kind, message := failure.Describe(err)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &asked):
		_, _ = io.WriteString(stdout, string(asked))
		return 0
	case errors.Is(err, errUsage):
		return 2
	case ctx.Err() != nil:
		_, _ = fmt.Fprintf(stderr, "transfer %s: interrupted\n", name)
		return 130
	}
	_, _ = fmt.Fprintf(stderr, "transfer %s: %s: %s\n", name, kind, message)
	if kind == failure.Settings {
		return 2
	}
	return 1
}

// Parse reads the options of a verb; what is wrong, wrong() included ("" for nothing), is said in one line on stderr.
func Parse(flags *flag.FlagSet, arguments []string, stderr io.Writer, wrong func() string) error {
	var said strings.Builder // the options where they were asked for
	flags.SetOutput(&said)
	err, message := flags.Parse(arguments), ""
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(said.String())
	case err != nil:
		message = strings.Replace(err.Error(), "parse error", "must be a whole number", 1) // no other kind can't be read
	case flags.NArg() > 0:
		message = fmt.Sprintf("unexpected argument %q", flags.Arg(0))
	default:
		message = wrong()
	}
	if message != "" {
		return Wrong(flags.Name(), message, stderr)
	}
	return nil
}

// Wrong says what is wrong with the options of a verb; its error ends the command with status 2.
func Wrong(verb, message string, stderr io.Writer) error {
	_, _ = fmt.Fprintf(stderr, "%s: %s; see --help\n", verb, message)
	return errUsage
}

// Between returns a complaint about a number outside of the limits.
func Between(name string, value, smallest, largest int64) string {
	if value < smallest || value > largest {
		return fmt.Sprintf("--%s must be a whole number from %d to %d, not %d", name, smallest, largest, value)
	}
	return ""
}

// Missing returns a complaint about an option without a value.
func Missing(name, value string) string {
	if value == "" {
		return "--" + name + " is missing"
	}
	return ""
}

// OneOf returns a complaint about a value that is none of the words.
func OneOf(name, value string, words ...string) string {
	if slices.Contains(words, value) {
		return ""
	}
	return fmt.Sprintf("--%s must be %s, not %q", name, strings.Join(words, " or "), value)
}

// URL returns a complaint about an address that isn't one of a server; "" is the usual one.
func URL(name, value string) string {
	if value == "" || account.Server(value) != nil {
		return ""
	}
	return fmt.Sprintf("--%s %s, not %q", name, account.ServerRule, value)
}
