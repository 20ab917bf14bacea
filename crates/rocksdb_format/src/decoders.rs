//! The decoders of RocksDB's files by name, for fuzzing.
//!
//! A decoder gets unchecked bytes, as if a checksum had been forged. It never panics, never loops,
//! and allocates at most what its input may become.
//!
//! `fuzz/` has a target for each decoder. The tests below replay the inputs of these targets, and
//! mutate them. `FOLDB_FUZZ_SECONDS` sets the time for each decoder.

use std::convert::Infallible;

pub use foldb_leveldb_format::decoders::Decoder;
use foldb_leveldb_format::decoders::decode_by;

use crate::batch::Batch;
use crate::blob::{self, Reference};
use crate::footer::Footer;
use crate::index::{self, Form};
use crate::ldb::{self, Line};
use crate::manifest::Manifest;
use crate::options::{Options, object};
use crate::properties::{self, Properties};
use crate::table::{Input, Table};
use crate::wal::Wal;
use crate::{block, compression, entity, kind};

/// All decoders.
pub const DECODERS: [Decoder; 11] = [
    Decoder { name: "rocksdb_wal", decode: wal },
    Decoder { name: "rocksdb_batch", decode: batch },
    Decoder { name: "rocksdb_edit", decode: edit },
    Decoder { name: "rocksdb_block", decode: block },
    Decoder { name: "rocksdb_index", decode: index },
    Decoder { name: "rocksdb_footer", decode: footer },
    Decoder { name: "rocksdb_compressed", decode: compressed },
    Decoder { name: "rocksdb_blob", decode: blob },
    Decoder { name: "rocksdb_options", decode: options },
    Decoder { name: "rocksdb_ldb", decode: ldb },
    Decoder { name: "rocksdb_table", decode: table },
];

/// Passes bytes to the decoder of this name.
///
/// # Panics
/// If there is no such decoder, or the decoder breaks one of its promises.
pub fn decode(name: &str, bytes: &[u8]) {
    decode_by(&DECODERS, name, bytes);
}

/// Reads the batches of a log. The first byte is its number.
fn wal(bytes: &[u8]) {
    let Some((&number, bytes)) = bytes.split_first() else { return };
    let mut wal = Wal::new(bytes, u64::from(number));
    let mut read = 0;
    while let Ok(Some(record)) = wal.next() {
        batch(record);
        read += 1;
        assert!(read <= bytes.len(), "a log ends");
    }
    assert!(wal.tail() <= bytes.len() as u64, "the tail is in the file");
}

fn batch(bytes: &[u8]) {
    let Ok(batch) = Batch::new(bytes) else { return };
    let records = batch.take(bytes.len() + 2).count();
    assert!(records <= bytes.len() + 1, "a batch ends");
}

fn edit(bytes: &[u8]) {
    let mut manifest = Manifest::default();
    if manifest.apply(bytes).is_ok() {
        let _needed = (manifest.needs_log(0), manifest.needs_log(u64::MAX), manifest.is_complete());
        for table in manifest.families.values().flat_map(|family| family.tables.values()) {
            assert!(kind::user_key(&table.smallest).is_some(), "bounds are internal keys");
        }
    }
}

/// Reads a block as one of data, of properties and of tombstones.
fn block(bytes: &[u8]) {
    let joined = block::joined(bytes.to_vec());
    if let Ok(mut cursor) = joined.and_then(block::cursor) {
        let mut steps = 0;
        cursor.first();
        while cursor.is_valid() {
            let _parts = kind::split(cursor.key());
            let _value = (entity::decode(cursor.value()), Reference::decode(cursor.value()));
            steps += 1;
            assert!(steps <= 2 * bytes.len(), "a walk ends");
            cursor.next();
        }
    }
    if let Ok(entries) = properties::entries(bytes) {
        let _handle = properties::handle(&entries, properties::INDEX);
    }
    if let Ok(properties) = Properties::decode(bytes) {
        let _form = Form::of(&properties);
    }
}

/// Reads an index. The first byte is its form.
fn index(bytes: &[u8]) {
    let Some((&form, bytes)) = bytes.split_first() else { return };
    let form = Form {
        is_delta_encoded: form & 1 != 0,
        has_first_keys: form & 2 != 0,
        is_partitioned: form & 4 != 0,
    };
    if let Ok(handles) = index::handles(bytes, form) {
        assert!(handles.len() <= bytes.len(), "handles are in the index");
    }
}

