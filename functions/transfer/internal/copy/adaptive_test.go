package copy

import (
	"container/heap"
	"math"
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

// simulation is workers before one token bucket, on a clock of its own.
type simulation struct {
	limit, burst, tokens float64
	filled               time.Duration
	latency              time.Duration
	due                  events
	dice                 *rand.Rand
	workers              []*simulated
}

type simulated struct {
	control   *adaptive
	most      float64 // calls a second that it has to make; 0: any number
	copied    []int   // by second
	slowDowns []int
}

const simulatedSeconds = 60

func simulate(limit, burst float64, latency time.Duration, starts ...time.Duration) *simulation {
	s := &simulation{limit: limit, burst: burst, tokens: burst, latency: latency, dice: rand.New(rand.NewPCG(1, 2))}
	for _, start := range starts {
		w := &simulated{control: newAdaptive(0), copied: make([]int, simulatedSeconds+1), slowDowns: make([]int, simulatedSeconds+1)}
		s.workers = append(s.workers, w)
		s.at(start, func(now time.Duration) { s.send(w, start, now) })
	}
	return s
}

func (s *simulation) at(when time.Duration, do func(time.Duration)) {
	heap.Push(&s.due, event{when, do})
}

func (s *simulation) run() {
	for len(s.due) > 0 && s.due[0].at < simulatedSeconds*time.Second {
		next := heap.Pop(&s.due).(event)
		next.do(next.at)
	}
}

// send makes one call of a worker that began at start, and plans the next. An answer is as late as told, give or take a half.
func (s *simulation) send(w *simulated, start, now time.Duration) {
	own := now - start
	w.control.Sent(own)
	arrives := s.latency/2 + time.Duration(s.dice.Float64()*float64(s.latency)/2)
	s.at(now+arrives, func(there time.Duration) {
		s.tokens = min(s.burst, s.tokens+s.limit*(there-s.filled).Seconds())
		s.filled = there
		copied := s.tokens >= 1
		if copied {
			s.tokens--
		}
		s.at(there+s.latency/2, func(back time.Duration) {
			if copied {
				w.copied[back/time.Second]++
			} else {
				w.slowDowns[back/time.Second]++
			}
			w.control.Answered(back-start, own, copied, !copied)
		})
	})
	pause := 1 / w.control.Rate(own)
	if w.most > 0 {
		pause = max(pause, 1/w.most)
	}
	s.at(now+time.Duration(pause*float64(time.Second)), func(now time.Duration) { s.send(w, start, now) })
}

func sum(numbers []int) (all int) {
	for _, number := range numbers {
		all += number
	}
	return all
}

func TestOneWorkerFindsTheLimitAndStaysAtIt(t *testing.T) {
	for _, limit := range []float64{20, 167, 500, 3500} {
		for _, burst := range []float64{max(10, 0.05*limit), limit} {
			for _, latency := range []time.Duration{20 * time.Millisecond, 300 * time.Millisecond} {
				s := simulate(limit, burst, latency, 0)
				s.run()
				w := s.workers[0]
				through := float64(sum(w.copied)) / simulatedSeconds / limit
				refused := float64(sum(w.slowDowns[10:])) / float64(sum(w.slowDowns[10:])+sum(w.copied[10:]))
				most := 0.02 // of a limit as small as no S3 has, or of answers as late as no refusal is, more
				if limit < 100 || latency > 100*time.Millisecond {
					most = 0.06
				}
				if through < 0.95 || through > 1+burst/limit/simulatedSeconds || refused > most {
					t.Errorf("limit %.0f, burst %.0f, %v: %.3f of it, %.4f refused", limit, burst, latency, through, refused)
				}
			}
		}
	}
}

func TestThreeWorkersShareALimitFairly(t *testing.T) {
	for _, limit := range []float64{500, 3500} {
		for _, burst := range []float64{50, limit} {
			for _, late := range []time.Duration{0, 300 * time.Millisecond, 3 * time.Second} {
				s := simulate(limit, burst, 20*time.Millisecond, 0, late/3, late)
				s.run()
				together, refused, shares := 0.0, 0, []float64{}
				for _, w := range s.workers {
					together += float64(sum(w.copied)) / simulatedSeconds / limit
					refused += sum(w.slowDowns[10:])
				}
				far := 0.0
				for _, w := range s.workers {
					share := float64(sum(w.copied)) / simulatedSeconds / limit / together * 3
					shares = append(shares, share)
					far = max(far, math.Abs(share-1))
				}
				part := float64(refused) / limit / 50
				if together < 0.9 || far > 0.25 && late < time.Second || part > 0.02 {
					t.Errorf("limit %.0f, burst %.0f, late %v: %.3f together, shares %.2f, %.4f refused", limit, burst, late, together, shares, part)
				}
			}
		}
	}
}

func TestARateThatIsNotUsedDoesNotGrow(t *testing.T) {
	s := simulate(1e6, 1e6, 20*time.Millisecond, 0)
	s.workers[0].most = 1000
	s.run()
	if rate := s.workers[0].control.Rate(simulatedSeconds * time.Second); rate > 2000 {
		t.Errorf("%.0f calls a second for a worker that makes 1,000", rate)
	}
}

func TestALimitThatChangesIsFoundAgain(t *testing.T) {
	s := simulate(3500, 350, 20*time.Millisecond, 0)
	s.at(15*time.Second, func(time.Duration) { s.limit, s.burst = 1000, 100 })
	s.at(30*time.Second, func(time.Duration) { s.limit, s.burst = 3500, 350 })
	s.run()
	through := func(from, until int) float64 {
		return float64(sum(s.workers[0].copied[from:until])) / float64(until-from)
	}
	if lower, again := through(18, 30), through(50, 60); lower < 950 || lower > 1010 || again < 0.95*3500 {
		t.Errorf("%.0f a second after the limit fell to 1,000, %.0f after it rose to 3,500", lower, again)
	}
}

func TestALimitIsFoundAgainAfterS3HasRefusedEverything(t *testing.T) {
	for _, limit := range []float64{100, 500, 3500} {
		for _, began := range []time.Duration{0, 15 * time.Second} {
			s := simulate(limit, limit/10, 20*time.Millisecond, 0)
			s.at(began, func(time.Duration) { s.limit, s.tokens = 0, 0 })
			s.at(began+10*time.Second, func(now time.Duration) { s.limit, s.filled = limit, now })
			s.run()
			from := int(began.Seconds()) + 17
			if through := float64(sum(s.workers[0].copied[from:60])) / float64(60-from); through < 0.95*limit {
				t.Errorf("limit %.0f, refused from %v on: %.0f a second", limit, began, through)
			}
		}
	}
}

func TestACapIsNeverExceeded(t *testing.T) {
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
