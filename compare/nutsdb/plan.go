package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// A dataset of the merge matrix; segmentBytes is what NutsDB calls SegmentSize.
type dataset struct {
	name         string
	keys         int
	valueBytes   int
	segmentBytes int64
}

var datasets = []dataset{
	{"small-100k-128b", 100_000, 128, 8 << 20},
	{"medium-500k-128b", 500_000, 128, 16 << 20},
	{"large-1m-512b", 1_000_000, 512, 32 << 20},
}

const (
	overwrittenPercent = 33
	deletedPercent     = 10
	maxHotKeys         = 10_000
	scatterSeed        = 0x5eed
)

// A plan says what is done to which key before the merge, and so what must be there after it.
//
// Every key is inserted once as version 0. The overwritten ones are put again as version 1, the
// deleted ones are deleted; no key is both. With the first four keys of ten overwritten and the
// next deleted, key 0 has `0.PUT.0 0.PUT.1` and key 4 `4.PUT.0 4.DEL`.
type plan struct {
	dataset
	overwritten []int
	deleted     []int
	live        []int // in order of keys, overwritten ones included
	hot         []int // a share of live at equal distances: what the concurrent load touches
}

// newPlan takes the first keys, or with scatter the same shares at random over all of them.
func newPlan(d dataset, scatter bool) plan {
	order := make([]int, d.keys)
	for i := range order {
		order[i] = i
	}
	if scatter {
		rng := rand.New(rand.NewPCG(scatterSeed, 0))
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	overwritten := d.keys * overwrittenPercent / 100
	deleted := d.keys * deletedPercent / 100
	p := plan{dataset: d, overwritten: order[:overwritten], deleted: order[overwritten : overwritten+deleted]}

	isDeleted := make([]bool, d.keys)
	for _, k := range p.deleted {
		isDeleted[k] = true
	}
	for k := range d.keys {
		if !isDeleted[k] {
			p.live = append(p.live, k)
		}
	}
	hot := max(1, min(d.keys/100, maxHotKeys))
	for i := range hot {
		p.hot = append(p.hot, p.live[i*len(p.live)/hot])
	}
	return p
}

// versions are the live keys' as the plan leaves them, by key; a writer counts its key's on.
func (p *plan) versions() []uint32 {
	versions := make([]uint32, p.keys)
	for _, k := range p.overwritten {
		versions[k] = 1
	}
	return versions
}

// key is 16 bytes whose order is that of the numbers.
func key(k int) []byte {
	return fmt.Appendf(make([]byte, 0, 16), "%016d", k)
}

// value fills a new slice with bytes that only this key and version have (splitmix64, Steele,
// Lea and Flood 2014). NutsDB keeps the slice, so it cannot be used again.
func value(k int, version uint32, size int) []byte {
	state := uint64(k)<<32 | uint64(version)
	v := make([]byte, size)
	for at := 0; at < size; at += 8 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(v[at:], z^z>>31)
	}
	return v
}
