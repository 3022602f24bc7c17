package copy

import (
	"container/heap"

	"math/rand/v2"
	"testing"
	"time"
)

// event is something due at a time of the simulation.
type event struct {
	at time.Duration
	do func(now time.Duration)
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulation is workers before one token bucket, on a clock of its own. S3 refuses fast and copies slowly, so both have a latency.
type simulation struct {
	limit, burst, tokens   float64
	filled                 time.Duration
	copyTakes, refusalTake time.Duration
	due                    events
	dice                   *rand.Rand
	workers                []*simulated
	seconds                int
}

type simulated struct {
	control   *adaptive
	most      float64 // calls a second that it has to make; 0: any number
	inFlight  int
	parallel  int   // most of them
	copied    []int // by second, as S3 accepted them
	slowDowns []int
}

func simulate(seconds int, limit, burst float64, copyTakes, refusalTakes time.Duration, starts ...time.Duration) *simulation {
	s := &simulation{limit: limit, burst: burst, tokens: burst, copyTakes: copyTakes, refusalTake: refusalTakes, seconds: seconds,
		dice: rand.New(rand.NewPCG(1, 2))}
	for _, start := range starts {
		w := &simulated{control: newAdaptive(0), parallel: LargestParallel, copied: make([]int, seconds+1), slowDowns: make([]int, seconds+1)}
		s.workers = append(s.workers, w)
		s.at(start, func(now time.Duration) { s.send(w, start, now) })
	}
	return s
}

func (s *simulation) at(when time.Duration, do func(time.Duration)) {
	heap.Push(&s.due, event{when, do})
}

func (s *simulation) run() *simulation {
	for len(s.due) > 0 && s.due[0].at < time.Duration(s.seconds)*time.Second {
		next := heap.Pop(&s.due).(event)
		next.do(next.at)
	}
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

// send makes one call of a worker that began at start, and plans the next. A request arrives after a quarter to half of a refusal's
// latency, an answer is as late as told.
func (s *simulation) send(w *simulated, start, now time.Duration) {
	own := now - start
	pause := 1 / w.control.Rate(own)
	if w.inFlight < w.parallel {
		w.inFlight++
		w.control.Sent(own)
		arrives := s.refusalTake/4 + time.Duration(s.dice.Float64()*float64(s.refusalTake)/4)
		s.at(now+arrives, func(there time.Duration) {
			takes := s.refusalTake - arrives
			copied := s.take(there)
			if copied {
				w.copied[there/time.Second]++
				takes = s.copyTakes - arrives
			} else {
				w.slowDowns[there/time.Second]++
			}
			s.at(there+max(0, takes), func(back time.Duration) {
				w.inFlight--
				w.control.Answered(back-start, own, copied, !copied)
			})
		})
	}
	if w.most > 0 {
		pause = max(pause, 1/w.most)
	}
	s.at(now+time.Duration(pause*float64(time.Second)), func(now time.Duration) { s.send(w, start, now) })
}

// through is the part of the limit that all workers used from a second on.
func (s *simulation) through(from, until int) float64 {
	all := 0
	for _, w := range s.workers {
		all += sum(w.copied[from:until])
	}
	return float64(all) / float64(until-from) / s.limit
}

// jain is Jain's index of fairness from a second on: 1 for equal shares, 1/n where one has all.
func (s *simulation) jain(from int) float64 {
	total, squares := 0.0, 0.0
	for _, w := range s.workers {
		copied := float64(sum(w.copied[from:s.seconds]))
		total += copied
		squares += copied * copied
	}
	return total * total / squares / float64(len(s.workers))
}

// refused is the part of the calls that were answered SlowDown from a second on.
func (s *simulation) refused(from int) float64 {
	slowDowns, all := 0, 0
	for _, w := range s.workers {
		slowDowns += sum(w.slowDowns[from:s.seconds])
		all += sum(w.slowDowns[from:s.seconds]) + sum(w.copied[from:s.seconds])
	}
	return float64(slowDowns) / float64(max(1, all))
}

func sum(numbers []int) (all int) {
	for _, number := range numbers {
		all += number
	}
	return all
}

const milli = time.Millisecond

func TestWorkersUseTheLimitAndShareItHoweverSlowACopyIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers                int
		limit                  float64
		copyTakes, refusalTake time.Duration
		refused                float64 // at most, once settled
	}{
		{1, 20, 500 * milli, 15 * milli, 0.1},
		{1, 100, 500 * milli, 15 * milli, 0.03},
		{1, 100, 5 * time.Second, 15 * milli, 0.03},
		{1, 500, 20 * milli, 15 * milli, 0.02},
		{1, 500, 300 * milli, 300 * milli, 0.06},
		{1, 3500, 20 * milli, 15 * milli, 0.02},
		{1, 3500, 500 * milli, 15 * milli, 0.02},
		{3, 500, 20 * milli, 15 * milli, 0.02},
		{10, 500, 500 * milli, 15 * milli, 0.05},
		{20, 100, 500 * milli, 15 * milli, 0.4},
		{30, 3500, 500 * milli, 15 * milli, 0.03},
		{100, 500, 2 * time.Second, 15 * milli, 0.4},
		{50, 1000, 5 * time.Second, 15 * milli, 0.12},
	} {
		for _, burst := range []float64{max(2, c.limit/10), c.limit} {
			s := simulate(30, c.limit, burst, c.copyTakes, c.refusalTake, make([]time.Duration, c.workers)...).run()
			if s.through(0, 30) < 0.95 || s.refused(10) > c.refused || s.jain(0) < 0.96 {
				t.Errorf("%+v, burst %.0f: %.3f of the limit, %.4f refused, Jain %.3f", c, burst, s.through(0, 30), s.refused(10), s.jain(0))
			}
		}
	}
}

