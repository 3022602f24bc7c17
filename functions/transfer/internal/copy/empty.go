package copy

import (
	"context"
	"strings"
	"sync"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/s3"
)

// deletionsAtOnce is the batches of 1,000 keys under way: S3 counts each key against the 3,500 a second of a prefix.
const deletionsAtOnce = 4

// empty deletes everything below a prefix, and looks whether that is so.
func empty(ctx context.Context, client *s3.Client, seen *observed, prefix string) error {
	began := seen.sinceBegan()
	defer func() { seen.emptying.Store(int64(seen.sinceBegan() - began)) }()
	if err := deleteBelow(ctx, client, seen, prefix); err != nil {
		return err
	}
	return client.List(ctx, seen, prefix, func(left s3.Listed) error {
		return failure.New(failure.DestinationNotEmpty, "the destination still has %.100q after it was emptied: another program writes there, or the "+
			"object can't be deleted; stop that program, or use a separate destination", left.Key)
	})
}

// deleteBelow lists and deletes at the same time.
func deleteBelow(ctx context.Context, client *s3.Client, seen *observed, prefix string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	batches := make(chan []string)
	var workers sync.WaitGroup
	for range deletionsAtOnce {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for keys := range batches {
				if err := deleteKeys(ctx, client, seen, keys); err != nil {
					stop(err)
				}
			}
		}()
	}
	give := func(keys []string) error {
		select {
		case batches <- keys:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var keys []string
	err := client.List(ctx, seen, prefix, func(found s3.Listed) error {
		if !strings.HasPrefix(found.Key, prefix) {
			return failure.New(failure.S3, "ListObjectsV2 returned the key %.100q for the prefix %q: none of these keys are deleted", found.Key, prefix)
		}
		keys = append(keys, found.Key)
		if len(keys) < s3.DeleteKeys {
			return nil
		}
		full := keys
		keys = nil
		return give(full)
	})
	if err == nil && len(keys) > 0 {
		err = give(keys)
	}
	close(batches)
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// deleteKeys deletes one batch; what S3 refuses in passing is tried again, and what it wants slower for as long as it does: several
// batches at once are more than a prefix takes, and no time is taken of it.
func deleteKeys(ctx context.Context, client *s3.Client, seen *observed, keys []string) error {
	var together []string
	for _, key := range keys {
		if s3.Deletable(key) {
			together = append(together, key)
		} else if err := client.Retry.Do(ctx, seen.CountRetry, func() error { return client.DeleteOne(ctx, seen, key) }); err != nil {
			return err
		} else {
			seen.emptied.Add(1)
		}
	}
	for len(together) > 0 {
		err := client.Retry.Do(ctx, seen.CountRetry, func() (err error) {
			before := len(together)
			together, err = client.Delete(ctx, seen, together)
			seen.emptied.Add(int64(before - len(together)))
			return err
		})
		if kind, _ := failure.Describe(err); err != nil && kind != failure.SlowDown {
			return err
		}
	}
	return nil
}
