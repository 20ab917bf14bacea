//! Tests that the worked example in the format page of the manifest is what the engine writes and
//! reads.

use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, MemFs};

use crate::files::FileNames;
use crate::fold::Definition;
use crate::settings::{CompactionPreset, Compression, KeyspaceSettings};
use crate::testing::worked_example::{assert_page_shows, bytes_on_the_page};
use crate::version::{Edit, FileFacts, Key, KeyRange, KeyspaceEdit, Manifest, TreeEdit, Upper};

const PAGE: &str = include_str!("../../../../../docs/format/manifest.md");

fn key(bytes: &str) -> Key {
    bytes.as_bytes().into()
}

/// Makes a table with 40 bytes for each record, and these smallest and largest keys and sequence
/// numbers.
fn table(number: u64, records: u64, keys: [&str; 2], seqnos: [u64; 2]) -> FileFacts {
    FileFacts {
        number,
        len: 40 * records,
        entries: records,
        deletes: 1,
        merges: 2,
        smallest: key(keys[0]),
        range_deletes: 0,
        range_deleted: 0,
        end: Upper::Included(key(keys[1])),
        smallest_seqno: seqnos[0],
        largest_seqno: seqnos[1],
        kept_apart: 0,
        loaded: None,
        samples: std::iter::once(key(keys[0])).collect(),
        references: Arc::default(),
        expiry: None,
    }
}

/// Adds to the table a range tombstone up to "t", which deletes about 40 records.
fn with_range_tombstone(table: FileFacts) -> FileFacts {
    FileFacts { range_deletes: 1, range_deleted: 40, end: Upper::Excluded(key("t")), ..table }
}

fn whole(run: u64, file: FileFacts) -> TreeEdit {
    let (lo, hi) = (Arc::clone(&file.smallest), file.end.clone());
    TreeEdit::Insert { run, file, lo, hi }
}

fn carve(run: u64, from: Option<&str>, before: &str) -> TreeEdit {
    let range = KeyRange { lo: from.map(key), hi: Some(Upper::Excluded(key(before))) };
    TreeEdit::Carve { run, range }
}

/// Returns three edits: the description of a tree with one table, a flush, and a slice of the
/// compaction of both.
fn example() -> [Edit; 3] {
    let operator =
        Definition { id: 128, name: "stringappend".to_owned(), version: 0, parameters: vec![b';'] };
    let default = KeyspaceEdit {
        comparator: Some("foldb.bytewise".to_owned()),
        num_levels: Some(7),
        default_operator: Some(1),
        flushed_through: Some(299),
        dead_share: Some(1.0),
        tree: vec![
            TreeEdit::NewRun { level: 6, run: 1, before: None },
            whole(1, table(3, 100, ["a", "z"], [0, 0])),
        ],
        ..KeyspaceEdit::default()
    };
    let lists = KeyspaceEdit {
        id: 2,
        name: Some("lists".to_owned()),
        comparator: Some("foldb.bytewise".to_owned()),
        num_levels: Some(7),
        default_operator: Some(128),
        settings: Some(KeyspaceSettings {
            compression: Compression::None,
            bloom_bits: 10,
            compaction: CompactionPreset::Leveled,
            value_separation_min: None,
            expiry: None,
        }),
        filter_policy: None,
        schema: None,
        flushed_through: Some(299),
        dead_share: Some(1.0),
        tree: Vec::new(),
    };
    let description = Edit {
        database: Some(0xdb),
        log: Some(4),
        next_file: Some(6),
        next_run: Some(2),
        last_seqno: Some(300),
        next_keyspace: Some(3),
        operators: vec![operator],
        totals: Some(vec![0; 3]),
        keyspaces: vec![default, lists],
        dropped: Vec::new(),
        feed_end: None,
        time: None,
    };
    let flush_of_default = KeyspaceEdit {
        flushed_through: Some(304),
        tree: vec![
            TreeEdit::NewRun { level: 0, run: 2, before: None },
            whole(2, with_range_tombstone(table(7, 5, ["b", "s"], [300, 304]))),
        ],
        ..KeyspaceEdit::default()
    };
    // The table's one operand was folded.
    let flush_of_lists =
        KeyspaceEdit { id: 2, flushed_through: Some(304), ..KeyspaceEdit::default() };
    let flush = Edit {
        log: Some(6),
        next_file: Some(8),
        next_run: Some(3),
        last_seqno: Some(305),
        keyspaces: vec![flush_of_default, flush_of_lists],
        ..Edit::default()
    };
    let tree = vec![
        carve(2, Some("a"), "m"),
        carve(1, Some("a"), "m"),
        whole(1, table(8, 60, ["a", "k"], [0, 0])),
    ];
    let slice = Edit {
        next_file: Some(9),
        keyspaces: vec![KeyspaceEdit::of_tree(0, tree)],
        ..Edit::default()
    };
    [description, flush, slice]
}

fn names() -> FileNames {
    FileNames::new(Path::new("db"))
}

/// Format version 1, byte for byte. If this fails, the format changed: raise its version.
#[test]
fn page_shows_what_is_written() {
    let mem = MemFs::new();
    let fs: Arc<dyn FileSystem> = Arc::new(mem.clone());
    mem.create_dir_all(names().directory()).unwrap();
    let [description, flush, slice] = example();
    let mut manifest = Manifest::create(&fs, &names(), 5, 0xdb, &description).unwrap();
    for edit in [&flush, &slice] {
        manifest.append(edit).unwrap();
        manifest.sync().unwrap();
    }
    manifest.trim().unwrap();
    assert_eq!(mem.read(&names().current()).unwrap(), b"MANIFEST-000005\n");
    assert_page_shows(PAGE, &mem.read(&names().manifest(5)).unwrap());
}

#[test]
fn page_can_be_read() {
    let fs = MemFs::new();
    fs.create_dir_all(names().directory()).unwrap();
    for (path, bytes) in [
        (names().current(), b"MANIFEST-000005\n".to_vec()),
        (names().manifest(5), bytes_on_the_page(PAGE)),
    ] {
        fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
    }
    let recovered = Manifest::recover(&fs, &names(), None).unwrap().unwrap();
    assert_eq!((recovered.number, &recovered.edits[..]), (5, &example()[..]));
}

/// The page shows the trees that the edits make.
#[test]
fn page_shows_the_trees_that_the_edits_make() {
    use crate::key::BytewiseComparator;
    use crate::segment::SegmentFiles;
    use crate::version::Version;

    let segment_files = Arc::new(SegmentFiles::default());
    let mut version = Version::empty(7);
    for edit in example() {
        version =
            version.apply(&edit.keyspaces[0].tree, &BytewiseComparator, &segment_files).unwrap();
        let mut drawn = String::new();
        for (level, run) in version.runs() {
            let tables: Vec<String> = run
                .tables
                .iter()
                .map(|table| {
                    let text = |key: &Key| String::from_utf8_lossy(key).into_owned();
                    format!("{:?} [{}..{}]", table.file, text(&table.lo), text(table.hi.key()))
                })
                .collect();
            drawn += &format!("level {level}  run {}  {}\n", run.id, tables.join("  "));
        }
        assert!(PAGE.contains(&drawn), "the page does not show\n{drawn}");
    }
}
