package copy

import (
	"context"
	"sync"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

const (
	// mostSources are remembered: masters are few, and the sources of a listing are each asked for once anyway.
	mostSources = 1000
	// sourcesAtOnce are asked for at a time. The calls at once have the connections that the machine has file descriptors for, 1,024
	// in Lambda: a second connection for each of them wouldn't open.
	sourcesAtOnce = 16
)

// sources are the objects that are copied, as HEAD describes them.
type sources struct {
	client *s3.Client
	turns  chan struct{}
	mutex  sync.Mutex
	known  map[string]s3.Head
}

func newSources(client *s3.Client) *sources {
	return &sources{client: client, turns: make(chan struct{}, sourcesAtOnce), known: map[string]s3.Head{}}
}

// head returns what S3 says of a source, or has said of it before.
func (s *sources) head(ctx context.Context, counted s3.Counted, key string) (s3.Head, error) {
	s.turns <- struct{}{}
	defer func() { <-s.turns }()
	s.mutex.Lock()
	found, known := s.known[key]
	s.mutex.Unlock()
	if known {
		return found, nil
	}
	found, err := head(ctx, s.client, counted, key)
	if err == nil {
		s.mutex.Lock()
		if len(s.known) < mostSources {
			s.known[key] = found
		}
		s.mutex.Unlock()
		return found, nil
	}
	if kind, _ := failure.Describe(err); kind == failure.NoSuchKey { // a HEAD that compares takes it for one that was deleted just now
		err = failure.New(kind, "HeadObject 404: %s", s3.NoSourceAdvice)
	}
	return found, err
}

func head(ctx context.Context, client *s3.Client, counted s3.Counted, key string) (found s3.Head, err error) {
	err = client.Retry.Do(ctx, counted.CountRetry, func() error {
		found, err = client.Head(ctx, counted, key)
		return err
	})
	return found, err
}
