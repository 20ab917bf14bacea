package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/nutsdb/nutsdb"
)

const bucket = "merge"

// open opens with NutsDB's defaults but for what the matrix sets, so values stay in memory too.
// No merge starts by itself. synced is for every commit, those of the older merge included.
func open(dir string, d dataset, f flags, synced bool) (*nutsdb.DB, error) {
	options := nutsdb.DefaultOptions
	options.Dir = dir
	options.SegmentSize = d.segmentBytes
	options.SyncEnable = synced
	options.MergeInterval = 0
	options.EnableHintFile = f.hint == "on"
	options.EnableMergeV2 = f.merge == "new"
	return nutsdb.Open(options)
}

// prepare leaves the plan's data and its dead records in dir, closed and on disk. Each transaction
// holds f.transaction records and never spans two phases.
func prepare(dir string, p plan, f flags) error {
	db, err := open(dir, p.dataset, f, false)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *nutsdb.Tx) error { return tx.NewKVBucket(bucket) })
	all := make([]int, p.keys)
	for i := range all {
		all[i] = i
	}
	put := func(version uint32) func(*nutsdb.Tx, int) error {
		return func(tx *nutsdb.Tx, k int) error {
			return tx.Put(bucket, key(k), value(k, version, p.valueBytes), nutsdb.Persistent)
		}
	}
	remove := func(tx *nutsdb.Tx, k int) error { return tx.Delete(bucket, key(k)) }
	if err == nil {
		err = errors.Join(phase(db, f, all, put(0)), phase(db, f, p.overwritten, put(1)), phase(db, f, p.deleted, remove))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return syncFiles(dir)
}

func phase(db *nutsdb.DB, f flags, keys []int, do func(*nutsdb.Tx, int) error) error {
	for from := 0; from < len(keys); from += f.transaction {
		err := db.Update(func(tx *nutsdb.Tx) error {
			for _, k := range keys[from:min(from+f.transaction, len(keys))] {
				if err := do(tx, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// diskBytes is what all files occupy. NutsDB extends each data file to the segment's size at once;
// the holes of such a file are not counted.
func diskBytes(dir string) (total int64, err error) {
	err = eachFile(dir, func(_ string, info fs.FileInfo) error {
		total += info.Sys().(*syscall.Stat_t).Blocks * 512
		return nil
	})
	return total, err
}

// copyDatabase makes a copy with the same holes and syncs it, so that writing it back disturbs
// nothing that is measured.
func copyDatabase(from, to string) error {
	if said, err := exec.Command("cp", "-r", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, bytes.TrimSpace(said))
	}
	return syncFiles(to)
}

func syncFiles(dir string) error {
	return eachFile(dir, func(path string, _ fs.FileInfo) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
}

func eachFile(dir string, do func(path string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return do(path, info)
	})
}
