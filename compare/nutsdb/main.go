// Command nutsdb-merge runs NutsDB's merge on the job of foldb's merge benchmark: the same keys,
// shares of overwritten and deleted ones, load beside it and columns.
//
// Progress is told on stderr, the tables go to stdout. What a merge loses is a figure in them;
// the program fails (1) only where NutsDB returns an error.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	f := parseFlags()
	rows, err := runMatrix(f)
	if err == nil && f.format == "json" {
		err = writeJSON(os.Stdout, rows)
	} else if err == nil {
		err = writeMarkdown(os.Stdout, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runMatrix works in a new directory that is gone when it returns.
func runMatrix(f flags) (rows []row, err error) {
	if f.dir, err = os.MkdirTemp(f.dir, "nutsdb-merge-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(f.dir)
	for _, d := range datasets {
		if f.dataset != d.name && f.dataset != "all" {
			continue
		}
		b := bench{flags: f, plan: newPlan(d, f.scatter), prepared: filepath.Join(f.dir, d.name)}
		fmt.Fprintf(os.Stderr, "%s: writing %d keys\n", d.name, d.keys)
		if err := prepare(b.prepared, b.plan, f); err != nil {
			return nil, fmt.Errorf("writing %s: %w", d.name, err)
		}
		of, err := b.runWorkloads()
		if err != nil {
			return nil, err
		}
		rows = append(rows, of...)
		if err := os.RemoveAll(b.prepared); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (b *bench) runWorkloads() (rows []row, err error) {
	for _, w := range workloads {
		if b.flags.workload != w.name && b.flags.workload != "all" {
			continue
		}
		var samples []sample
		for rep := range b.flags.reps {
			fmt.Fprintf(os.Stderr, "%s, %s, merge %s, repetition %d of %d\n", b.plan.name, w.name, b.flags.merge, rep+1, b.flags.reps)
			s, err := b.repetition(w)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", b.plan.name, w.name, err)
			}
			samples = append(samples, s)
		}
		rows = append(rows, newRow(*b, w, samples))
	}
	return rows, nil
}
