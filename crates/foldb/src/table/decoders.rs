//! The decoders of tables, for fuzzing: see [`crate::decoders`].

use std::sync::Arc;

use crate::key::{BytewiseComparator, FilterPolicy, GuardedPolicy};
use crate::settings::Compression;
use crate::table::data_block::DataBlock;
use crate::table::filter::Filter;
use crate::table::footer::Footer;
use crate::table::frame::{decompress, uncompressed_len};
use crate::table::index::Index;
use crate::table::kept_block::{Held, KeptBlock};
use crate::table::key_buffer::KeyBuffer;
use crate::table::order::KeyOrder;
use crate::table::policy_filter::{KIND_POLICY, PolicyFilter};
use crate::table::properties::Properties;
use crate::table::slots::Home;
use crate::table::tombstone_block::{decode_tombstones, encode_tombstones};

fn bytewise() -> KeyOrder {
    KeyOrder::new(Arc::new(BytewiseComparator))
}

pub(crate) fn data_block(bytes: &[u8]) {
    let order = bytewise();
    let Ok(block) = DataBlock::parse(bytes) else { return };
    let kept = KeptBlock::new(block.clone(), &order, Home::default());
    let kept = kept.map(|kept| Held::Kept(Arc::new(kept)));
    let held = [Ok(Held::Own(block.clone())), kept];
    let mut at = 0;
    while at < block.entries_end() {
        let Ok(entry) = block.checked_entry(at) else { break };
        let _suffix = block.suffix(&entry);
        assert!(entry.end > at && entry.end <= block.entries_end(), "a record ends in its block");
        at = entry.end;
    }
    let mut scratch = KeyBuffer::default();
    for target in [&b""[..], b"key", &bytes[..bytes.len().min(9)], &[0xff; 20]] {
        for held in held.iter().flatten() {
            let _found = held.seek(target, &order, &mut scratch);
        }
        let _restart = block.restart_before(target.len());
    }
}

pub(crate) fn index(bytes: &[u8]) {
    let order = bytewise();
    const LIMIT: u64 = 1 << 40;
    let Ok(index) = Index::parse(bytes, &order, LIMIT) else { return };
    for child in (0..index.len()).map(|at| index.child(at)) {
        assert!(child.handle.end() <= LIMIT, "a child lies in the file");
    }
    for key in [&b""[..], b"key", &[0xff; 20]] {
        assert!(index.search(key, &order) <= index.len());
    }
}

/// Admits every key.
#[derive(Debug)]
struct AdmitsAll;

impl FilterPolicy for AdmitsAll {
    fn name(&self) -> &'static str {
        "fuzz"
    }

    fn create_filter(&self, _: &[&[u8]], _: &mut Vec<u8>) {}

    fn may_contain(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

pub(crate) fn filter(bytes: &[u8]) {
    if bytes.first() == Some(&KIND_POLICY) {
        let policy = GuardedPolicy::new(Arc::new(AdmitsAll)).expect("the name is short");
        let order = bytewise();
        if let Ok(Some(filter)) = PolicyFilter::parse(bytes, &order, Some(&policy)) {
            for key in [&b""[..], b"key", &[0xff; 20]] {
                let _may_contain = filter.may_contain(key, &order);
            }
        }
        return;
    }
    let Ok(filter) = Filter::parse(bytes) else { return };
    for hash in [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
        let _may_contain = filter.may_contain(hash);
    }
}

pub(crate) fn footer(bytes: &[u8]) {
    let _footer = Footer::decode(bytes, 1, 0);
}

pub(crate) fn range_tombstones(bytes: &[u8]) {
    let Ok(tombstones) = decode_tombstones(bytes, &bytewise()) else { return };
    let again = decode_tombstones(&encode_tombstones(&tombstones), &bytewise());
    assert_eq!(again.expect("what was encoded is decoded"), tombstones);
}

pub(crate) fn properties(bytes: &[u8]) {
    let Ok(properties) = Properties::decode(bytes) else { return };
    let again = Properties::decode(&properties.encode()).expect("what was encoded is decoded");
    assert_eq!(again, properties);
}

pub(crate) fn compressed(bytes: &[u8]) {
    // Zstd is left out: its decoder is the C library's.
    for codec in [Compression::Lz4, Compression::Snappy] {
        let Ok((len, compressed)) = uncompressed_len(bytes, codec) else { continue };
        assert!(len <= 256 * (bytes.len() + 64), "{len} bytes from {}", bytes.len());
        let _outcome = decompress(compressed, codec, &mut vec![0; len]);
    }
}

/// Returns the inputs for the decoders of a whole table, with their names.
#[cfg(test)]
pub(crate) fn parts(bytes: &[u8], number: u64) -> Vec<(&'static str, Vec<u8>)> {
    use super::footer::FOOTER_LEN;
    use super::frame::{Handle, check_frame};

    let at = bytes.len() - FOOTER_LEN;
    let footer = Footer::decode(&bytes[at..], number, at as u64).unwrap();
    let frame = |handle: Handle| {
        let frame = &bytes[handle.offset as usize..handle.end() as usize];
        let (payload, codec) = check_frame(frame, number, handle.offset).unwrap();
        let mut out = payload.to_vec();
        if codec != Compression::None {
            let (len, compressed) = uncompressed_len(payload, codec).unwrap();
            out = vec![0; len];
            decompress(compressed, codec, &mut out).unwrap();
        }
        (payload.to_vec(), out, codec)
    };
    let mut parts = vec![("footer", bytes[at..].to_vec())];
    let named = [
        ("index", Some(footer.index)),
        ("filter", footer.filter),
        ("properties", Some(footer.properties)),
        ("range_tombstones", footer.tombstones),
    ];
    for (name, handle) in named {
        parts.extend(handle.map(|handle| (name, frame(handle).1)));
    }
    let top = Index::parse(&frame(footer.index).1, &bytewise(), at as u64).unwrap();
    let mut children: Vec<_> = (0..top.len()).map(|child| top.child(child)).collect();
    while let Some(child) = children.pop() {
        let (payload, out, codec) = frame(child.handle);
        if child.is_directory {
            let directory = Index::parse(&out, &bytewise(), at as u64).unwrap();
            children.extend((0..directory.len()).map(|at| directory.child(at)));
            parts.push(("index", out));
        } else {
            parts.push(("data_block", out));
            if codec != Compression::None {
                parts.push(("compressed", payload));
            }
        }
    }
    parts
}
