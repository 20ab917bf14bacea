//! What a follower does with updates: it orders positions, and adds batches to a copy.

use std::sync::Arc;

use foldb::env::MemFs;
use foldb::feed::{Change, Position, Update, Updates};
use foldb::operators::{Full, MergeOperator};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch};

use super::support::{keeping, line, open_keeping};
use crate::support::{PATH, assert_error};

/// A load has a sequence number and no frame. The drop after it has a frame and no number.
#[test]
fn positions_are_in_order_around_a_drop() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.put("a", "1").unwrap();
    db.create_keyspace("dropped", Default::default()).unwrap();
    let mut load = db.sorted_load().unwrap();
    load.put("b", "2").unwrap();
    load.finish().unwrap();
    let before = db.position().unwrap();
    db.drop_keyspace("dropped").unwrap();
    db.put("c", "3").unwrap();
    db.sync().unwrap();
    let updates =
        |since| -> Vec<_> { db.updates_since(since).unwrap().map(Result::unwrap).collect() };
    let all: Vec<Update> = updates(&Position::BEGINNING);
    assert!(all.is_sorted_by_key(|update| update.position), "{all:?}");
    assert!(all.is_sorted_by_key(|update| update.position.to_bytes()), "{all:?}");
    let mut later: Vec<_> = all.iter().filter(|update| update.position > before).collect();
    // A feed from the beginning learns of the load only after the drop.
    later.retain(|update| !matches!(update.change, Change::Unlogged { .. }));
    let later: Vec<_> = later.into_iter().map(line).collect();
    assert_eq!(updates(&before).iter().map(line).collect::<Vec<_>>(), later);
    assert_eq!(later, [r#"dropped ["dropped"] created []"#, "default:c=3"]);
}

/// Appends at most so many bytes of each operand as its parameter says.
#[derive(Debug)]
struct Cap(Vec<u8>);

impl MergeOperator for Cap {
    fn name(&self) -> &str {
        "test.cap"
    }

    fn parameters(&self) -> &[u8] {
        &self.0
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let most = self.0.first().map_or(usize::MAX, |most| usize::from(*most));
        out.extend_from_slice(base.unwrap_or_default());
        for operand in operands {
            out.extend_from_slice(&operand[..most.min(operand.len())]);
        }
        Full::Value
    }
}

fn capping(fs: &MemFs, seed: u64, parameters: &[&[u8]]) -> Options {
    let mut options = keeping(fs, seed);
    options.operators.clear();
    for own in parameters {
        options.operators.push(Arc::new(Cap(own.to_vec())));
    }
    options
}

/// Adds all batches to a copy.
fn copy_all(updates: &mut Updates, copy: &Db) -> foldb::Result<()> {
    for update in updates {
        if let Change::Batch(changes) = update?.change {
            let mut batch = WriteBatch::new();
            changes.add_to(&mut batch, copy)?;
            copy.write(&batch)?;
        }
    }
    Ok(())
}

/// The copy lists the two operators in the other order. Parameters need not be text.
#[test]
fn operands_go_to_the_operator_with_their_parameters() {
    for (used, other) in [(&b""[..], &b"\x02"[..]), (b"\x02", b""), (b"\x03\xff\xfe", b"\x02")] {
        for expiry in [None, Some("after-last-write:3600".parse().unwrap())] {
            let (fs, fs_of_copy) = (MemFs::new(), MemFs::new());
            let db = Db::open(PATH, capping(&fs, 1, &[used, other])).unwrap();
            let copy = Db::open(PATH, capping(&fs_of_copy, 2, &[other, used])).unwrap();
            let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
            for db in [&db, &copy] {
                db.create_keyspace("k", options.clone()).unwrap();
            }
            let operator = db.operator("test.cap").unwrap();
            let keyspace = db.keyspace("k").unwrap();
            keyspace.merge_with(&operator, "key", "abcdef").unwrap();
            db.sync().unwrap();
            copy_all(&mut db.updates_since(&Position::BEGINNING).unwrap(), &copy).unwrap();
            let expected = keyspace.get("key").unwrap();
            assert_eq!(copy.keyspace("k").unwrap().get("key").unwrap(), expected, "{used:?}");
        }
    }
}

/// An operator of the same name that folds otherwise is no replacement.
#[test]
fn an_operator_with_other_parameters_is_refused() {
    let (fs, fs_of_copy) = (MemFs::new(), MemFs::new());
    let db = Db::open(PATH, capping(&fs, 1, &[b"\x02"])).unwrap();
    let copy = Db::open(PATH, capping(&fs_of_copy, 2, &[b"\x03"])).unwrap();
    db.merge_with(&db.operator("test.cap").unwrap(), "key", "abcdef").unwrap();
    db.sync().unwrap();
    let copied = copy_all(&mut db.updates_since(&Position::BEGINNING).unwrap(), &copy);
    assert_error(copied, ErrorKind::UnknownOperator, None);
}

/// A follower makes the missing keyspace, and adds the update again.
#[test]
fn an_update_that_cannot_be_added_leaves_the_batch_as_it_was() {
    let (fs, fs_of_copy) = (MemFs::new(), MemFs::new());
    let (db, copy) = (open_keeping(&fs, 1), open_keeping(&fs_of_copy, 2));
    let new = db.create_keyspace("new", KeyspaceOptions::default()).unwrap();
    let mut both = WriteBatch::new();
    both.put("a", "1").put_in(&new, "b", "2");
    db.write(&both).unwrap();
    db.sync().unwrap();
    let mut batch = WriteBatch::new();
    batch.put("own", "0");
    let mut refused = 0;
    for update in db.updates_since(&Position::BEGINNING).unwrap() {
        let Change::Batch(changes) = update.unwrap().change else { continue };
        let error = changes.add_to(&mut batch, &copy).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeyspaceMissing);
        assert_eq!(batch.len(), 1);
        refused += 1;
        copy.create_keyspace("new", KeyspaceOptions::default()).unwrap();
        changes.add_to(&mut batch, &copy).unwrap();
        assert_eq!(batch.len(), 3);
    }
    assert_eq!(refused, 1);
    copy.write(&batch).unwrap();
    assert_eq!(copy.keyspace("new").unwrap().get("b").unwrap().unwrap(), b"2");
}