fn footer(bytes: &[u8]) {
    if let Ok(footer) = Footer::decode(bytes, bytes.len() as u64) {
        if footer.index.is_some() && footer.version > 0 {
            assert_eq!(Footer::decode(&footer.encode(), 100), Ok(footer));
        }
        let _contents = block::unpack(bytes, 0, &footer, &[]);
    }
}

/// Decompresses. The first bytes are the kind, the version, and the length of the dictionary.
fn compressed(bytes: &[u8]) {
    let Some((&[kind, version, len], rest)) = bytes.split_first_chunk::<3>() else { return };
    let (dictionary, rest) = rest.split_at(usize::from(len).min(rest.len()));
    let _contents = compression::decompress(kind, rest, u32::from(version), dictionary);
}

/// Reads a record of a blob. The first byte is the length of its key.
fn blob(bytes: &[u8]) {
    let Some((&len, rest)) = bytes.split_first() else { return };
    let (key, record) = rest.split_at(usize::from(len).min(rest.len()));
    if let Ok(value) = blob::value(record, key) {
        assert!(value.len() < record.len(), "a value is in its record");
    }
    let _header = blob::check_header(record);
    if let Ok(reference) = Reference::decode(record)
        && let Some((at, len)) = reference.record(key)
    {
        assert!(at < reference.offset && len as u64 >= reference.len);
    }
    if let Ok(columns) = entity::decode(record) {
        let len = |column: &entity::Column<'_>| column.name.len() + column.value.len();
        let held: usize = columns.iter().map(len).sum();
        assert!(held <= record.len(), "columns are in the value");
    }
}

fn options(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _object = object(&text);
    if let Ok(options) = Options::parse(&text) {
        for section in options.families.values() {
            section.values().for_each(|value| drop(object(value)));
        }
    }
}

fn ldb(bytes: &[u8]) {
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Ok(Line::Entry(key, value)) = ldb::line(line) {
            assert!(2 * (key.len() + value.len()) <= line.len(), "an entry is in its line");
        }
    }
}

/// A file in memory.
struct Bytes<'a>(&'a [u8]);

impl Input for Bytes<'_> {
    type Error = Infallible;

    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn bytes(&mut self, at: u64, len: usize) -> Result<Vec<u8>, Infallible> {
        Ok(self.0[at as usize..][..len].to_vec())
    }
}

/// Reads a table. A damaged index may name a block many times, so the walk has an end of its own.
fn table(bytes: &[u8]) {
    const MOST_STEPS: usize = 1000;
    let Ok(mut table) = Table::open(Bytes(bytes)) else { return };
    for _ in 0..MOST_STEPS {
        match table.advance() {
            Ok(true) => {
                let _parts = kind::split(table.key());
                assert!(table.offset() < bytes.len() as u64, "a block is in its table");
            }
            Ok(false) => break,
            Err(_) => table.skip_block(),
        }
    }
    if let Ok(ranges) = table.range_deletions() {
        assert!(table.has_range_deletions() || ranges.is_empty());
    }
}

