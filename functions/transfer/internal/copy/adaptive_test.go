package copy

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// event is something due at a time of the simulation.
type event struct {
	at time.Duration
	do func()
}

// simulation is workers before one token bucket, on a clock of its own. S3 refuses fast and copies
// slowly, so both have a latency.
type simulation struct {
	limit, burst, tokens    float64
	filled                  time.Duration
	copyTakes, refusalTakes time.Duration
	ignoring                int // calls a ms of a client that ignores SlowDown
	most                    float64
	second                  int
	due                     map[time.Duration][]event // by ms
	dice                    *rand.Rand
	workers                 []*adaptive
	copied                  [][]int // by worker and second, as S3 accepted them
	slowDowns               []int   // by second
}

const longest = 90

// simulate makes one whose workers start at these times, and are never asked for more than 100,000
// calls a second.
func simulate(limit, burst float64, copyTakes, refusalTakes time.Duration,
	starts ...time.Duration) *simulation {
	s := &simulation{limit: limit, burst: burst, tokens: burst, copyTakes: copyTakes,
		refusalTakes: refusalTakes, most: 1e5, due: map[time.Duration][]event{},
		dice: rand.New(rand.NewPCG(13, 14)), slowDowns: make([]int, longest+1)}
	for worker, start := range starts {
		s.workers = append(s.workers, newAdaptive(0))
		s.copied = append(s.copied, make([]int, longest+1))
		s.at(start, func() { s.send(worker, start, start) })
	}
	return s
}

func (s *simulation) at(when time.Duration, do func()) {
	bucket := s.due[when/time.Millisecond]
	place, _ := slices.BinarySearchFunc(bucket, when,
		func(e event, when time.Duration) int { return cmp.Compare(e.at, when) })
	s.due[when/time.Millisecond] = slices.Insert(bucket, place, event{when, do})
}

// run goes on until a second.
func (s *simulation) run(until int) *simulation {
	for ms := time.Duration(s.second * 1000); ms < time.Duration(until*1000); ms++ {
		for range s.ignoring {
			s.take(ms * time.Millisecond)
		}
		for len(s.due[ms]) > 0 {
			first := s.due[ms][0]
			s.due[ms] = s.due[ms][1:]
			first.do()
		}
		delete(s.due, ms)
	}
	s.second = until
	return s
}

// take asks the bucket for a call.
func (s *simulation) take(now time.Duration) bool {
	s.tokens = min(s.burst, s.tokens+s.limit*(now-s.filled).Seconds())
	s.filled = now
	if s.tokens < 1 {
		return false
	}
	s.tokens--
	return true
}

// send makes one call of a worker that began at start, and plans the next. A request arrives after
// a quarter to half of a refusal's latency, an answer is as late as told.
func (s *simulation) send(worker int, start, now time.Duration) {
	control := s.workers[worker]
	next := now + time.Duration(float64(time.Second)/min(s.most, control.Rate(now-start)))
	control.Sent(now - start)
	there := now + time.Duration((1+s.dice.Float64())*float64(s.refusalTakes)/4)
	s.at(there, func() {
		back, copied := now+s.refusalTakes, s.take(there)
		if copied {
			back = now + s.copyTakes
			s.copied[worker][there/time.Second]++
		} else {
			s.slowDowns[there/time.Second]++
		}
		if !copied {
			s.at(back, func() { control.SlowedDown(back-start, now-start) })
		}
	})
	s.at(next, func() { s.send(worker, start, next) })
}

// figures of a simulation from a second on: what part of the limit all workers used, what part of
// the calls was answered SlowDown, and Jain's index of fairness: 1 for equal shares, 1/n where one
// has all.
type figures struct{ through, refused, jain float64 }

func (s *simulation) since(from int) figures {
	total, squares := 0.0, 0.0
	for _, bySecond := range s.copied {
		copied := sum(bySecond[from:s.second])
		total, squares = total+copied, squares+copied*copied
	}
	slowDowns := sum(s.slowDowns[from:s.second])
	return figures{total / float64(s.second-from) / s.limit, slowDowns / max(1, slowDowns+total),
		total * total / squares / float64(len(s.copied))}
}

func sum(numbers []int) (all float64) {
	for _, number := range numbers {
		all += float64(number)
	}
	return all
}

