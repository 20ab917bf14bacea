package main

import (
	"bytes"
	"slices"
	"testing"
)

func TestPlanHasTheSharesOfTheMatrix(t *testing.T) {
	for _, scatter := range []bool{false, true} {
		for _, d := range datasets {
			p := newPlan(d, scatter)
			if len(p.overwritten) != d.keys*33/100 || len(p.deleted) != d.keys/10 || len(p.live) != d.keys*9/10 {
				t.Errorf("%s: %d overwritten, %d deleted, %d live", d.name, len(p.overwritten), len(p.deleted), len(p.live))
			}
			if len(p.hot) != min(d.keys/100, 10_000) || !slices.IsSorted(p.hot) {
				t.Errorf("%s: %d hot keys", d.name, len(p.hot))
			}
			seen := make([]bool, d.keys)
			for _, k := range slices.Concat(p.overwritten, p.deleted) {
				if seen[k] {
					t.Fatalf("%s: key %d is overwritten and deleted, or one of them twice", d.name, k)
				}
				seen[k] = true
			}
			for _, k := range p.hot {
				if _, live := slices.BinarySearch(p.live, k); !live {
					t.Fatalf("%s: hot key %d was deleted", d.name, k)
				}
			}
		}
	}
}

func TestPlanIsAPrefixUnlessScattered(t *testing.T) {
	p := newPlan(datasets[0], false)
	if p.overwritten[0] != 0 || p.overwritten[32_999] != 32_999 || p.deleted[0] != 33_000 || p.deleted[9_999] != 42_999 {
		t.Error("the overwritten and deleted keys are not the first ones")
	}
	scattered := newPlan(datasets[0], true)
	inPrefix := 0
	for _, k := range scattered.overwritten {
		if k < 33_000 {
			inPrefix++
		}
	}
	if inPrefix < 9_000 || inPrefix > 13_000 {
		t.Errorf("%d of 33000 scattered keys lie in the first third", inPrefix)
	}
	if again := newPlan(datasets[0], true); !slices.Equal(scattered.overwritten, again.overwritten) {
		t.Error("a second plan has other keys")
	}
}

func TestKeysAreInOrderAndValuesDiffer(t *testing.T) {
	if len(key(7)) != 16 || bytes.Compare(key(9), key(10)) >= 0 {
		t.Error("keys are not 16 bytes in order")
	}
	v := value(7, 0, 128)
	if len(v) != 128 || !bytes.Equal(v, value(7, 0, 128)) {
		t.Error("a value is not the same when drawn again")
	}
	if bytes.Equal(v, value(7, 1, 128)) || bytes.Equal(v, value(8, 0, 128)) {
		t.Error("two versions or two keys have one value")
	}
}
