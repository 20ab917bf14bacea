//! All decoders of bytes that come from files, by name, for fuzzing.
//!
//! A decoder receives unchecked bytes, as if a checksum had been forged. It never panics, never
//! loops, and allocates at most a small multiple of its input. Bytes that it accepts and can encode
//! decode to the same value again.
//!
//! `fuzz/` has a target for each decoder. The test below replays the inputs that these targets
//! found, and mutates them. `FOLDB_FUZZ_SECONDS` sets the time for each decoder.

use crate::encoding::ByteReader;
use crate::files::FileKind;
use crate::fold::{Definition, Full, Partial, builtins};
use crate::operation::Operation;
use crate::settings::KeyspaceSettings;
use crate::version::Edit;
use crate::{db, recording, segment, table, wal};

/// A decoder and the name of its fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    /// Name of the target and of its corpus.
    pub name: &'static str,
    /// Decodes the bytes and checks the result.
    pub decode: fn(&[u8]),
}

/// All decoders.
pub const DECODERS: [Decoder; 21] = [
    Decoder { name: "log_frame", decode: wal::decoders::log_frame },
    Decoder { name: "log_record", decode: wal::decoders::log_record },
    Decoder { name: "batch", decode: batch },
    Decoder { name: "manifest_edit", decode: manifest_edit },
    Decoder { name: "file_name", decode: file_name },
    Decoder { name: "keyspace_settings", decode: keyspace_settings },
    Decoder { name: "operands", decode: operands },
    Decoder { name: "value_address", decode: segment::decoders::value_address },
    Decoder { name: "segment_headers", decode: segment::decoders::headers },
    Decoder { name: "references", decode: segment::decoders::references },
    Decoder { name: "data_block", decode: table::decoders::data_block },
    Decoder { name: "index", decode: table::decoders::index },
    Decoder { name: "filter", decode: table::decoders::filter },
    Decoder { name: "footer", decode: table::decoders::footer },
    Decoder { name: "properties", decode: table::decoders::properties },
    Decoder { name: "range_tombstones", decode: table::decoders::range_tombstones },
    Decoder { name: "compressed", decode: table::decoders::compressed },
    Decoder { name: "feed", decode: db::feed::decoders::feed },
    Decoder { name: "dump", decode: db::dump::decoders::dump },
    Decoder { name: "backup_record", decode: db::backup::decoders::record },
    Decoder { name: "flight_record", decode: recording::decode_any },
];

/// Returns the decoder with this name.
#[cfg(feature = "internals")]
pub fn decoder(name: &str) -> Option<Decoder> {
    DECODERS.into_iter().find(|decoder| decoder.name == name)
}

fn batch(bytes: &[u8]) {
    let mut reader = ByteReader::new(bytes);
    while !reader.is_empty() {
        let Ok(operation) = Operation::decode(&mut reader) else { return };
        let _bounds = operation.decode_range();
        let mut encoded = Vec::new();
        operation.encode(&mut encoded);
        let again = Operation::decode(&mut ByteReader::new(&encoded));
        let again = again.expect("what was encoded is decoded");
        assert_eq!((again.kind, again.keyspace), (operation.kind, operation.keyspace));
        assert_eq!((again.key, again.value), (operation.key, operation.value));
    }
}

fn manifest_edit(bytes: &[u8]) {
    let Ok(edit) = Edit::decode(bytes) else { return };
    let mut encoded = Vec::new();
    edit.encode(&mut encoded);
    let again = Edit::decode(&encoded).expect("what was encoded is decoded");
    // An edit that no encoder writes may hold more than decoding keeps. The kept part must stay the
    // same.
    let mut encoded_again = Vec::new();
    again.encode(&mut encoded_again);
    assert_eq!(encoded_again, encoded);
}

fn file_name(bytes: &[u8]) {
    let Ok(name) = std::str::from_utf8(bytes) else { return };
    if let Some(kind) = FileKind::parse(name) {
        assert!(!name.contains(['/', '\\']), "{kind:?} is a name in the directory");
    }
}

fn keyspace_settings(bytes: &[u8]) {
    let _settings = KeyspaceSettings::decode(&mut ByteReader::new(bytes));
    let _definition = Definition::decode(&mut ByteReader::new(bytes));
}

