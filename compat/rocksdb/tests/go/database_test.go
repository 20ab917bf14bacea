// Package rocksdb has programs over the module grocksdb, linked to our library; see
// ../drop_in/main.rs.
package rocksdb

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"
)

var (
	reads  = grocksdb.NewDefaultReadOptions()
	writes = grocksdb.NewDefaultWriteOptions()
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func creating() *grocksdb.Options {
	options := grocksdb.NewDefaultOptions()
	options.SetCreateIfMissing(true)
	options.SetCreateIfMissingColumnFamilies(true)
	return options
}

func opened(t *testing.T, options *grocksdb.Options, path string) *grocksdb.DB {
	t.Helper()
	db, err := grocksdb.OpenDb(options, path)
	must(t, err)
	return db
}

// holds fails unless a read returned the value. An empty text stands for no value.
func holds(t *testing.T, read []byte, err error, value string) {
	t.Helper()
	must(t, err)
	if string(read) != value {
		t.Fatalf("found %q, expected %q", read, value)
	}
}

func keys(iterator *grocksdb.Iterator) string {
	defer iterator.Close()
	var found []string
	for iterator.SeekToFirst(); iterator.Valid(); iterator.Next() {
		key := iterator.Key()
		found = append(found, string(key.Data()))
		key.Free()
	}
	return strings.Join(found, " ")
}

// join joins a value and operands with commas.
type join struct{}

func (join) Name() string { return "joining" }

func (join) FullMerge(_, value []byte, operands [][]byte) ([]byte, bool) {
	if value != nil {
		operands = append([][]byte{value}, operands...)
	}
	return bytes.Join(operands, []byte(",")), true
}

func TestValuesAreThereAfterOpeningAnew(t *testing.T) {
	path := t.TempDir()
	db := opened(t, creating(), path)
	must(t, db.Put(writes, []byte("key"), []byte("value")))
	must(t, db.Put(writes, []byte("deleted"), []byte("value")))
	must(t, db.Delete(writes, []byte("deleted")))
	db.Close()
	db = opened(t, grocksdb.NewDefaultOptions(), path)
	defer db.Close()
	value, err := db.GetBytes(reads, []byte("key"))
	holds(t, value, err, "value")
	value, err = db.GetBytes(reads, []byte("deleted"))
	holds(t, value, err, "")
}

func TestMissingDatabaseIsNamed(t *testing.T) {
	_, err := grocksdb.OpenDb(grocksdb.NewDefaultOptions(), filepath.Join(t.TempDir(), "none"))
	if err == nil || !strings.HasPrefix(err.Error(), "Invalid argument: ") {
		t.Fatal(err)
	}
}

func TestOperandsAreJoined(t *testing.T) {
	options := creating()
	options.SetMergeOperator(join{})
	db := opened(t, options, t.TempDir())
	defer db.Close()
	for _, operand := range []string{"a", "b", "c"} {
		must(t, db.Merge(writes, []byte("key"), []byte(operand)))
	}
	value, err := db.GetBytes(reads, []byte("key"))
	holds(t, value, err, "a,b,c")
	db.CompactRange(grocksdb.Range{})
	value, err = db.GetBytes(reads, []byte("key"))
	holds(t, value, err, "a,b,c")
}

func TestBatchIsAtomic(t *testing.T) {
	db := opened(t, creating(), t.TempDir())
	defer db.Close()
	batch := grocksdb.NewWriteBatch()
	defer batch.Destroy()
	batch.Put([]byte("a"), []byte("1"))
	batch.SetSavePoint()
	batch.Put([]byte("b"), []byte("2"))
	must(t, batch.RollbackToSavePoint())
	batch.Put([]byte("c"), []byte("3"))
	batch.Delete([]byte("d"))
	if count := batch.Count(); count != 3 {
		t.Fatal(count)
	}
	must(t, db.Write(writes, batch))
	if found := keys(db.NewIterator(reads)); found != "a c" {
		t.Fatal(found)
	}
}

func TestFamiliesKeepTheirKeysApart(t *testing.T) {
	path := t.TempDir()
	options := creating()
	all := []*grocksdb.Options{options, options}
	db, families, err := grocksdb.OpenDbColumnFamilies(options, path, []string{"default", "one"}, all)
	must(t, err)
	must(t, db.PutCF(writes, families[1], []byte("key"), []byte("of one")))
	value, err := db.GetBytes(reads, []byte("key"))
	holds(t, value, err, "")
	inOne, err := db.GetCF(reads, families[1], []byte("key"))
	must(t, err)
	holds(t, inOne.Data(), nil, "of one")
	inOne.Free()
	for _, family := range families {
		family.Destroy()
	}
	db.Close()
	names, err := grocksdb.ListColumnFamilies(options, path)
	must(t, err)
	if found := strings.Join(names, " "); found != "default one" {
		t.Fatal(found)
	}
}

func TestIteratorKeepsBoundsAndSnapshot(t *testing.T) {
	db := opened(t, creating(), t.TempDir())
	defer db.Close()
	for _, key := range []string{"a", "b", "c", "d"} {
		must(t, db.Put(writes, []byte(key), []byte(key)))
	}
	snapshot := db.NewSnapshot()
	must(t, db.Put(writes, []byte("bb"), []byte("later")))
	bounded := grocksdb.NewDefaultReadOptions()
	defer bounded.Destroy()
	bounded.SetIterateLowerBound([]byte("b"))
	bounded.SetIterateUpperBound([]byte("d"))
	if found := keys(db.NewIterator(bounded)); found != "b bb c" {
		t.Fatal(found)
	}
	bounded.SetSnapshot(snapshot)
	if found := keys(db.NewIterator(bounded)); found != "b c" {
		t.Fatal(found)
	}
	db.ReleaseSnapshot(snapshot)
}

func TestPropertiesAreThere(t *testing.T) {
	db := opened(t, creating(), t.TempDir())
	defer db.Close()
	if count, there := db.GetIntProperty("rocksdb.num-snapshots"); !there || count != 0 {
		t.Fatal(count, there)
	}
	if db.GetProperty("rocksdb.stats") == "" || db.GetProperty("rocksdb.unknown") != "" {
		t.Fatal("properties")
	}
}
