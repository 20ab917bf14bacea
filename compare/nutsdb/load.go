package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nutsdb/nutsdb"
)

// latencies hold nanoseconds, to three digits, of every operation of one kind.
type latencies struct{ *hdrhistogram.Histogram }

func newLatencies() latencies {
	return latencies{hdrhistogram.New(1, int64(time.Minute), 3)}
}

func (l latencies) record(took time.Duration) {
	// Longer than the histogram's minute counts as a minute.
	_ = l.RecordValue(min(max(1, int64(took)), int64(time.Minute)))
}

// into adds `read_p50_us` and so on, in microseconds, and what the percentiles rest on, `read_ops`.
func (l latencies) into(s sample, kind string, elapsed time.Duration) {
	s[kind+"_ops"] = float64(l.TotalCount())
	s[kind+"_ops_per_sec"] = float64(l.TotalCount()) / elapsed.Seconds()
	s[kind+"_p50_us"] = float64(l.ValueAtQuantile(50)) / 1e3
	s[kind+"_p95_us"] = float64(l.ValueAtQuantile(95)) / 1e3
	s[kind+"_p99_us"] = float64(l.ValueAtQuantile(99)) / 1e3
	s[kind+"_max_us"] = float64(l.Max()) / 1e3
}

// A load is what readers and writers did, over as many merges as it took.
type load struct {
	reads, writes latencies
	errors        int64
	elapsed       time.Duration
}

func newLoad() *load { return &load{reads: newLatencies(), writes: newLatencies()} }

func (l *load) opsPerSec() float64 {
	return float64(l.reads.TotalCount()+l.writes.TotalCount()) / l.elapsed.Seconds()
}

// during runs the workload's readers and writer on the hot keys while do runs, times every
// operation, and adds it all up in l. The writer counts a key's version when its commit is there.
// It returns how long do took.
func (l *load) during(db *nutsdb.DB, p plan, w workload, versions []uint32, do func() error) (time.Duration, error) {
	var start, done sync.WaitGroup
	var stop atomic.Bool
	var failed atomic.Int64
	var parts []*load
	// Made beforehand: what an operation needs is not to be counted as the database's.
	keys := make([][]byte, len(p.hot))
	for i, k := range p.hot {
		keys[i] = key(k)
	}
	start.Add(1)
	spawn := func(operation func(part *load, hot int) error) {
		part, rng := newLoad(), rand.New(rand.NewPCG(scatterSeed, uint64(len(parts))))
		parts = append(parts, part)
		done.Add(1)
		go func() {
			defer done.Done()
			start.Wait()
			for !stop.Load() {
				if operation(part, rng.IntN(len(keys))) != nil {
					failed.Add(1)
				}
			}
		}()
	}
	for range w.readers {
		spawn(func(part *load, hot int) error {
			began := time.Now()
			err := db.View(func(tx *nutsdb.Tx) error { _, err := tx.Get(bucket, keys[hot]); return err })
			part.reads.record(time.Since(began))
			return err
		})
	}
	for range w.writers {
		spawn(func(part *load, hot int) error {
			k := p.hot[hot]
			v := value(k, versions[k]+1, p.valueBytes)
			began := time.Now()
			err := db.Update(func(tx *nutsdb.Tx) error { return tx.Put(bucket, keys[hot], v, nutsdb.Persistent) })
			part.writes.record(time.Since(began))
			if err == nil {
				versions[k]++
			}
			return err
		})
	}
	began := time.Now()
	start.Done()
	err := do()
	took := time.Since(began)
	stop.Store(true)
	done.Wait()
	l.elapsed += time.Since(began)
	l.errors += failed.Load()
	for _, part := range parts {
		l.reads.Merge(part.reads.Histogram)
		l.writes.Merge(part.writes.Histogram)
	}
	return took, err
}