const (
	milli  = time.Millisecond
	copies = 500 * milli
	fast   = 15 * milli
)

func atOnce(workers int) []time.Duration { return make([]time.Duration, workers) }

func TestWorkersUseTheLimitAndShareItHoweverSlowACopyIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers                int
		limit                  float64
		copyTakes, refusalTake time.Duration
		refused                float64 // at most, once settled
	}{
		{1, 20, copies, fast, 0.1}, {1, 100, copies, fast, 0.03},
		{1, 100, 5 * time.Second, fast, 0.03}, {1, 500, 20 * milli, fast, 0.02},
		{1, 500, 300 * milli, 300 * milli, 0.06}, {1, 3500, 20 * milli, fast, 0.02},
		{1, 3500, copies, fast, 0.02}, {3, 500, 20 * milli, fast, 0.02},
		{10, 500, copies, fast, 0.05}, {20, 100, copies, fast, 0.4}, {30, 3500, copies, fast, 0.03},
		{100, 500, 2 * time.Second, fast, 0.4},
		{50, 1000, 5 * time.Second, fast, 0.12},
	} {
		for _, burst := range []float64{max(2, c.limit/10), c.limit} {
			s := simulate(c.limit, burst, c.copyTakes, c.refusalTake, atOnce(c.workers)...).run(30)
			if all := s.since(0); all.through < 0.95 || s.since(10).refused > c.refused ||
				all.jain < 0.96 {
				t.Error(c, burst, all)
			}
		}
	}
	// a worker that begins later gets a share too
	for _, late := range []time.Duration{300 * milli, 3 * time.Second} {
		s := simulate(500, 50, copies, fast, 0, late/3, late).run(60)
		if s.since(0).through < 0.95 || s.since(30).jain < 0.9 {
			t.Error(late, s.since(30))
		}
	}
	// and not a small one
	if s := simulate(3500, 350, copies, fast, 0, 20*time.Second).run(60); s.since(40).jain < 0.95 {
		t.Error(s.since(40))
	}
}

func TestALimitThatHalvesDoublesOrIsNothingForAWhileIsFoundAgain(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{100, 500, 3500} {
		for _, workers := range []int{1, 20} {
			s := simulate(limit, limit/10, copies, fast, atOnce(workers)...)
			for stage, part := range []float64{1, 0.5, 1} {
				s.take(time.Duration(30*stage) * time.Second) // fills it at the old limit
				s.limit, s.burst = part*limit, part*limit/10
				if now := s.run(30 + 30*stage).since(30 * stage); now.through < 0.95 {
					t.Error(limit, workers, stage, now)
				}
			}
		}
		for _, began := range []int{0, 15} {
			s := simulate(limit, limit/10, copies, fast, 0).run(began)
			s.limit, s.tokens = 0, 0
			s.run(began + 20)
			s.limit, s.filled = limit, time.Duration(began+20)*time.Second
			if now := s.run(began + 32).since(began + 25); now.through < 0.8 {
				t.Error(limit, began, now)
			}
		}
	}
}

func TestTheRateHoldsBesideAClientThatIgnoresSlowDown(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 10} {
		s := simulate(500, 50, copies, fast, atOnce(workers)...)
		s.run(9).ignoring = 3
		for _, second := range []int{25, 39} {
			now := time.Duration(second) * time.Second
			if rate := s.run(second).workers[0].Rate(now); rate < 5 {
				t.Error(workers, second, rate)
			}
		}
		s.ignoring = 0
		if now := s.run(70).since(50); now.through < 0.95 {
			t.Error(workers, now)
		}
	}
}

func TestARateThatIsNotUsedDoesNotGrowAndACapIsNeverExceeded(t *testing.T) {
	t.Parallel()
	s := simulate(1e6, 1e6, 20*milli, 20*milli, 0, 0)
	s.most, s.workers[1] = 1000, newAdaptive(300)
	for second := range 60 {
		s.run(second)
		now := time.Duration(second) * time.Second
		if unused, capped := s.workers[0].Rate(now), s.workers[1].Rate(now); unused > 2000 ||
			capped > 300 || second > 5 && capped < 299 {
			t.Error(second, unused, capped)
		}
	}
}
