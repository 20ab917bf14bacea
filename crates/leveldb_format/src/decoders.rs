//! The decoders of LevelDB's files by name, for fuzzing.
//!
//! A decoder gets unchecked bytes, as if a checksum had been forged. It never panics, never loops,
//! and allocates at most a small multiple of its input.
//!
//! `fuzz/` has a target for each decoder. The tests below replay the inputs of these targets, and
//! mutate them. `FOLDB_FUZZ_SECONDS` sets the time for each decoder.

use crate::Bytewise;
use crate::batch::Batch;
use crate::block::Cursor;
use crate::dump;
use crate::edit::Edit;
use crate::encoding::split_internal;
use crate::filter::{self, Policy};
use crate::manifest::Manifest;
use crate::records::{self, Records, Step};
use crate::table::{self, Footer, Handle};

/// A decoder and the name of its fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    /// Name of the target and of its corpus.
    pub name: &'static str,
    /// Decodes the bytes and checks the result.
    pub decode: fn(&[u8]),
}

/// All decoders.
pub const DECODERS: [Decoder; 7] = [
    Decoder { name: "leveldb_records", decode: records },
    Decoder { name: "leveldb_batch", decode: batch },
    Decoder { name: "leveldb_edit", decode: edit },
    Decoder { name: "leveldb_block", decode: block },
    Decoder { name: "leveldb_filter", decode: filter },
    Decoder { name: "leveldb_snappy", decode: snappy },
    Decoder { name: "leveldb_footer", decode: footer },
];

/// Passes bytes to the decoder of this name.
///
/// # Panics
/// If there is no such decoder, or the decoder breaks one of its promises.
pub fn decode(name: &str, bytes: &[u8]) {
    decode_by(&DECODERS, name, bytes);
}

/// Passes bytes to the decoder of this name among some.
///
/// # Panics
/// As [`decode`].
pub fn decode_by(decoders: &[Decoder], name: &str, bytes: &[u8]) {
    let decoder = decoders.iter().find(|decoder| decoder.name == name);
    (decoder.expect("each target names a decoder").decode)(bytes);
}

/// Reads the records of a log or manifest up to damage and past it, and writes them again.
fn records(bytes: &[u8]) {
    let mut records = Records::of(bytes);
    let (mut again, mut found) = (Vec::new(), Vec::new());
    while let Ok(Some(record)) = records.next() {
        found.push(record.to_vec());
        records::append(&mut again, record);
    }
    assert!(found.iter().map(Vec::len).sum::<usize>() <= bytes.len(), "records are in the file");
    assert!(records.tail() <= bytes.len() as u64, "the tail is in the file");
    let mut records = Records::of(&again);
    for expected in &found {
        assert_eq!(records.next(), Ok(Some(&expected[..])), "what was written is read");
    }
    let (mut records, mut rest) = (Records::of(bytes), found.iter());
    let mut held = 0;
    loop {
        match records.advance() {
            Step::Record => {
                held += records.record().len();
                // Both readers see the same records up to the first loss.
                if let Some(expected) = rest.next() {
                    assert_eq!(records.record(), expected);
                }
            }
            Step::Lost(loss) => {
                assert_eq!(rest.next(), None, "a strict reader stops at a loss");
                assert!(loss.at < bytes.len() && loss.bytes <= bytes.len());
            }
            Step::End => break,
        }
    }
    assert!(held <= bytes.len() && records.offset() <= bytes.len());
    let mut check = |text: &[u8]| assert!(text.len() <= 200 + 50 * bytes.len(), "it is short");
    dump::log(bytes, &mut check);
    dump::manifest(bytes, &mut check);
}

fn batch(bytes: &[u8]) {
    let Some(batch) = Batch::new(bytes) else { return };
    let held: usize = batch.flatten().map(|write| write.key.len() + write.value.len()).sum();
    assert!(held <= bytes.len(), "writes are in the batch");
}

/// Reads an edit, and writes it again.
fn edit(bytes: &[u8]) {
    let edit = Edit::decode(bytes);
    if let Ok(edit) = &edit {
        assert_eq!(Edit::decode(&edit.encode()).as_ref(), Ok(edit));
    }
    let mut manifest = Manifest::default();
    if manifest.apply(bytes).is_ok() {
        assert!(edit.is_ok());
        let _needed = (manifest.needs_log(0), manifest.needs_log(u64::MAX));
    }
}

/// Reads the entries of a data block, and those of an index block: both hold entries.
fn block(bytes: &[u8]) {
    let Some(mut cursor) = Cursor::new(bytes) else { return };
    let (mut steps, mut keys) = (0, Vec::new());
    cursor.first();
    while cursor.is_valid() {
        let _key_and_tag = split_internal(cursor.key());
        let _handle = Handle::of(cursor.value());
        assert!(cursor.key().len() <= bytes.len() && cursor.value().len() <= bytes.len());
        steps += 1;
        assert!(steps <= bytes.len(), "a walk forward ends");
        if keys.len() < 8 {
            keys.push(cursor.key().to_vec());
        }
        cursor.next();
    }
    cursor.last();
    while cursor.is_valid() {
        cursor.prev();
        steps += 1;
        assert!(steps <= 2 * bytes.len(), "a walk backward ends");
    }
    for key in keys {
        cursor.seek(&key, &Bytewise);
    }
}

