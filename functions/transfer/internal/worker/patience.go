package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"stampede/transfer/internal/sandbox"
)

const (
	// The first and the longest pause between two tries; each is shortened at random by up to half, so that hosts which lost
	// the same service don't come back all at once.
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	// callTimeout bounds one call; a long poll gets its wait on top.
	callTimeout = 15 * time.Second
)

// patience waits out what a service refuses, whatever it is: throttling and lost connections pass, and a host that came up
// before its permissions, or whose credentials have just expired, has nothing better to do than to wait for them.
type patience struct {
	stderr      io.Writer
	credentials aws.CredentialsProvider
	pause       time.Duration // the first one
	mutex       sync.Mutex    // the heartbeat speaks beside the rest
}

// until makes a call until it works, and says once that it doesn't and once that it does again. It returns the call's error
// when the context ends, or when that error is final (it wraps errGone).
func (p *patience) until(ctx context.Context, doing string, timeout time.Duration, call func(context.Context) error) error {
	for tries := 0; ; tries++ {
		trying, cancel := context.WithTimeout(ctx, timeout)
		err := call(trying)
		cancel()
		switch {
		case err == nil && tries > 0:
			p.say("%s: works again", doing)
			return nil
		case err == nil || ctx.Err() != nil || errors.Is(err, errGone):
			return err
		case tries == 0:
			p.say("%s: %s; retrying until it works", doing, sandbox.InShort(err))
		}
		p.renew(err)
		pause := min(longestPause, p.pause<<min(tries, 10))
		select {
		case <-time.After(pause/2 + rand.N(pause/2+1)):
		case <-ctx.Done():
			return err
		}
	}
}

// renew forgets credentials that a service refused, so that the next call asks for new ones where they come from.
func (p *patience) renew(err error) {
	cache, isCache := p.credentials.(*aws.CredentialsCache)
	if isCache && strings.Contains(sandbox.CodeOf(err), "Token") { // ExpiredToken, ExpiredTokenException, InvalidClientTokenId
		cache.Invalidate()
	}
}

// say writes one line, which no query takes for a record, to stderr.
func (p *patience) say(format string, values ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_, _ = fmt.Fprintf(p.stderr, "transfer work: "+format+"\n", values...)
}
