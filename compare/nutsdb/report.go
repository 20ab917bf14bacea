package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A row is a line of the tables: names of the run and its typical figures, by column.
type row map[string]any

var runColumns = []string{"dataset", "workload", "hint", "merge", "scatter", "transaction"}

// tables are the columns beside runColumns, as the merge benchmark of foldb names them.
var tables = []struct {
	title   string
	columns []string
}{
	{"merge", []string{"ms/op", "MiB/op", "allocs/op", "reduction_ratio_pct"}},
	{"load", []string{
		"read_ops", "read_ops_per_sec", "read_p50_us", "read_p95_us", "read_p99_us", "read_max_us",
		"write_ops", "write_ops_per_sec", "write_p50_us", "write_p95_us", "write_p99_us", "write_max_us",
		"baseline_ops_per_sec", "merge_ops_per_sec", "throughput_degradation_pct",
	}},
	{"after reopen", []string{"live_keys", "readable", "stale", "deleted_keys", "gone"}},
}

// typical is the median of each figure; of what is a maximum the largest, and of what survived a
// merge the worst.
func typical(samples []sample) sample {
	gathered := map[string][]float64{}
	for _, s := range samples {
		for name, figure := range s {
			gathered[name] = append(gathered[name], figure)
		}
	}
	t := sample{}
	for name, figures := range gathered {
		slices.Sort(figures)
		last := len(figures) - 1
		switch name {
		case "readable", "gone":
			t[name] = figures[0]
		case "stale", "read_max_us", "write_max_us", "load_errors":
			t[name] = figures[last]
		default:
			t[name] = (figures[last/2] + figures[last-last/2]) / 2
		}
	}
	return t
}

func newRow(b bench, w workload, samples []sample) row {
	r := row{
		"dataset": b.plan.name, "workload": w.name, "hint": b.flags.hint, "merge": b.flags.merge,
		"scatter": b.flags.scatter, "transaction": b.flags.transaction, "reps": b.flags.reps,
	}
	for name, figure := range typical(samples) {
		r[name] = figure
	}
	return r
}

func writeJSON(out io.Writer, rows []row) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(rows)
}

func writeMarkdown(out io.Writer, rows []row) error {
	var page strings.Builder
	for _, table := range tables {
		filled := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			return !slices.ContainsFunc(table.columns, func(c string) bool { return r[c] != nil })
		})
		if len(filled) == 0 {
			continue
		}
		columns := slices.Concat(runColumns, table.columns)
		fmt.Fprintf(&page, "\n**%s**\n\n| %s |\n|%s\n", table.title, strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
		for _, r := range filled {
			page.WriteString("|")
			for _, c := range columns {
				page.WriteString(" " + cell(r[c]) + " |")
			}
			page.WriteString("\n")
		}
	}
	_, err := io.WriteString(out, strings.TrimPrefix(page.String(), "\n"))
	return err
}

// cell shows two decimals of small figures and none of others; a column that does not apply is empty.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		if v == math.Trunc(v) || math.Abs(v) >= 1000 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprint(v)
	}
}