#[cfg(test)]
#[path = "../../foldb/tests/support/mutator.rs"]
mod mutator;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use foldb_leveldb_format::builder::Output;
    use foldb_leveldb_format::table::{Handle, TRAILER};

    use super::mutator::{corpus, mutate, time};
    use super::*;
    use crate::builder::TableBuilder;
    use crate::footer::FOOTER;

    fn golden(name: &str) -> Vec<u8> {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/golden/rocksdb");
        std::fs::read(all.join(name)).unwrap()
    }

    fn stored(file: &[u8], handle: Handle) -> &[u8] {
        let at = usize::try_from(handle.offset).unwrap();
        &file[at..at + handle.stored(file.len() as u64).unwrap()]
    }

    /// Adds the parts of a table.
    fn add_table(name: &str, inputs: &mut Vec<(&'static str, Vec<u8>)>) {
        let file = golden(name);
        let end = &file[file.len() - FOOTER..];
        let footer = Footer::decode(end, file.len() as u64).unwrap();
        inputs.push(("rocksdb_footer", end.to_vec()));
        let unpacked = |handle: Handle| {
            block::unpack(stored(&file, handle), handle.offset, &footer, &[]).unwrap()
        };
        let metaindex = unpacked(footer.metaindex);
        let names = properties::entries(&metaindex).unwrap();
        inputs.push(("rocksdb_block", metaindex));
        let place = |name: &[u8]| properties::handle(&names, name).unwrap();
        let properties = unpacked(place(properties::PROPERTIES[0]).unwrap());
        let form = Form::of(&Properties::decode(&properties).unwrap()).unwrap();
        inputs.push(("rocksdb_block", properties));
        let dictionary = place(properties::DICTIONARY).map(unpacked).unwrap_or_default();
        let mut index = unpacked(footer.index.or(place(properties::INDEX)).unwrap());
        if form.is_partitioned {
            index = unpacked(index::handles(&index, form).unwrap()[0]);
        }
        let bits = u8::from(form.is_delta_encoded) | u8::from(form.has_first_keys) << 1;
        inputs.push(("rocksdb_index", [&[bits][..], &index].concat()));
        let first = index::handles(&index, form).unwrap()[0];
        let contents = stored(&file, first);
        let (packed, trailer) = contents.split_at(contents.len() - TRAILER);
        if let Ok(len) = u8::try_from(dictionary.len()) {
            let head = [trailer[0], footer.version as u8, len];
            inputs.push(("rocksdb_compressed", [&head[..], &dictionary, packed].concat()));
        }
        let data = block::unpack(contents, first.offset, &footer, &dictionary).unwrap();
        inputs.push(("rocksdb_block", data));
    }

    /// Returns the inputs to begin with.
    fn first_inputs() -> Vec<(&'static str, Vec<u8>)> {
        let mut inputs = Vec::new();
        let tables =
            ["release_7_8/000011.sst", "release_11_8/000011.sst", "release_7_8_blobs/000009.sst"];
        tables.iter().for_each(|name| add_table(name, &mut inputs));
        let log = golden("release_11_8_footer_6/000012.log");
        inputs.push(("rocksdb_wal", [&[12][..], &log].concat()));
        let mut wal = Wal::new(&log, 12);
        inputs.push(("rocksdb_batch", wal.next().unwrap().unwrap().to_vec()));
        let manifest = golden("release_11_8/MANIFEST-000005");
        let mut edits = foldb_leveldb_format::records::Records::of(&manifest);
        while let Ok(Some(edit)) = edits.next() {
            inputs.push(("rocksdb_edit", edit.to_vec()));
        }
        let zstd = b"\x07\x05\x00\x05\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";
        inputs.push(("rocksdb_compressed", zstd.to_vec()));
        let blobs = golden("release_7_8_blobs/000010.blob");
        let key = blobs[30];
        let at = 30 + 32;
        let record = &blobs[30..at + usize::from(key) + usize::from(blobs[38])];
        let input = [&[key][..], &blobs[at..at + usize::from(key)], record].concat();
        inputs.push(("rocksdb_blob", input));
        inputs.push(("rocksdb_blob", b"\x00\x01\x02\x00\x03\x01n\x02onetw".to_vec()));
        let options = golden("release_7_8/OPTIONS-000009");
        inputs.push(("rocksdb_options", options[..2000].to_vec()));
        inputs.push(("rocksdb_ldb", b"0x6B31 ==> 0x7631\n0x6B : 0x\n".to_vec()));
        inputs.push(("rocksdb_table", unchecked_table()));
        inputs
    }

    /// Returns a table whose blocks are read without a look at their checksums.
    fn unchecked_table() -> Vec<u8> {
        struct File(Vec<u8>);
        impl Output for File {
            type Error = Infallible;

            fn append(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
                self.0.extend_from_slice(bytes);
                Ok(())
            }
        }
        let mut builder = TableBuilder::new(File(Vec::new()));
        builder.add(b"a", b"value").unwrap();
        builder.merge(b"b", b"operand").unwrap();
        builder.delete(b"c").unwrap();
        builder.delete_range(b"a", b"d");
        builder.finish().unwrap();
        let mut bytes = builder.into_file().0;
        let kind = bytes.len() - FOOTER;
        bytes[kind] = 0;
        bytes
    }

    #[test]
    fn a_table_is_read_without_checksums() {
        let bytes = unchecked_table();
        let mut table = Table::open(Bytes(&bytes)).unwrap();
        assert!(table.advance().unwrap());
        assert_eq!(table.range_deletions().unwrap().len(), 1);
    }

    /// Writes the initial corpora. Run it by name when a decoder changes.
    #[test]
    #[ignore = "writes into the source tree"]
    fn write_first_inputs() {
        let corpora = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        for (number, (name, bytes)) in first_inputs().into_iter().enumerate() {
            let directory = corpora.join(name);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(format!("first{number}")), bytes).unwrap();
        }
    }

    #[test]
    fn first_inputs_are_decoded() {
        for (name, bytes) in first_inputs() {
            decode(name, &bytes);
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