/// Decodes operands and a base, each as a length and its bytes, and applies every operator to them.
fn operands(bytes: &[u8]) {
    let mut reader = ByteReader::new(bytes);
    let mut parts = Vec::new();
    while let Ok(len) = reader.u8("length") {
        let len = usize::from(len).min(reader.remaining());
        let Ok(part) = reader.take(len, "operand") else { break };
        parts.push(part);
    }
    let Some((base, operands)) = parts.split_first() else { return };
    if operands.is_empty() {
        return;
    }
    for builtin in builtins() {
        let parameters = [None, Some(&b"3"[..]), Some(&b","[..])];
        for operator in parameters.iter().filter_map(|&given| builtin.instantiate(given).ok()) {
            for base in [None, Some(*base)] {
                let mut out = Vec::new();
                let full = operator.full(b"key", base, operands, &mut out);
                if let Full::Operand(index) = full {
                    assert!(index < operands.len(), "{} answers an operand", builtin.name);
                }
            }
            if operands.len() > 1 {
                let mut out = Vec::new();
                let _: Partial = operator.partial(b"key", operands, &mut out);
            }
            let _accepted = operator.check_operand(operands[0]);
        }
    }
}

#[cfg(test)]
#[path = "../tests/support/mutator.rs"]
mod mutator;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use foldb_env::{Env, FileSystem as _, MemFs};

    use super::mutator::{corpus, mutate};
    use super::*;
    use crate::{Compression, Db, KeyspaceOptions, Options, WriteBatch};

    /// Creates a small database with every kind of file and record.
    fn database() -> MemFs {
        let fs = MemFs::new();
        let options = Options {
            create_if_missing: true,
            env: Env::in_memory(fs.clone()),
            default: KeyspaceOptions {
                merge_operator: Some("stringappend:,".to_owned()),
                value_separation_min: Some(200),
                compression: Some(Compression::Lz4),
                ..KeyspaceOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open("db", options).unwrap();
        let counters = KeyspaceOptions::with_operator("uint64add");
        let counters = db.create_keyspace("counters", counters).unwrap();
        for round in 0..3_u64 {
            let mut batch = WriteBatch::new();
            for n in 0..40_u64 {
                batch.put(format!("key{n:03}"), vec![b'v'; 10 * n as usize]);
                batch.merge(format!("list{n:03}"), "item").delete(format!("gone{n:03}"));
                batch.merge_in(&counters, n.to_be_bytes(), round.to_le_bytes());
            }
            batch.delete_range("a".."b").delete_range("key010".."key012");
            db.write(&batch).unwrap();
            db.put("large", vec![b'x'; 3000]).unwrap();
            db.flush().unwrap();
        }
        db.compact(.."m".as_bytes()).unwrap();
        db.delete_range("list030".."list035").unwrap();
        db.flush().unwrap();
        db.put("last", "in the log").unwrap();
        fs
    }

    /// Creates a database with few entries: folded ones, unfolded ones, and some that expire.
    fn small() -> Db {
        let options = Options {
            create_if_missing: true,
            env: Env::in_memory(MemFs::new()),
            default: KeyspaceOptions::with_operator("uint64add"),
            ..Options::default()
        };
        let db = Db::open("db", options).unwrap();
        db.put("key", "value").unwrap();
        db.merge("bad", 1u64.to_le_bytes()).unwrap();
        db.merge_with(&db.operator("stringappend:,").unwrap(), "list", "item").unwrap();
        db.put("bad", "no number").unwrap();
        db.merge("bad", 1u64.to_le_bytes()).unwrap();
        let expiry = Some(crate::expiry::Expiry::after_last_write(Duration::from_secs(60)));
        let x = KeyspaceOptions { expiry, ..Default::default() };
        db.create_keyspace("x", x).unwrap().put("key", "value").unwrap();
        db
    }

    /// Writes the initial corpora. Run it by name when a format changes.
    #[test]
    #[ignore = "writes into the source tree"]
    fn write_first_inputs() {
        let fs = database();
        let mut inputs: Vec<(&str, Vec<u8>)> = Vec::new();
        for name in fs.list("db".as_ref()).unwrap() {
            inputs.push(("file_name", name.clone().into_bytes()));
            let path = PathBuf::from("db").join(&name);
            let bytes = fs.read(&path).unwrap();
            let is_manifest = name.starts_with("MANIFEST");
            match FileKind::parse(&name) {
                Some(FileKind::Log(number) | FileKind::Manifest(number)) => {
                    inputs.push(("log_frame", bytes[..bytes.len().min(300)].to_vec()));
                    let kind = if is_manifest { "manifest_edit" } else { "log_record" };
                    inputs.extend(wal::decoders::records(&fs, &path, number).map(|r| (kind, r)));
                }
                Some(FileKind::Table(number)) => {
                    inputs.extend(table::decoders::parts(&bytes, number))
                }
                Some(FileKind::Segment(_)) => {
                    inputs.push(("segment_headers", bytes[..48].to_vec()));
                    inputs.push(("segment_headers", bytes[48..100].to_vec()));
                }
                _ => {}
            }
        }
        let mut settings = Vec::new();
        KeyspaceOptions::default().settings().encode(&mut settings);
        inputs.push(("keyspace_settings", settings));
        let mut batch = WriteBatch::new();
        batch.put("key", "value").delete("key").merge("key", "operand").delete_range("a".."z");
        inputs.push(("batch", batch.encoded().to_vec()));
        for operands in [
            &b"\x08\x01\0\0\0\0\0\0\0\x08\x02\0\0\0\0\0\0\0\x08\x03\0\0\0\0\0\0\0"[..],
            b"\x09{\"a\":{}}\x0a{\"a\":null}\x07{\"b\":1}",
            b"\x02\x01x\x02\x01y\x02\x01z",
        ] {
            inputs.push(("operands", operands.to_vec()));
        }
        // A filter of the policy that the fuzz target has, with a chunk that has none, and a
        // keyspace's policy.
        inputs.push(("filter", b"\x01\x04fuzz\x01b\x03xy\x01d\0".to_vec()));
        inputs.push(("manifest_edit", b"\x0a\x01\x03\x0b\x01k\x16\x04fuzz".to_vec()));
        inputs.push(("references", vec![5, 10, 3, 200, 1]));
        inputs.push(("value_address", vec![9, 100, 40]));
        inputs.push(("value_address", vec![9, 100, 41, 3]));
        inputs.extend(db::feed::decoders::inputs().into_iter().map(|input| ("feed", input)));
        inputs.push(("backup_record", db::backup::decoders::input()));
        let mut dump = Vec::new();
        small().dump(&mut dump).unwrap();
        inputs.push(("dump", db::dump::decoders::input(&dump)));
        let corpora = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        for (name, bytes) in inputs.iter().filter(|(_, bytes)| bytes.len() <= 4 << 10) {
            let directory = corpora.join(name);
            std::fs::create_dir_all(&directory).unwrap();
            let file = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes));
            std::fs::write(directory.join(file), bytes).unwrap();
        }
    }

    #[test]
    fn every_decoder_has_a_corpus() {
        for decoder in DECODERS {
            assert!(!corpus(decoder.name).is_empty(), "fuzz/corpus/{}", decoder.name);
        }
    }

    #[test]
    fn corpora_are_decoded_or_refused() {
        for decoder in DECODERS {
            corpus(decoder.name).iter().for_each(|input| (decoder.decode)(input));
        }
    }

    #[test]
    fn mutated_corpora_are_decoded_or_refused() {
        let time = mutator::time(Duration::from_millis(100));
        for decoder in DECODERS {
            let inputs = corpus(decoder.name);
            let mut rng = fastrand::Rng::new();
            let (begun, mut runs) = (Instant::now(), 0_u64);
            while begun.elapsed() < time {
                let seed = rng.u64(..);
                let input = mutate(&mut fastrand::Rng::with_seed(seed), &inputs);
                let outcome = std::panic::catch_unwind(|| (decoder.decode)(&input));
                assert!(outcome.is_ok(), "{} with {input:?}", decoder.name);
                runs += 1;
            }
            println!("{}: {runs} inputs", decoder.name);
        }
    }
}
