package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"
)

// minimumLoad is how long the load of a repetition must run; merges that end sooner are repeated.
const minimumLoad = 3 * time.Second

// A workload is what goes on while the merge does.
type workload struct {
	name             string
	readers, writers int
}

var workloads = []workload{{"baseline", 0, 0}, {"read", 2, 0}, {"write", 0, 1}, {"readwrite", 2, 1}}

func (w workload) loaded() bool { return w.readers+w.writers > 0 }

// A sample is what was measured, by the names of the tables.
type sample map[string]float64

// A bench merges copies of the database in prepared, which is never opened itself.
type bench struct {
	flags    flags
	plan     plan
	prepared string
}

// repetition measures the load alone, on a copy of its own, and then merges one copy after
// another until the load ran long enough. Figures of the merge are the typical ones of these.
func (b *bench) repetition(w workload) (sample, error) {
	alone := newLoad()
	if w.loaded() {
		if err := b.loadAlone(w, alone); err != nil {
			return nil, err
		}
	}
	var merges []sample
	beside := newLoad()
	for len(merges) == 0 || w.loaded() && beside.elapsed < minimumLoad {
		one, err := b.merge(w, beside)
		if err != nil {
			return nil, err
		}
		merges = append(merges, one)
	}
	s := typical(merges)
	s["merges"] = float64(len(merges))
	if w.readers > 0 {
		beside.reads.into(s, "read", beside.elapsed)
	}
	if w.writers > 0 {
		beside.writes.into(s, "write", beside.elapsed)
	}
	if w.loaded() {
		s["load_errors"] = float64(beside.errors)
		s["baseline_ops_per_sec"] = alone.opsPerSec()
		s["merge_ops_per_sec"] = beside.opsPerSec()
		s["throughput_degradation_pct"] = 100 * (1 - beside.opsPerSec()/alone.opsPerSec())
	}
	return s, nil
}

func (b *bench) loadAlone(w workload, alone *load) error {
	return b.withCopy(func(dir string) error {
		db, err := open(dir, b.plan.dataset, b.flags, true)
		if err != nil {
			return err
		}
		_, err = alone.during(db, b.plan, w, b.plan.versions(), func() error { time.Sleep(minimumLoad); return nil })
		if err != nil {
			return err
		}
		return db.Close()
	})
}

// merge merges one copy under the load and then counts what a reopened database still has.
// Allocations are those of the whole process from the load's start to its end.
func (b *bench) merge(w workload, beside *load) (s sample, err error) {
	err = b.withCopy(func(dir string) error {
		before, err := diskBytes(dir)
		if err != nil {
			return err
		}
		db, err := open(dir, b.plan.dataset, b.flags, true)
		if err != nil {
			return err
		}
		versions := b.plan.versions()
		var idle, merged runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&idle)
		took, err := beside.during(db, b.plan, w, versions, db.Merge)
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		runtime.ReadMemStats(&merged)
		if err := db.Close(); err != nil {
			return err
		}
		after, err := diskBytes(dir)
		if err != nil {
			return err
		}
		s = sample{
			"ms/op":               took.Seconds() * 1e3,
			"MiB/op":              float64(merged.TotalAlloc-idle.TotalAlloc) / (1 << 20),
			"allocs/op":           float64(merged.Mallocs - idle.Mallocs),
			"bytes_before":        float64(before),
			"bytes_after":         float64(after),
			"reduction_ratio_pct": 100 * float64(before-after) / float64(before),
		}
		b.countReopened(dir, versions, s)
		return nil
	})
	return s, err
}

// withCopy runs do on a fresh copy of the prepared database and removes it. The memory of a closed
// database is given back, so that it is not collected while the next one is measured.
func (b *bench) withCopy(do func(dir string) error) error {
	dir, err := os.MkdirTemp(b.flags.dir, "copy-")
	if err != nil {
		return err
	}
	defer debug.FreeOSMemory()
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "db")
	if err := copyDatabase(b.prepared, copied); err != nil {
		return err
	}
	return do(copied)
}
