package rocksdb

import (
	"path/filepath"
	"testing"

	"github.com/linxGnu/grocksdb"
)

func TestCheckpointIsADatabase(t *testing.T) {
	path := t.TempDir()
	db := opened(t, creating(), filepath.Join(path, "db"))
	defer db.Close()
	must(t, db.Put(writes, []byte("key"), []byte("old")))
	checkpoint, err := db.NewCheckpoint()
	must(t, err)
	defer checkpoint.Destroy()
	must(t, checkpoint.CreateCheckpoint(filepath.Join(path, "copy"), 0))
	must(t, db.Put(writes, []byte("key"), []byte("new")))
	copied := opened(t, grocksdb.NewDefaultOptions(), filepath.Join(path, "copy"))
	defer copied.Close()
	value, err := copied.GetBytes(reads, []byte("key"))
	holds(t, value, err, "old")
}

func TestEachBackupCanBeRestored(t *testing.T) {
	path := t.TempDir()
	db := opened(t, creating(), filepath.Join(path, "db"))
	defer db.Close()
	engine, err := grocksdb.CreateBackupEngineWithPath(db, filepath.Join(path, "backups"))
	must(t, err)
	defer engine.Close()
	for _, value := range []string{"one", "two"} {
		must(t, db.Put(writes, []byte("key"), []byte(value)))
		must(t, engine.CreateNewBackupFlush(true))
	}
	if backups := engine.GetInfo(); len(backups) != 2 || backups[0].ID != 1 {
		t.Fatal(backups)
	}
	restoring := grocksdb.NewRestoreOptions()
	defer restoring.Destroy()
	for id, expected := range []string{"one", "two"} {
		place := filepath.Join(path, expected)
		must(t, engine.RestoreDBFromBackup(place, place, restoring, uint32(id+1)))
		restored := opened(t, grocksdb.NewDefaultOptions(), place)
		value, err := restored.GetBytes(reads, []byte("key"))
		holds(t, value, err, expected)
		restored.Close()
	}
}

func TestTableIsIngested(t *testing.T) {
	path := t.TempDir()
	files := grocksdb.NewDefaultEnvOptions()
	defer files.Destroy()
	writer := grocksdb.NewSSTFileWriter(files, creating())
	defer writer.Destroy()
	table := filepath.Join(path, "table.sst")
	must(t, writer.Open(table))
	must(t, writer.Put([]byte("a"), []byte("of the table")))
	must(t, writer.Delete([]byte("b")))
	must(t, writer.Finish())
	db := opened(t, creating(), filepath.Join(path, "db"))
	defer db.Close()
	must(t, db.Put(writes, []byte("b"), []byte("old")))
	ingesting := grocksdb.NewDefaultIngestExternalFileOptions()
	defer ingesting.Destroy()
	must(t, db.IngestExternalFile([]string{table}, ingesting))
	if found := keys(db.NewIterator(reads)); found != "a" {
		t.Fatal(found)
	}
}
