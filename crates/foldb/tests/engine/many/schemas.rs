//! Schemas: how a program encodes keys and values, which the engine stores, compares and shows.

use foldb::env::MemFs;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, ReadOnlyDb};

use crate::support::{PATH, assert_error, open, options, reopen};

const DAYS: &str = "acme/1 keys=u32 values=raw";

fn with_schema(schema: &str) -> KeyspaceOptions {
    KeyspaceOptions { schema: Some(schema.to_owned()), ..KeyspaceOptions::default() }
}

/// Options that give the keyspace `default` a schema.
fn given(fs: &MemFs, schema: &str) -> Options {
    Options { default: with_schema(schema), ..options(fs) }
}

#[track_caller]
fn assert_schemas(db: &Db, default: Option<&str>) {
    assert_eq!(db.default_keyspace().schema(), default);
    assert_eq!(db.keyspace("days").unwrap().schema(), Some(DAYS));
    assert_eq!(db.keyspace("plain").unwrap().schema(), None);
    let named = db.keyspace("days").unwrap().options().schema;
    assert_eq!(named.as_deref(), Some(DAYS));
}

fn make(fs: &MemFs) -> Db {
    let db = Db::open(PATH, given(fs, "acme/1 default")).unwrap();
    db.create_keyspace("days", with_schema(DAYS)).unwrap().put("key", "value").unwrap();
    db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    db
}

#[test]
fn a_schema_is_kept_by_reopens_and_new_manifests() {
    let fs = MemFs::new();
    let db = make(&fs);
    assert_schemas(&db, Some("acme/1 default"));
    // An open after a kill begins a manifest, and one after a clean close keeps the old one.
    drop(db);
    for _ in 0..2 {
        let killed = fs.kill();
        let db = reopen(&killed).unwrap();
        assert_schemas(&db, Some("acme/1 default"));
        db.flush().unwrap();
        db.verify().unwrap();
        db.close().unwrap();
        assert_schemas(&reopen(&killed).unwrap(), Some("acme/1 default"));
        let shown = ReadOnlyDb::open(PATH, options(&killed)).unwrap();
        assert_eq!(shown.keyspace("days").unwrap().schema(), Some(DAYS));
    }
}

#[test]
fn another_schema_is_refused_with_both_texts() {
    let fs = MemFs::new();
    let db = make(&fs);
    let error = db.keyspace_or_create("days", with_schema("acme/2")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let expected = format!(
        "keyspace 'days' was created with the schema '{DAYS}', and is opened with the schema \
         'acme/2'"
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
    let error = db.keyspace_or_create("plain", with_schema("acme/2")).unwrap_err();
    assert!(error.to_string().starts_with("keyspace 'plain' has no schema, and is"), "{error}");
    // The same text, and none at all.
    db.keyspace_or_create("days", with_schema(DAYS)).unwrap();
    db.keyspace_or_create("days", KeyspaceOptions::default()).unwrap();
    db.close().unwrap();
    drop(db);
    assert_error(Db::open(PATH, given(&fs, "acme/2")), ErrorKind::InvalidArgument, None);
    let shown = ReadOnlyDb::open(PATH, given(&fs, "acme/2"));
    assert_error(shown, ErrorKind::InvalidArgument, None);
    Db::open(PATH, given(&fs, "acme/1 default")).unwrap();
}

/// A database that was created without a schema may hold keys of any encoding.
#[test]
fn a_database_without_a_schema_takes_none_later() {
    let fs = MemFs::new();
    open(&fs).unwrap().put("key", "value").unwrap();
    assert_error(Db::open(PATH, given(&fs, "acme/1")), ErrorKind::InvalidArgument, None);
    let db = reopen(&fs).unwrap();
    assert_eq!(db.default_keyspace().schema(), None);
    assert!(db.get("key").unwrap().is_some());
}

#[test]
fn a_keyspace_does_not_take_the_schema_of_default() {
    let db = make(&MemFs::new());
    let new = db.create_keyspace("new", KeyspaceOptions::default()).unwrap();
    assert_eq!(new.schema(), None);
}

#[test]
fn a_schema_that_is_too_long_creates_nothing() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let long = with_schema(&"s".repeat(1025));
    assert_error(db.create_keyspace("long", long), ErrorKind::InvalidArgument, None);
    assert_eq!(db.keyspaces(), ["default"]);
    db.create_keyspace("longest", with_schema(&"s".repeat(1024))).unwrap();
}

#[test]
fn copies_keep_the_schemas() {
    let fs = MemFs::new();
    let db = make(&fs);
    db.checkpoint("copy").unwrap();
    let plain = Options { default: KeyspaceOptions::default(), ..options(&fs) };
    assert_schemas(&Db::open("copy", plain.clone()).unwrap(), Some("acme/1 default"));
    let mut stream = Vec::new();
    db.dump(&mut stream).unwrap();
    Db::restore(&stream[..], "restored", plain.clone()).unwrap();
    let restored = Db::open("restored", plain.clone()).unwrap();
    assert_schemas(&restored, Some("acme/1 default"));
    restored.verify().unwrap();
    // The dump decides, not the options of the restore.
    let without = MemFs::new();
    let mut stream = Vec::new();
    open(&without).unwrap().dump(&mut stream).unwrap();
    Db::restore(&stream[..], "bare", given(&fs, "acme/1")).unwrap();
    assert_eq!(Db::open("bare", plain).unwrap().default_keyspace().schema(), None);
}
