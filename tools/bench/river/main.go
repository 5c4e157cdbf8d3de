// River as a contender: reads one call per line from standard input, answers with one line each, both in JSON
// (src/contenders/river.ts).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	batch = 1_000
	// As the first fifth of the work of every contender, these of the twentieths do not count.
	parts     = 20
	warmParts = 4
	// River's documentation gives no settings for throughput. These were the fastest here of those that we tried: many
	// jobs at a time, and hardly a pause between two fetches, of which the default has a tenth of a second.
	workers       = 2_000
	fetchCooldown = 2 * time.Millisecond
	fetchPoll     = 5 * time.Millisecond
	connections   = 20
)

type noopArgs struct {
	User  int    `json:"user"`
	Label string `json:"kind"`
}

func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
	progress *progress
}

func (w *noopWorker) Work(context.Context, *river.Job[noopArgs]) error {
	w.progress.tick()
	return nil
}

// progress notes when each twentieth of the jobs had been handled.
type progress struct {
	jobs    int64
	part    int64
	count   atomic.Int64
	mutex   sync.Mutex
	marks   []time.Time
	cpu     time.Duration
	handled chan struct{}
}

func newProgress(jobs int64) *progress {
	return &progress{jobs: jobs, part: (jobs + parts - 1) / parts, handled: make(chan struct{})}
}

func (p *progress) tick() {
	n := p.count.Add(1)
	if n == 1 {
		p.mark()
		p.cpu = processorTime()
	}
	if n%p.part == 0 || n == p.jobs {
		p.mark()
	}
	if n == p.jobs {
		close(p.handled)
	}
}

func (p *progress) mark() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.marks = append(p.marks, time.Now())
}

type report struct {
	Jobs             int64     `json:"jobs"`
	PerSecond        float64   `json:"perSecond"`
	Curve            []float64 `json:"curve"`
	NodeMicrosPerJob float64   `json:"nodeMicrosPerJob"`
}

func (p *progress) report() report {
	end := time.Now()
	curve := make([]float64, 0, parts)
	for n := 1; n < len(p.marks); n++ {
		curve = append(curve, float64(p.part)/p.marks[n].Sub(p.marks[n-1]).Seconds())
	}
	return report{
		Jobs:             p.jobs,
		PerSecond:        float64(p.jobs-warmParts*p.part) / end.Sub(p.marks[warmParts]).Seconds(),
		Curve:            curve,
		NodeMicrosPerJob: float64((processorTime() - p.cpu).Microseconds()) / float64(p.jobs),
	}
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

type contender struct {
	pool     *pgxpool.Pool
	inserter *river.Client[pgx.Tx]
}

var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func (c *contender) open(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	config.MaxConns = connections
	if c.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(c.pool), nil)
	if err != nil {
		return err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	c.inserter, err = river.NewClient(riverpgxv5.New(c.pool), &river.Config{Logger: quiet})
	return err
}

// enqueue resolves to milliseconds.
func (c *contender) enqueue(ctx context.Context, jobs int64, callers int) (float64, error) {
	params := make([]river.InsertManyParams, batch)
	for n := range params {
		params[n] = river.InsertManyParams{Args: noopArgs{User: 1234567, Label: "mail"}}
	}
	var left atomic.Int64
	left.Store((jobs + batch - 1) / batch)
	failures := make(chan error, callers)
	started := time.Now()
	for range callers {
		go func() {
			for left.Add(-1) >= 0 {
				if _, err := c.inserter.InsertManyFast(ctx, params); err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	for range callers {
		if err := <-failures; err != nil {
			return 0, err
		}
	}
	return float64(time.Since(started).Microseconds()) / 1000, nil
}

func (c *contender) drain(ctx context.Context, jobs int64) (report, error) {
	progress := newProgress(jobs)
	known := river.NewWorkers()
	river.AddWorker(known, &noopWorker{progress: progress})
	client, err := river.NewClient(riverpgxv5.New(c.pool), &river.Config{
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		Logger:            quiet,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           known,
	})
	if err != nil {
		return report{}, err
	}
	if err := client.Start(ctx); err != nil {
		return report{}, err
	}
	<-progress.handled
	for {
		var some bool
		question := `SELECT EXISTS (SELECT FROM river_job WHERE state <> 'completed')`
		if err := c.pool.QueryRow(ctx, question).Scan(&some); err != nil {
			return report{}, err
		}
		if !some {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	result := progress.report()
	return result, client.Stop(ctx)
}

type call struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Jobs    int64  `json:"jobs"`
	Callers int    `json:"callers"`
}

type answer struct {
	Value any    `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func (c *contender) answer(ctx context.Context, asked call) (any, error) {
	switch asked.Method {
	case "open":
		return nil, c.open(ctx, asked.URL)
	case "enqueue":
		return c.enqueue(ctx, asked.Jobs, asked.Callers)
	case "drain":
		return c.drain(ctx, asked.Jobs)
	}
	return nil, fmt.Errorf("there is no method %q", asked.Method)
}

func main() {
	ctx := context.Background()
	c := &contender{}
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked call
		err := json.Unmarshal(lines.Bytes(), &asked)
		var value any
		if err == nil {
			value, err = c.answer(ctx, asked)
		}
		reply := answer{Value: value}
		if err != nil {
			reply = answer{Error: err.Error()}
		}
		if out.Encode(reply) != nil {
			return
		}
	}
	if c.pool != nil {
		c.pool.Close()
	}
}
