package download

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/host"
	"stampede/transfer/internal/ident"
	"stampede/transfer/internal/process"
	"stampede/transfer/internal/record"
	"stampede/transfer/internal/s3"
)

// Objects above this size aren't held in memory but written as they come.
const smallBytes = 1 << 20

// getMany downloads every object under a prefix and prints a summary.
func getMany(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	var from source
	var prefix, output string
	var parallel int64
	flags := flag.NewFlagSet("transfer get-many", flag.ContinueOnError)
	from.options(flags)
	flags.StringVar(&prefix, "prefix", "", "beginning of the keys; the part up to its last slash is left out of the file names (default all objects)")
	flags.StringVar(&output, "output", "", "`folder` to write to, created if it doesn't exist")
	flags.Int64Var(&parallel, "parallel", 16, "parallel `connections`")
	err := host.Parse(flags, arguments, stderr, func() string {
		return cmp.Or(host.URL("endpoint-url", from.EndpointURL), host.Missing("bucket", from.bucket), host.Missing("output", output),
			host.Between("parallel", parallel, 1, 1024))
	})
	if err != nil {
		return err
	}
	many := &many{output: output, cut: prefix[:strings.LastIndexByte(prefix, '/')+1], stderr: stderr}
	started, cpu := time.Now(), process.CPUSeconds()
	if many.client, err = s3.Open(ctx, from.Given, from.bucket); err != nil {
		return err
	}
	err = many.run(ctx, prefix, int(parallel))
	_, printed := fmt.Fprintf(stdout, `{"objects": %d, "bytes": %d, "failed": %d, "seconds": %s, "client_cpu_seconds": %s, "retries": %d, "requests": %d}`+"\n",
		many.objects.Load(), many.bytes.Load(), many.failed.Load(), record.FormatFloat(time.Since(started).Seconds()),
		record.FormatFloat(process.CPUSeconds()-cpu), many.retries.Load(), many.requests.Load())
	if failed := many.failed.Load(); err == nil && failed > 0 {
		err = failure.New(failure.S3, "%d of %d objects weren't downloaded", failed, failed+many.objects.Load())
	}
	return errors.Join(err, printed)
}

// many is one download of many objects.
type many struct {
	client      *s3.Client
	output, cut string
	stderr      io.Writer
	folders     sync.Map // made already
	mutex       sync.Mutex

	objects, bytes, failed, retries, requests atomic.Int64
}

// CountRequest and CountRetry are called by the S3 client.
func (m *many) CountRequest() { m.requests.Add(1) }

// CountRetry counts a request that is sent again.
func (m *many) CountRetry() { m.retries.Add(1) }

// run lists and downloads at the same time. An object that fails doesn't stop the others.
func (m *many) run(ctx context.Context, prefix string, parallel int) error {
	if err := os.MkdirAll(m.output, 0o755); err != nil {
		return failure.OfFile(err)
	}
	queue := make(chan s3.Listed, 1000)
	var workers sync.WaitGroup
	for range parallel {
		workers.Add(1)
		go func() {
			defer workers.Done()
			buffer := make([]byte, smallBytes)
			for listed := range queue {
				m.count(listed, m.fetch(ctx, listed, buffer))
			}
		}()
	}
	err := m.client.List(ctx, m, prefix, func(listed s3.Listed) error {
		if strings.HasSuffix(listed.Key, "/") && listed.Size == 0 {
			return nil // the console's sign for a folder
		}
		select {
		case queue <- listed:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(queue)
	workers.Wait()
	return err
}

func (m *many) count(listed s3.Listed, err error) {
	if err == nil {
		m.objects.Add(1)
		m.bytes.Add(listed.Size)
		return
	}
	m.failed.Add(1)
	kind, message := failure.Describe(err)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	_, _ = fmt.Fprintf(m.stderr, "%s: %s: %s\n", listed.Key, kind, message)
}

// fetch downloads one object to its place, which it takes only when it is complete.
func (m *many) fetch(ctx context.Context, listed s3.Listed, buffer []byte) error {
	name, err := m.place(listed.Key)
	if err != nil {
		return err
	}
	part := name + "." + ident.New()[:8] + ".part"
	if listed.Size > smallBytes {
		job := Job{Client: m.client, Key: listed.Key, File: part, ObjectBytes: &listed.Size}
		outcome := timed(ctx, newRunner(), Variant{Method: Stream, Sink: Tmp}, job, time.Now().Add(time.Hour))
		m.requests.Add(outcome.Requests)
		m.retries.Add(outcome.Retries)
		err = outcome.Err
	} else {
		err = m.fetchSmall(ctx, listed, part, buffer)
	}
	if err == nil {
		if err = os.Rename(part, name); err == nil {
			return nil
		}
		err = failure.OfFile(err)
	}
	_ = os.Remove(part) // it may never have been made
	return err
}

func (m *many) fetchSmall(ctx context.Context, listed s3.Listed, part string, buffer []byte) error {
	got := 0
	err := m.client.Retry.Do(ctx, m.CountRetry, func() error {
		got = 0
		answer, object, err := m.client.Get(ctx, m, s3.Get{Key: listed.Key, Last: s3.Whole})
		if err != nil {
			return err
		}
		defer answer.Close()
		if object.Bytes != listed.Size {
			return failure.New(failure.ObjectChanged, "the object has %d bytes, but was listed with %d: don't change it during a run",
				object.Bytes, listed.Size)
		}
		for answer.Left > 0 {
			n, err := answer.Read(buffer[got:])
			got += n
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(part, buffer[:got], 0o644); err != nil {
		return failure.OfFile(err)
	}
	return nil
}

// place is the file of a key, its folder made. A key that would leave the output folder is refused.
func (m *many) place(key string) (string, error) {
	relative := filepath.FromSlash(strings.TrimPrefix(key, m.cut))
	if !filepath.IsLocal(relative) || filepath.Clean(relative) != relative {
		return "", failure.New(failure.File, "the key isn't a valid file name below %s, so the object isn't written", m.output)
	}
	name := filepath.Join(m.output, relative)
	folder := filepath.Dir(name)
	if _, made := m.folders.Load(folder); !made {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", failure.OfFile(err)
		}
		m.folders.Store(folder, true)
	}
	return name, nil
}
