package express

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"stampede/transfer/internal/failure"
	"stampede/transfer/internal/room"
	"stampede/transfer/internal/workfolder"
)

// slice is a number of objects of a set to bring to or from a bucket, so many at a time.
type slice struct {
	set
	bucket   *bucket
	first    int64
	objects  int64
	parallel int
	seen     *observed
}

// mover brings one object to its end.
type mover func(ctx context.Context, object int64) error

// mostFiles are written to at once: a sandbox has 1,024 file descriptors (Lambda guide, "Lambda quotas"), and every request a
// connection.
const mostFiles = 8

// prime opens the session, if the bucket has such, before the first request for an object.
func (s *slice) prime(ctx context.Context) error {
	if s.bucket.sessions == nil {
		return nil
	}
	return s.bucket.sessions.prime(ctx, s.seen)
}

// upload puts every object of the slice, or those that there doesn't have.
func (s *slice) upload(ctx context.Context, there *presence) error {
	return s.each(ctx, func(int64) mover {
		return func(ctx context.Context, object int64) error {
			if there.has(object) {
				return nil
			}
			return s.put(ctx, object)
		}
	})
}

// download gets every object of the slice to files in a folder of its own, which is gone afterwards. Each worker has its place
// in one of them, and writes it again and again.
func (s *slice) download(ctx context.Context) error {
	atOnce := min(int64(s.parallel), s.objects)
	workfolder.RemoveAbandoned()
	left, err := room.Left(os.TempDir())
	if err != nil {
		return failure.OfFile(err)
	}
	if left/atOnce < s.objectBytes {
		return failure.New(failure.NoSpace, "%d files of %d bytes at a time don't fit into the %d bytes left in the temporary folder: raise "+
			"ephemeral_storage_mb or lower parallel_limit", atOnce, s.objectBytes, left)
	}
	folder, err := workfolder.New()
	if err != nil {
		return failure.OfFile(err)
	}
	defer folder.Close()
	files := make([]*os.File, min(atOnce, mostFiles))
	for i := range files {
		if files[i], err = os.CreateTemp(folder.Path, ""); err != nil {
			return failure.OfFile(err)
		}
		defer files[i].Close() // WriteAt has told of every error of ours
	}
	return s.each(ctx, func(worker int64) mover {
		file, place := files[worker%int64(len(files))], worker/int64(len(files))*s.objectBytes
		return (&getter{s, file, place, make([]byte, min(pieceBytes, s.objectBytes))}).move
	})
}

// each moves every object of the slice, as many at once as there are workers, which are numbered from 0. The first error ends it.
func (s *slice) each(ctx context.Context, ofWorker func(worker int64) mover) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	s.seen.begin()
	for worker := range min(int64(s.parallel), s.objects) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			defer func() {
				if defect := recover(); defect != nil {
					stop(fmt.Errorf("a defect in the work: %v", defect)) // a record says so, instead of the process's end
				}
			}()
			if err := s.work(ctx, &next, ofWorker(worker)); err != nil {
				stop(err)
			}
		}()
	}
	workers.Wait()
	s.seen.end()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (s *slice) work(ctx context.Context, next *atomic.Int64, move mover) error {
	for ctx.Err() == nil {
		i := next.Add(1) - 1
		if i >= s.objects {
			return nil
		}
		if err := move(ctx, s.first+i); err != nil {
			return err
		}
	}
	return nil
}

// timed does the requests for one object, and notes what they took.
func (s *slice) timed(ctx context.Context, operation string, once func() error) error {
	began := time.Now()
	err := s.bucket.do(ctx, s.seen, operation, once)
	if err == nil {
		s.seen.done(time.Since(began), s.objectBytes)
	}
	return err
}
