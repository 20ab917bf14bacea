//! The decoders of LevelDB's files by name, for fuzzing.
//!
//! A decoder gets unchecked bytes, as if a checksum had been forged. It never panics, never loops,
//! and allocates at most a small multiple of its input.
//!
//! `fuzz/` has a target for each decoder. The tests below replay the inputs of these targets, and
//! mutate them. `FOLDB_FUZZ_SECONDS` sets the time for each decoder.

use std::path::PathBuf;

use super::block::Block;
use super::encoding::{Fields, split_internal};
use super::framing::{self, Records};
use super::log::Writes;
use super::manifest::Manifest;
use super::table;

/// A decoder and the name of its fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    /// Name of the target and of its corpus.
    pub name: &'static str,
    /// Decodes the bytes and checks the result.
    pub decode: fn(&[u8]),
}

/// All decoders.
pub const DECODERS: [Decoder; 6] = [
    Decoder { name: "leveldb_records", decode: records },
    Decoder { name: "leveldb_batch", decode: batch },
    Decoder { name: "leveldb_edit", decode: edit },
    Decoder { name: "leveldb_block", decode: block },
    Decoder { name: "leveldb_snappy", decode: snappy },
    Decoder { name: "leveldb_footer", decode: footer },
];

/// Passes bytes to the decoder of this name.
///
/// # Panics
/// If there is no such decoder, or the decoder breaks one of its promises.
pub fn decode(name: &str, bytes: &[u8]) {
    let decoder = DECODERS.into_iter().find(|decoder| decoder.name == name);
    (decoder.expect("each target names a decoder").decode)(bytes);
}

/// Reads the records of a log or manifest, and writes them again.
fn records(bytes: &[u8]) {
    let mut records = Records::of(PathBuf::from("000003.log"), bytes.to_vec());
    let (mut again, mut found) = (Vec::new(), Vec::new());
    while let Ok(Some(record)) = records.next() {
        found.push(record.to_vec());
        framing::append(&mut again, record);
    }
    assert!(found.iter().map(Vec::len).sum::<usize>() <= bytes.len(), "records are in the file");
    assert!(records.tail() <= bytes.len() as u64, "the tail is in the file");
    let mut records = Records::of(PathBuf::from("000003.log"), again);
    for expected in found {
        let read = records.next().expect("what was written is read");
        assert_eq!(read, Some(&expected[..]));
    }
}

fn batch(bytes: &[u8]) {
    let mut writes = Writes::after(7);
    let _is_whole = writes.batch(bytes).is_some();
    let held: usize = writes.newest.iter().map(|(key, (_, value))| key.len() + value.len()).sum();
    assert!(held <= bytes.len(), "writes are in the batch");
}

fn edit(bytes: &[u8]) {
    let mut manifest = Manifest::default();
    if manifest.apply(bytes).is_ok() {
        let _needed = (manifest.needs_log(0), manifest.needs_log(u64::MAX));
    }
}

/// Reads the entries of a data block, and those of an index block: both hold entries.
fn block(bytes: &[u8]) {
    let Some(mut block) = Block::new(bytes.to_vec()) else { return };
    let mut entries = 0;
    while block.advance() == Some(true) {
        entries += 1;
        let _key_and_tag = split_internal(block.key());
        let _handle = table::handle(&mut Fields(block.value()));
        assert!(block.key().len() <= bytes.len() && entries <= bytes.len());
    }
}

fn snappy(bytes: &[u8]) {
    if let Ok(contents) = table::decompress(bytes) {
        block(&contents);
    }
}

fn footer(bytes: &[u8]) {
    let _index = table::index_of(bytes);
}

#[cfg(test)]
#[path = "../../../foldb/tests/support/mutator.rs"]
mod mutator;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::block::BlockBuilder;
    use super::super::tests::{batch, database, edits, entries, log, write_edits};
    use super::mutator::{corpus, mutate, time};
    use super::*;

    /// Returns the inputs to begin with.
    fn first_inputs() -> Vec<(&'static str, Vec<u8>)> {
        let logged = batch(5, &["+key", "-key", "+another"]);
        let (mut file, mut builder) = (Vec::new(), BlockBuilder::new());
        framing::append(&mut file, &logged);
        framing::append(&mut file, &[7; 40]);
        for n in 0..40u8 {
            let key = [&b"key"[..], &[n], &(u64::from(n) << 8 | 1).to_le_bytes()].concat();
            builder.add(&key, &[n, 5]);
        }
        let block = builder.finish();
        let snappy = snap::raw::Encoder::new().compress_vec(&block).unwrap();
        let mut footer = vec![0; table::FOOTER - 8];
        footer[..4].copy_from_slice(&[1, 9, 40, 9]);
        footer.extend_from_slice(&table::MAGIC.to_le_bytes());
        vec![
            ("leveldb_records", file),
            ("leveldb_batch", logged),
            ("leveldb_edit", edits(database().path()).swap_remove(1)),
            ("leveldb_block", block),
            ("leveldb_snappy", snappy),
            ("leveldb_footer", footer),
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

    /// The checksums of all records are right, so the reader gets to the changed edits and batches.
    #[test]
    fn databases_with_changed_edits_and_batches_are_read_or_refused() {
        let dir = database();
        let whole = edits(dir.path());
        let batches = [corpus("leveldb_batch"), vec![batch(7, &["+key", "-a"])]].concat();
        let (begun, time) = (Instant::now(), time(Duration::from_millis(300)));
        let mut rng = fastrand::Rng::new();
        while begun.elapsed() < time {
            let (edit, batch) = (mutate(&mut rng, &whole[1..]), mutate(&mut rng, &batches));
            write_edits(dir.path(), &[whole[0].clone(), edit.clone()]);
            log(dir.path(), 11, std::slice::from_ref(&batch));
            let outcome = std::panic::catch_unwind(|| entries(dir.path()).map(drop));
            assert!(outcome.is_ok(), "{edit:?} and {batch:?}");
        }
    }

    /// A block of a few bytes once took 4 GiB of memory.
    #[test]
    fn a_length_that_snappy_bytes_cannot_have_is_not_allocated() {
        let claims = [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0; 20]].concat();
        assert!(table::decompress(&claims).unwrap_err().contains("cannot become"));
        let zeros = snap::raw::Encoder::new().compress_vec(&[0; 100_000]).unwrap();
        assert_eq!(table::decompress(&zeros).unwrap(), [0; 100_000]);
    }
}