func TestWorkersThatBeginLaterGetAShareToo(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{300 * milli, 3 * time.Second} {
		s := simulate(60, 500, 50, 500*milli, 15*milli, 0, late/3, late).run()
		if s.through(0, 60) < 0.95 || s.jain(30) < 0.9 {
			t.Errorf("%v late: %.3f of the limit, Jain %.3f", late, s.through(0, 60), s.jain(30))
		}
	}
}

func TestALimitThatHalvesAndDoublesIsFoundAgain(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 20} {
		for _, limit := range []float64{100, 500, 3500} {
			s := simulate(90, limit, limit/10, 500*milli, 15*milli, make([]time.Duration, workers)...)
			change := func(part float64) func(time.Duration) {
				return func(now time.Duration) {
					s.take(now)
					s.limit, s.burst = part*limit, part*limit/10
				}
			}
			s.at(30*time.Second, change(0.5))
			s.at(60*time.Second, change(1))
			s.run()
			for from, part := range map[int]float64{0: 1, 30: 0.5, 60: 1} {
				if through := s.through(from, from+30) / part; through < 0.95 {
					t.Errorf("%d workers on %.0f, from %d s on: %.3f of the limit", workers, limit, from, through)
				}
			}
		}
	}
}

func TestAClientThatIgnoresSlowDownIsSeenAndTheRateHolds(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 10} {
		s := simulate(70, 500, 50, 500*milli, 15*milli, make([]time.Duration, workers)...)
		var ignoring func(now time.Duration)
		ignoring = func(now time.Duration) {
			if now < 40*time.Second {
				s.take(now)
				s.at(now+time.Duration(s.dice.ExpFloat64()/3000*float64(time.Second)), ignoring)
			}
		}
		s.at(10*time.Second, ignoring)
		seen := func(when time.Duration, want bool) {
			s.at(when, func(now time.Duration) {
				if c := s.workers[0].control; c.Crowded() != want || want && c.Rate(now) < 1.5 {
					t.Errorf("%d workers at %v: crowded %v, %.2f a second", workers, when, c.Crowded(), c.Rate(now))
				}
			})
		}
		seen(9*time.Second, false)
		seen(25*time.Second, true)
		seen(39*time.Second, true)
		seen(60*time.Second, false)
		s.run()
		if through := s.through(50, 70); through < 0.95 {
			t.Errorf("%d workers: %.3f of the limit after the other had ended", workers, through)
		}
	}
}

func TestWorkersAmongTheirLikeNeverTakeEachOtherForSuchAClient(t *testing.T) {
	t.Parallel()
	s := simulate(60, 100, 10, 500*milli, 15*milli, make([]time.Duration, 20)...)
	for second := range 60 {
		s.at(time.Duration(second)*time.Second, func(time.Duration) {
			for _, w := range s.workers {
				if w.control.Crowded() {
					t.Errorf("after %d s, %.0f %% refused", second, 100*w.control.refusedPart)
				}
			}
		})
	}
	s.run()
}

func TestARateThatIsNotUsedDoesNotGrow(t *testing.T) {
	t.Parallel()
	s := simulate(60, 1e6, 1e6, 20*milli, 20*milli, 0)
	s.workers[0].most = 1000
	s.run()
	if rate := s.workers[0].control.Rate(time.Minute); rate > 2000 {
		t.Errorf("%.0f calls a second for a worker that makes 1,000", rate)
	}
}

func TestALimitIsFoundAgainAfterS3HasRefusedEverything(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{100, 500, 3500} {
		for _, began := range []time.Duration{0, 15 * time.Second} {
			s := simulate(60, limit, limit/10, 500*milli, 15*milli, 0)
			s.at(began, func(time.Duration) { s.limit, s.tokens = 0, 0 })
			s.at(began+10*time.Second, func(now time.Duration) { s.limit, s.filled = limit, now })
			s.run()
			if through := s.through(int(began.Seconds())+17, 60); through < 0.95 {
				t.Errorf("limit %.0f, refused from %v on: %.3f of it", limit, began, through)
			}
		}
	}
}

func TestACapIsNeverExceeded(t *testing.T) {
	t.Parallel()
	control := newAdaptive(300)
	for now := time.Duration(0); now < 10*time.Second; now += time.Millisecond {
		control.Sent(now)
		control.Answered(now, now-time.Millisecond, true, false)
		if rate := control.Rate(now); rate > 300 {
			t.Fatal(rate)
		}
	}
	if rate := control.Rate(10 * time.Second); rate < 299 {
		t.Errorf("%.0f where 300 are allowed", rate)
	}
}
