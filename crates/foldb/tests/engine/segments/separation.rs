//! Value segments: separated values read like any other, whatever happens to the files.

use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, KeyspaceOptions};

use crate::support;
use crate::support::segments::{check_all, key, open, put_all, segment_files, separating, value};
use crate::support::{PATH, assert_error, error_of, skipped_where_files_only_grow, steps};

#[test]
fn separated_values_read_like_others() {
    for hints in [true, false] {
        let fs = MemFs::new();
        let mut options = separating(&fs);
        options.knobs.value_hints = hints;
        let db = Db::open(PATH, options).unwrap();
        put_all(&db, 0..300, 0);
        db.put("small", "inline").unwrap();
        db.flush().unwrap();
        assert!(db.stats().segments.live_bytes > 300 * 200);
        assert!(db.stats().bytes_flush < 30_000, "the tree holds addresses");
        put_all(&db, (0..300).step_by(3), 1);
        (0..300).skip(1).step_by(3).for_each(|n| db.delete(key(n)).unwrap());
        db.flush().unwrap();
        let generation = |n| match n % 3 {
            0 => Some(1),
            1 => None,
            _ => Some(0),
        };
        db.delete("small").unwrap();
        check_all(&db, 300, generation);
        db.compact(..).unwrap();
        check_all(&db, 300, generation);
        drop(db);
        let db = open(&fs);
        check_all(&db, 300, generation);
        let explained = db.explain(key(0)).unwrap();
        assert_eq!(explained.records[0].bytes, 200);
        let chain = db.get_operands(key(0)).unwrap();
        assert!(
            matches!(chain.base(), foldb::operators::Base::Put(found) if **found == *value(0, 1))
        );
        db.verify().unwrap();
    }
}

#[test]
fn small_flushes_fill_one_segment_file_until_it_is_full() {
    let fs = MemFs::new();
    let db = open(&fs);
    for n in 0..40 {
        put_all(&db, n..n + 1, 0);
        db.flush().unwrap();
    }
    assert_eq!(segment_files(&fs).len(), 1, "40 flushes of 200 bytes");
    put_all(&db, 40..200, 0);
    db.flush().unwrap();
    assert!((3..=4).contains(&segment_files(&fs).len()), "{:?}", segment_files(&fs));
    check_all(&db, 200, |_| Some(0));
    drop(db);
    // A database appends to no file that another session created.
    let before = segment_files(&fs);
    let db = open(&fs);
    put_all(&db, 200..201, 0);
    db.flush().unwrap();
    assert_eq!(segment_files(&fs).len(), before.len() + 1);
    check_all(&db, 201, |_| Some(0));
}

#[test]
fn a_segment_without_a_live_value_goes_by_itself() {
    let fs = MemFs::new();
    let mut options = separating(&fs);
    options.knobs.segment_size = 4096;
    let db = Db::open(PATH, options).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let first = segment_files(&fs);
    put_all(&db, 0..100, 1);
    db.compact(..).unwrap();
    for name in &first {
        assert!(segment_files(&fs).contains(name), "the snapshot's");
    }
    assert_eq!(snapshot.get(key(7)).unwrap().unwrap().into_owned(), value(7, 0));
    drop(snapshot);
    steps::run_background(&db, |_| {});
    db.compact(..).unwrap();
    db.put("a", "b").unwrap();
    db.flush().unwrap();
    // Of the first files, only the growing one is left.
    let left = first.iter().filter(|name| segment_files(&fs).contains(name)).count();
    assert!(left <= 1, "{first:?} of {:?}", segment_files(&fs));
    check_all_but(&db, 1);
}

fn check_all_but(db: &Db, generation: usize) {
    db.delete("a").unwrap();
    check_all(db, 100, |_| Some(generation));
}

/// H22: a small operand over a large base does not rewrite the base at every level.
#[test]
fn operands_over_a_separated_base_leave_it_where_it_is() {
    let fs = MemFs::new();
    let db = open(&fs);
    let list = db.operator("append").unwrap();
    let large = vec![b'x'; 4000];
    db.put("k", &large).unwrap();
    // So that what follows is not at the bottom.
    db.compact(..).unwrap();
    let written = db.stats().bytes_segments;
    for _ in 0..3 {
        db.merge_with(&list, "k", "+").unwrap();
        db.flush().unwrap();
    }
    steps::run_background(&db, |_| {});
    assert_eq!(db.stats().bytes_segments, written, "three operands, and the base was not moved");
    let mut expected = large.clone();
    expected.extend(b"+++");
    assert_eq!(db.get("k").unwrap().unwrap().into_owned(), expected);
    db.compact(..).unwrap();
    assert!(db.stats().bytes_segments > written, "folded at the bottom");
    assert_eq!(db.get("k").unwrap().unwrap().into_owned(), expected);
    assert_eq!(db.get_operands("k").unwrap().len(), 0);
}

