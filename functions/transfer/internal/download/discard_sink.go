package download

import (
	"hash"
	"hash/crc32"
	"slices"
	"sync"

	"stampede/transfer/internal/s3"
)

// discardSink receives into one buffer a slot, again and again; a checksum, if asked for, is computed on the way.
type discardSink struct {
	algorithm string
	mutex     sync.Mutex
	runs      map[int64]run // by where they begin
	whole     string        // SHA-256
}

func newDiscardSink(checksum *Checksum) *discardSink {
	made := &discardSink{}
	if checksum != nil {
		made.algorithm = checksum.Algorithm
	}
	return made
}

func (s *discardSink) prepare(int64) error {
	s.runs = map[int64]run{}
	return nil
}

func (s *discardSink) slot() (slot, error) {
	made := &discardSlot{sink: s, buffer: buffers.Get().([]byte)}
	if s.algorithm == sha256Name {
		made.sha = newDigest(sha256Name)
	}
	return made, nil
}

func (s *discardSink) digest(algorithm string) (string, error) {
	if algorithm == sha256Name {
		return s.whole, nil
	}
	starts := make([]int64, 0, len(s.runs))
	for start := range s.runs {
		starts = append(starts, start)
	}
	slices.Sort(starts)
	inOrder := make([]run, len(starts))
	for i, start := range starts {
		inOrder[i] = s.runs[start]
	}
	return joined(inOrder), nil
}

func (s *discardSink) close() error { return nil }

type discardSlot struct {
	sink   *discardSink
	buffer []byte
	start  int64
	run    run
	sha    hash.Hash
}

func (d *discardSlot) receive(answer *s3.Answer, position int64) (int64, error) {
	n, err := answer.Read(d.buffer)
	if got := d.buffer[:n]; d.sha != nil {
		_, _ = d.sha.Write(got)
	} else if d.sink.algorithm == crc32Name {
		if d.run.bytes == 0 {
			d.start = position
		}
		d.run = run{crc32.Update(d.run.crc, crc32.IEEETable, got), d.run.bytes + int64(n)}
	}
	return int64(n), err
}

// close hands in what this slot has seen: a span is one run, also when it took several connections.
func (d *discardSlot) close() {
	d.sink.mutex.Lock()
	defer d.sink.mutex.Unlock()
	if d.run.bytes > 0 {
		d.sink.runs[d.start] = d.run
	}
	if d.sha != nil {
		d.sink.whole = hexadecimal(d.sha)
	}
	buffers.Put(d.buffer)
}
