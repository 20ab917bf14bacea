//! Tests that the worked example in the format page of dumps is what the engine writes and reads.

use crate::db::dump::format::{BlockKind, BlockReader, BlockWriter, Counts, decode_end};
use crate::db::dump::record::{Described, Entry};
use crate::db::{Base, Db};
use crate::encoding::{ByteReader, put_varint};
use crate::env::{Env, MemFs};
use crate::fold::Definition;
use crate::testing::worked_example::{assert_page_shows, bytes_on_the_page};
use crate::{KeyspaceOptions, Options};

pub(super) const PAGE: &str = include_str!("../../../../../../docs/format/dump.md");

fn operators() -> [Definition; 2] {
    let of = |id, name: &str, version, parameters: &[u8]| Definition {
        id,
        name: name.to_owned(),
        version,
        parameters: parameters.to_vec(),
    };
    [of(1, "uint64add", 0, b""), of(128, "acme.tags", 3, b"max=5")]
}

fn entries() -> [Entry<'static>; 3] {
    [
        Entry::Value { key: b"pear", value: b"green" },
        Entry::Unfolded { key: b"plum", base: Some(b"blue") },
        Entry::Operand { operator: 128, operand: b"ripe" },
    ]
}

/// Returns the payload of a keyspace with the settings that the page shows.
fn keyspace() -> Vec<u8> {
    let fs = MemFs::new();
    let options = Options {
        create_if_missing: true,
        env: Env::in_memory(fs),
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    };
    let db = Db::open("db", options).unwrap();
    let mut payload = Vec::new();
    Described::of(db.default_keyspace().state()).encode(&mut payload);
    payload
}

fn example() -> Vec<u8> {
    let mut dump = Vec::new();
    let mut writer = BlockWriter::begin(&mut dump).unwrap();
    for operator in operators() {
        let mut payload = Vec::new();
        operator.encode(&mut payload);
        writer.block(BlockKind::Operator, &payload).unwrap();
    }
    writer.block(BlockKind::Keyspace, &keyspace()).unwrap();
    let mut payload = Vec::new();
    put_varint(&mut payload, 0);
    entries().iter().for_each(|entry| entry.encode(&mut payload));
    writer.block(BlockKind::Entries, &payload).unwrap();
    writer.finish(&Counts { keyspaces: 1, keys: 2, operands: 1 }).unwrap();
    dump
}

/// Format version 1, byte for byte. If this fails, the format changed: raise its version.
#[test]
fn page_shows_what_is_written() {
    assert_page_shows(PAGE, &example());
}

#[test]
fn page_can_be_read() {
    let page = bytes_on_the_page(PAGE);
    let mut reader = BlockReader::begin(&page[..]).unwrap();
    for expected in operators() {
        let block = reader.next().unwrap();
        assert_eq!(block.kind, BlockKind::Operator);
        let mut bytes = ByteReader::new(block.payload);
        assert_eq!(Definition::decode(&mut bytes).unwrap(), expected);
    }
    let block = reader.next().unwrap();
    assert_eq!(block.kind, BlockKind::Keyspace);
    let described = Described::decode(block.payload).unwrap();
    assert_eq!((&described.name[..], described.default_operator), ("default", Some(1)));
    let block = reader.next().unwrap();
    assert_eq!(block.kind, BlockKind::Entries);
    let mut bytes = ByteReader::new(block.payload);
    assert_eq!(bytes.varint("keyspace").unwrap(), 0);
    for expected in entries() {
        assert_eq!(Entry::decode(&mut bytes).unwrap(), expected);
    }
    let block = reader.next().unwrap();
    assert_eq!(block.kind, BlockKind::End);
    assert_eq!(
        decode_end(block.payload).unwrap().counts,
        Counts { keyspaces: 1, keys: 2, operands: 1 }
    );
    assert_eq!(reader.len(), page.len() as u64);
}

#[test]
fn page_can_be_restored() {
    let options = Options {
        env: Env::in_memory(MemFs::new()),
        allow_unresolved_operators: true,
        ..Options::default()
    };
    let page = bytes_on_the_page(PAGE);
    let restored = Db::restore(&page[..], "new", options.clone()).unwrap();
    assert_eq!((restored.keys, restored.operands, restored.bytes), (2, 1, page.len() as u64));
    let db = Db::open("new", options).unwrap();
    assert_eq!(db.get("pear").unwrap().unwrap(), b"green");
    let plum = db.get_operands("plum").unwrap();
    assert!(matches!(plum.base(), Base::Put(base) if base == b"blue"));
    let operand = plum.oldest_first().next().unwrap();
    assert_eq!((operand.operator(), &operand.value()[..]), ("acme.tags:max=5", &b"ripe"[..]));
    assert_eq!(db.default_keyspace().options().merge_operator.as_deref(), Some("uint64add"));
}
