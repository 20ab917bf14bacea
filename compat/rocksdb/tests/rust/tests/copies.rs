//! Checkpoints, backups, and tables that the program writes.

use foldb_rocksdb_crate::{creating, directory, joining};
use rocksdb::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{DB, Env, IngestExternalFileOptions, Options, SstFileWriter};

#[test]
fn a_checkpoint_is_a_database() {
    let dir = directory();
    let db = DB::open(&creating(), dir.path().join("db")).unwrap();
    db.put(b"key", b"old").unwrap();
    let copy = dir.path().join("copy");
    Checkpoint::new(&db).unwrap().create_checkpoint(&copy).unwrap();
    db.put(b"key", b"new").unwrap();
    let copied = DB::open(&Options::default(), &copy).unwrap();
    assert_eq!(copied.get(b"key").unwrap().unwrap(), b"old");
    copied.put(b"key", b"of the copy").unwrap();
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"new");
}

#[test]
fn each_backup_can_be_restored() {
    let dir = directory();
    let place = BackupEngineOptions::new(dir.path().join("backups")).unwrap();
    let mut engine = BackupEngine::open(&place, &Env::new().unwrap()).unwrap();
    let db = DB::open(&creating(), dir.path().join("db")).unwrap();
    for value in ["one", "two", "three"] {
        db.put(b"key", value).unwrap();
        engine.create_new_backup_flush(&db, true).unwrap();
    }
    drop(db);
    let backups = engine.get_backup_info();
    assert_eq!(backups.iter().map(|it| it.backup_id).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(backups.iter().all(|it| it.size > 0 && it.num_files > 0 && it.timestamp > 0));
    engine.verify_backup(2).unwrap();
    let restored = dir.path().join("restored");
    engine.restore_from_backup(&restored, &restored, &RestoreOptions::default(), 2).unwrap();
    let value = DB::open(&creating(), &restored).unwrap().get(b"key").unwrap();
    assert_eq!(value.unwrap(), b"two");
    engine.restore_from_latest_backup(&restored, &restored, &RestoreOptions::default()).unwrap();
    let value = DB::open(&creating(), &restored).unwrap().get(b"key").unwrap();
    assert_eq!(value.unwrap(), b"three");
    engine.purge_old_backups(1).unwrap();
    assert_eq!(engine.get_backup_info().len(), 1);
    assert!(engine.verify_backup(1).is_err());
}

#[test]
fn a_table_is_ingested() {
    let dir = directory();
    let options = joining();
    let table = dir.path().join("table.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(&table).unwrap();
    writer.put(b"a", b"of the table").unwrap();
    writer.delete(b"b").unwrap();
    writer.merge(b"c", b"more").unwrap();
    assert!(writer.put(b"a", b"out of order").is_err());
    writer.finish().unwrap();
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    for key in ["a", "b", "c"] {
        db.put(key, "old").unwrap();
    }
    let mut moving = IngestExternalFileOptions::default();
    moving.set_move_files(true);
    db.ingest_external_file_opts(&moving, vec![&table]).unwrap();
    assert!(!table.exists());
    assert_eq!(db.get(b"a").unwrap().unwrap(), b"of the table");
    assert_eq!(db.get(b"b").unwrap(), None);
    assert_eq!(db.get(b"c").unwrap().unwrap(), b"old,more");
}