/// Filters that hold the bytes of their keys.
struct AnyByte;

impl Policy for AnyByte {
    fn name(&self) -> &[u8] {
        b"AnyByte"
    }

    fn create(&self, keys: &[&[u8]], filter: &mut Vec<u8>) {
        filter.extend_from_slice(&keys.concat());
    }

    fn may_match(&self, key: &[u8], filter: &[u8]) -> bool {
        key.iter().all(|byte| filter.contains(byte))
    }
}

/// Reads a filter block, and looks for one as if the bytes were a metaindex.
fn filter(bytes: &[u8]) {
    for offset in [0, 1 << 11, 1 << 20, u64::MAX] {
        let _may_match = filter::may_match(bytes, &AnyByte, offset, b"key");
    }
    let _place = filter::find(bytes, &AnyByte);
}

fn snappy(bytes: &[u8]) {
    if let Ok(contents) = table::decompress(bytes) {
        block(&contents);
    }
}

fn footer(bytes: &[u8]) {
    if let Ok(footer) = Footer::decode(bytes) {
        assert_eq!(Footer::decode(&footer.encode()), Ok(footer));
        let _end = footer.index.stored(bytes.len() as u64);
    }
}

#[cfg(test)]
#[path = "../../foldb/tests/support/mutator.rs"]
mod mutator;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::mutator::{corpus, mutate, time};
    use super::*;
    use crate::block::BlockBuilder;
    use crate::edit::TableInfo;
    use crate::encoding::put_prefixed;
    use crate::filter::FilterBuilder;

    /// Returns the inputs to begin with.
    fn first_inputs() -> Vec<(&'static str, Vec<u8>)> {
        let mut logged = [&5u64.to_le_bytes()[..], &2u32.to_le_bytes()].concat();
        for (kind, fields) in [(1, &["key", "value"][..]), (0, &["key"][..])] {
            logged.push(kind);
            fields.iter().for_each(|field| put_prefixed(&mut logged, field.as_bytes()));
        }
        let (mut file, mut builder) = (Vec::new(), BlockBuilder::new(16));
        records::append(&mut file, &logged);
        records::append(&mut file, &[7; 40]);
        for n in 0..40u8 {
            let key = [&b"key"[..], &[n], &(u64::from(n) << 8 | 1).to_le_bytes()].concat();
            builder.add(&key, &[n, 5]);
        }
        let block = builder.finish().to_vec();
        let snappy = snap::raw::Encoder::new().compress_vec(&block).unwrap();
        let handle = Handle { offset: 9, len: 40 };
        let mut filters = FilterBuilder::new(AnyByte);
        filters.add(b"key");
        filters.start_block(9000);
        let key = b"key\x01\x05\0\0\0\0\0\0".to_vec();
        let edit = Edit {
            comparator: Some(crate::BYTEWISE.as_bytes().to_vec()),
            log: Some(10),
            previous_log: Some(0),
            next_file: Some(100),
            last_sequence: Some(70_000),
            pointers: vec![(1, key.clone())],
            removed: vec![(0, 3)],
            added: vec![TableInfo {
                level: 6,
                number: 7,
                size: 900,
                smallest: key.clone(),
                largest: key,
            }],
        };
        vec![
            ("leveldb_records", file),
            ("leveldb_batch", logged),
            ("leveldb_edit", edit.encode()),
            ("leveldb_block", block),
            ("leveldb_filter", filters.finish().1),
            ("leveldb_snappy", snappy),
            ("leveldb_footer", Footer { metaindex: handle, index: handle }.encode()),
        ]
    }

    /// Writes the initial corpora. Run it by name when a decoder changes.
    #[test]
    #[ignore = "writes into the source tree"]
    fn write_first_inputs() {
        let corpora = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        for (name, bytes) in first_inputs() {
            let directory = corpora.join(name);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("first"), bytes).unwrap();
        }
    }

    #[test]
    fn corpora_are_decoded_or_refused() {
        for decoder in DECODERS {
            let inputs = corpus(decoder.name);
            assert!(!inputs.is_empty(), "fuzz/corpus/{}", decoder.name);
            inputs.iter().for_each(|input| (decoder.decode)(input));
        }
    }

    #[test]
    fn mutated_corpora_are_decoded_or_refused() {
        let time = time(Duration::from_millis(100));
        for decoder in DECODERS {
            let inputs = corpus(decoder.name);
            let mut rng = fastrand::Rng::new();
            let (begun, mut runs) = (Instant::now(), 0_u64);
            while begun.elapsed() < time {
                let input = mutate(&mut rng, &inputs);
                let outcome = std::panic::catch_unwind(|| (decoder.decode)(&input));
                assert!(outcome.is_ok(), "{} with {input:?}", decoder.name);
                runs += 1;
            }
            println!("{}: {runs} inputs", decoder.name);
        }
    }
}