#[test]
fn a_keyspace_separates_as_it_was_created_to() {
    let fs = MemFs::new();
    let db = Db::open(PATH, support::options(&fs)).unwrap();
    let own = KeyspaceOptions { value_separation_min: Some(50), ..KeyspaceOptions::default() };
    let pictures = db.create_keyspace("pictures", own).unwrap();
    for n in 0..40 {
        pictures.put(key(n), value(n, 0)).unwrap();
        db.put(key(n), value(n, 1)).unwrap();
    }
    db.flush().unwrap();
    let live = db.stats().segments.live_bytes;
    assert!((40 * 200..60 * 200).contains(&live), "one keyspace of two: {live}");
    drop((pictures, db));
    let db = Db::open(PATH, support::options(&fs)).unwrap();
    let pictures = db.keyspace("pictures").unwrap();
    pictures.put(key(40), value(40, 0)).unwrap();
    db.flush().unwrap();
    assert!(db.stats().segments.live_bytes > live);
    for n in 0..41 {
        assert_eq!(pictures.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
    }
    drop(pictures);
    db.drop_keyspace("pictures").unwrap();
    assert_eq!(segment_files(&fs), Vec::<String>::new());
    check_all(&db, 40, |_| Some(1));
}

/// The open succeeds, a read of a lost value fails with an error, and everything else works.
#[test]
fn a_segment_lost_or_damaged_fails_the_reads_of_its_values_alone() {
    for damage in [true, false] {
        let fs = MemFs::new();
        let db = open(&fs);
        put_all(&db, 0..20, 0);
        db.compact(..).unwrap();
        drop(db);
        let db = open(&fs);
        put_all(&db, 20..40, 0);
        db.flush().unwrap();
        drop(db);
        let name = segment_files(&fs)[0].clone();
        let path = std::path::Path::new(PATH).join(&name);
        if damage {
            let mut bytes = fs.read(&path).unwrap();
            let at = bytes.windows(4).position(|window| window == b"7.0.").unwrap();
            bytes[at + 9] ^= 1;
            fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
        } else {
            fs.remove(&path).unwrap();
        }
        let db = open(&fs);
        let error = assert_error(db.get(key(7)), ErrorKind::Corruption, Some(&name));
        assert!(error.to_string().contains("key0007"), "{error}");
        for n in 20..40 {
            assert_eq!(db.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
        }
        assert_eq!(db.get(key(6)).is_ok(), damage);
        let scanned: Vec<_> = db.iter().unwrap().collect();
        assert_eq!(scanned.len(), 40, "the entry is there, its value is not");
        assert_eq!(
            scanned.iter().filter(|entry| entry.is_err()).count(),
            if damage { 1 } else { 20 }
        );
        assert!(error_of(db.verify()).to_string().contains(&name));
        // An operand over a lost value waits; a put that replaces one does not.
        let list = db.operator("append").unwrap();
        db.merge_with(&list, key(7), "+").unwrap();
        db.compact(..).unwrap();
        assert_error(db.get(key(7)), ErrorKind::Corruption, Some(&name));
        db.put(key(7), "new").unwrap();
        db.compact(..).unwrap();
        assert_eq!(db.get(key(7)).unwrap().unwrap(), b"new");
        let shown = Db::open_read_only(PATH, separating(&fs)).unwrap();
        assert_eq!(shown.get(key(25)).unwrap().unwrap().into_owned(), value(25, 0));
    }
}

/// H12: growing files are copied, the others are linked. Both databases go on independently.
#[test]
fn a_checkpoint_copies_the_segment_file_that_grows() {
    if skipped_where_files_only_grow("it counts hard links") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 0..150, 0);
    db.flush().unwrap();
    let report = db.checkpoint("copy").unwrap();
    assert!(report.segments_linked >= 1, "{report:?}");
    assert_eq!(report.segments_copied, 1, "{report:?}");
    put_all(&db, 0..150, 1);
    db.flush().unwrap();
    let copy = Db::open("copy", separating(&fs)).unwrap();
    put_all(&copy, 100..150, 2);
    copy.compact(..).unwrap();
    check_all(&copy, 150, |n| Some(if n < 100 { 0 } else { 2 }));
    check_all(&db, 150, |_| Some(1));
    drop(copy);
    Db::destroy("copy", &separating(&fs)).unwrap();
    db.compact(..).unwrap();
    check_all(&db, 150, |_| Some(1));
}

/// A crash leaves no file that nothing refers to.
#[test]
fn an_open_removes_orphan_segment_files() {
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 0..10, 0);
    db.flush().unwrap();
    drop(db);
    let used = segment_files(&fs);
    fs.create(&std::path::Path::new(PATH).join("000900.seg")).unwrap();
    let db = open(&fs);
    assert_eq!(segment_files(&fs), used);
    check_all(&db, 10, |_| Some(0));
}

/// A program that does not know separated values must not open the table or the manifest. The error
/// says that the program is too old.
#[test]
fn a_manifest_without_segments_is_as_it_always_was() {
    let fs = MemFs::new();
    let db = Db::open(PATH, support::options(&fs)).unwrap();
    put_all(&db, 0..10, 0);
    db.flush().unwrap();
    assert_eq!(segment_files(&fs), Vec::<String>::new());
    assert_eq!(db.stats().segments, foldb::stats::SegmentStats::default());
}
