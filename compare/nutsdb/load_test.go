package main

import (
	"maps"
	"math"
	"path/filepath"
	"testing"
	"time"
)

func TestPercentilesAreInMicroseconds(t *testing.T) {
	l := newLatencies()
	for us := range 1000 {
		l.record(time.Duration(us+1) * time.Microsecond)
	}
	l.record(time.Hour)
	s := sample{}
	l.into(s, "read", 2*time.Second)
	for name, want := range map[string]float64{
		"read_ops": 1001, "read_ops_per_sec": 500.5, "read_p50_us": 501, "read_p95_us": 951,
		"read_p99_us": 991, "read_max_us": 60e6,
	} {
		if math.Abs(s[name]-want) > want/500 {
			t.Errorf("%s is %v, not %v", name, s[name], want)
		}
	}
}

func TestTypicalIsTheMedianAndTheWorstOfLosses(t *testing.T) {
	got := typical([]sample{
		{"ms/op": 3, "MiB/op": 1, "readable": 9, "read_max_us": 5}, {"ms/op": 1, "MiB/op": 2, "readable": 7, "read_max_us": 8},
		{"ms/op": 2, "readable": 8, "read_max_us": 6},
	})
	if want := (sample{"ms/op": 2, "MiB/op": 1.5, "readable": 7, "read_max_us": 8}); !maps.Equal(got, want) {
		t.Error(got)
	}
}

// A merge of a small plan reclaims, and what the check counts is what the load left.
func TestMergeIsMeasuredAndChecked(t *testing.T) {
	d := dataset{"tiny", 2000, 128, 64 << 10}
	f := flags{merge: "new", hint: "on", transaction: 1, dir: t.TempDir()}
	p := newPlan(d, true)
	prepared := filepath.Join(t.TempDir(), "prepared")
	if err := prepare(prepared, p, f); err != nil {
		t.Fatal(err)
	}
	b := bench{flags: f, plan: p, prepared: prepared}
	s, err := b.merge(workloads[0], newLoad())
	if err != nil {
		t.Fatal(err)
	}
	if s["readable"] != 1800 || s["stale"] != 0 || s["gone"] != 200 || s["reduction_ratio_pct"] < 10 {
		t.Error(s)
	}
}
