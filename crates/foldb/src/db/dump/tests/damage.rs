//! Damaged dumps: every changed, missing or additional byte is found, and its place is named.

use super::worked_example::PAGE;
use crate::Options;
use crate::db::Db;
use crate::db::dump::format::{BlockKind, BlockReader, BlockWriter, Counts};
use crate::db::dump::record::{Described, Entry};
use crate::env::{Env, MemFs};
use crate::error::{Error, ErrorKind};
use crate::fold::Definition;
use crate::testing::worked_example::bytes_on_the_page;

/// Restores into nothing, and returns the error. Nothing is left of the new database.
fn refusal(dump: &[u8], what: &str) -> Error {
    let fs = MemFs::new();
    let options = Options {
        env: Env::in_memory(fs.clone()),
        allow_unresolved_operators: true,
        ..Options::default()
    };
    let error = Db::restore(dump, "new", options).map(|_| ()).expect_err(what);
    assert!(!foldb_env::FileSystem::exists(&fs, "new".as_ref()), "{what}: {error}");
    error
}

/// Returns the offsets of the header and of all blocks.
fn starts(dump: &[u8]) -> Vec<u64> {
    let mut reader = BlockReader::begin(dump).unwrap();
    let mut starts = vec![0, reader.len()];
    while reader.next().unwrap().kind != BlockKind::End {
        starts.push(reader.len());
    }
    starts
}

#[test]
fn every_changed_byte_is_found() {
    let page = bytes_on_the_page(PAGE);
    let starts = starts(&page);
    for at in 0..page.len() {
        for bit in [1, 0x80] {
            let mut broken = page.clone();
            broken[at] ^= bit;
            let what = format!("byte {at}, bit {bit:#x}");
            let error = refusal(&broken, &what);
            assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
            let start = starts.iter().copied().filter(|start| *start <= at as u64).max();
            assert_eq!(error.offset(), start, "{what}: {error}");
            let message = error.to_string();
            assert!(message.contains("expected") && message.contains("found"), "{message}");
        }
    }
}

#[test]
fn every_cut_is_found() {
    let page = bytes_on_the_page(PAGE);
    for len in 0..page.len() {
        let error = refusal(&page[..len], &format!("cut to {len} bytes"));
        assert_eq!(error.kind(), ErrorKind::Corruption, "{len}: {error}");
        let message = error.to_string();
        assert!(message.contains("the dump is cut off in"), "{message}");
    }
    let more = [&page[..], b"\0"].concat();
    let error = refusal(&more, "one more byte");
    assert_eq!(error.offset(), Some(page.len() as u64), "{error}");
}

#[test]
fn missing_repeated_and_swapped_blocks_are_found() {
    let page = bytes_on_the_page(PAGE);
    let mut starts: Vec<usize> = starts(&page).iter().map(|&start| start as usize).collect();
    starts.push(page.len());
    let parts: Vec<&[u8]> = starts.windows(2).map(|pair| &page[pair[0]..pair[1]]).collect();
    for at in 1..parts.len() - 1 {
        let (mut missing, mut repeated, mut swapped) =
            (parts.clone(), parts.clone(), parts.clone());
        missing.remove(at);
        repeated.insert(at, parts[at]);
        swapped.swap(at, at + 1);
        for (what, blocks) in [("missing", missing), ("repeated", repeated), ("swapped", swapped)] {
            let error = refusal(&blocks.concat(), what);
            assert_eq!(error.kind(), ErrorKind::Corruption, "block {at} {what}: {error}");
        }
    }
}

