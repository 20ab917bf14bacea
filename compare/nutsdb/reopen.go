package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/nutsdb/nutsdb"
)

// countReopened opens what a merge left and reads every key of the plan. Losses are figures here,
// not failures:
//
//	readable  live keys that have a value at all
//	stale     of these, the ones whose value is not the last that was committed
//	gone      deleted keys that are not found
//
// A database that cannot be opened has none of them.
func (b *bench) countReopened(dir string, versions []uint32, s sample) {
	var readable, stale, gone int
	db, err := open(dir, b.plan.dataset, b.flags, true)
	if err == nil {
		err = db.View(func(tx *nutsdb.Tx) error {
			for _, k := range b.plan.live {
				v, err := tx.Get(bucket, key(k))
				if err != nil {
					continue
				}
				readable++
				if !bytes.Equal(v, value(k, versions[k], b.plan.valueBytes)) {
					stale++
				}
			}
			for _, k := range b.plan.deleted {
				if _, err := tx.Get(bucket, key(k)); err != nil {
					gone++
				}
			}
			return nil
		})
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reopening after the merge:", err)
	}
	s["live_keys"], s["readable"], s["stale"] = float64(len(b.plan.live)), float64(readable), float64(stale)
	s["deleted_keys"], s["gone"] = float64(len(b.plan.deleted)), float64(gone)
	fmt.Fprintf(os.Stderr, "  %.1f ms, after reopen %d of %d live keys can be read (%d stale), %d of %d deleted ones are gone\n",
		s["ms/op"], readable, len(b.plan.live), stale, gone, len(b.plan.deleted))
}