/// Dumps whose checksums are right, and whose contents are not.
#[test]
fn contradictions_are_found() {
    let page = bytes_on_the_page(PAGE);
    let mut reader = BlockReader::begin(&page[..]).unwrap();
    let mut blocks = Vec::new();
    loop {
        let block = reader.next().unwrap();
        match block.kind {
            BlockKind::End => break,
            kind => blocks.push((kind, block.payload.to_vec())),
        }
    }
    let counts = Counts { keyspaces: 1, keys: 2, operands: 1 };
    let written = |blocks: &[(BlockKind, Vec<u8>)], counts: Counts| {
        let mut dump = Vec::new();
        let mut writer = BlockWriter::begin(&mut dump).unwrap();
        for (kind, payload) in blocks {
            writer.block(*kind, payload).unwrap();
        }
        writer.finish(&counts).unwrap();
        dump
    };
    assert_eq!(written(&blocks, counts), page);
    let (one, tags, keyspace, entries) = (&blocks[0], &blocks[1], &blocks[2], &blocks[3]);
    let with = |parts: &[&(BlockKind, Vec<u8>)]| -> Vec<(BlockKind, Vec<u8>)> {
        parts.iter().map(|&part| part.clone()).collect()
    };
    let other = |payload: &[u8]| (BlockKind::Entries, payload.to_vec());
    let cases: [(&str, Vec<_>, Counts, ErrorKind); 12] = [
        ("a key more", blocks.clone(), Counts { keys: 3, ..counts }, ErrorKind::Corruption),
        ("no keyspace", with(&[one, tags]), Counts::default(), ErrorKind::Corruption),
        ("no operator", with(&[one, keyspace, entries]), counts, ErrorKind::Corruption),
        ("no default operator", with(&[tags, keyspace, entries]), counts, ErrorKind::Corruption),
        ("an operator twice", with(&[one, one, tags, keyspace]), counts, ErrorKind::Corruption),
        ("a keyspace twice", with(&[one, keyspace, keyspace]), counts, ErrorKind::Corruption),
        ("a late operator", with(&[one, tags, keyspace, entries, one]), counts, {
            ErrorKind::Corruption
        }),
        ("an operand alone", with(&[one, tags, keyspace, &other(b"\0\x03\x01\0")]), counts, {
            ErrorKind::Corruption
        }),
        ("keyspace 1", with(&[one, keyspace, &other(b"\x01\x01\0\0")]), counts, {
            ErrorKind::Corruption
        }),
        ("an unknown kind", with(&[one, keyspace, &other(b"\0\x04\0\0")]), counts, {
            ErrorKind::Unsupported
        }),
        ("a later field", with(&[one, keyspace, &other(b"\0\x11\0\0")]), counts, {
            ErrorKind::Unsupported
        }),
        ("an entry cut off", with(&[one, keyspace, &other(b"\0\x01\x05\0")]), counts, {
            ErrorKind::Corruption
        }),
    ];
    for (what, blocks, counts, kind) in cases {
        let error = refusal(&written(&blocks, counts), what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
    }
}

/// Right checksums, and entries without the stamps of a keyspace with expiry.
#[test]
fn missing_stamps_are_found() {
    let fs = MemFs::new();
    let options =
        Options { create_if_missing: true, env: Env::in_memory(fs), ..Options::default() };
    let db = Db::open("db", options).unwrap();
    let expiry = Some("after-last-write:3600".parse().unwrap());
    let keyspace = crate::KeyspaceOptions { expiry, ..crate::KeyspaceOptions::default() };
    let keyspace = db.create_keyspace("leases", keyspace).unwrap();
    let described = |keyspace: &crate::Keyspace| {
        let mut payload = Vec::new();
        Described::of(keyspace.state()).encode(&mut payload);
        payload
    };
    let mut operator = Vec::new();
    let definition =
        Definition { id: 128, name: "acme.tags".to_owned(), version: 3, parameters: Vec::new() };
    definition.encode(&mut operator);
    let bad_rule = [b"value".as_slice(), &[0; 8], &[9]].concat();
    for stored in [&b""[..], b"12345678", b"longer than a stamp", &bad_rule] {
        let entries = [
            vec![Entry::Value { key: b"key", value: stored }],
            vec![Entry::Unfolded { key: b"key", base: Some(stored) }],
            vec![
                Entry::Unfolded { key: b"key", base: None },
                Entry::Operand { operator: 128, operand: stored },
            ],
        ];
        for entries in entries {
            let mut dump = Vec::new();
            let mut writer = BlockWriter::begin(&mut dump).unwrap();
            writer.block(BlockKind::Operator, &operator).unwrap();
            writer.block(BlockKind::Keyspace, &described(db.default_keyspace())).unwrap();
            writer.block(BlockKind::Keyspace, &described(&keyspace)).unwrap();
            let mut payload = vec![1];
            entries.iter().for_each(|entry| entry.encode(&mut payload));
            writer.block(BlockKind::Entries, &payload).unwrap();
            writer.finish(&Counts { keyspaces: 2, keys: 1, operands: 0 }).unwrap();
            let error = refusal(&dump, "no stamp");
            assert_eq!(error.kind(), ErrorKind::Corruption, "{stored:?}: {error}");
            assert!(error.to_string().contains("expected a stamp"), "{stored:?}: {error}");
        }
    }
}

#[test]
fn other_files_and_versions_are_refused_by_name() {
    let page = bytes_on_the_page(PAGE);
    let error = refusal(b"{\"foldb_dump\":1,\"keyspaces\":[]}\n", "text");
    assert!(error.to_string().contains("`foldb load` reads"), "{error}");
    let error = refusal(&[b"tbl/fold", &page[8..]].concat(), "a table");
    assert!(error.to_string().contains("expected the magic \"dmp/fold\""), "{error}");
    let mut next = page[..12].to_vec();
    next[8] = 2;
    let seal = xxhash_rust::xxh3::xxh3_64_with_seed(&next, 0);
    let next = [&next[..], &seal.to_le_bytes(), &page[20..]].concat();
    let error = refusal(&next, "version 2");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("format version 2, expected version 1"), "{error}");
}
