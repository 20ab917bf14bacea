//! The decoder of records of backups, for fuzzing: see [`crate::decoders`].

use xxhash_rust::xxh3::xxh3_64;

use super::record::Record;

/// Decodes a record behind which the right checksum is put.
pub(crate) fn record(bytes: &[u8]) {
    let forged = [bytes, &xxh3_64(bytes).to_le_bytes()].concat();
    let _damaged = Record::decode(bytes);
    let Ok(record) = Record::decode(&forged) else { return };
    for file in &record.files {
        assert!(!file.name.contains(['/', '\\']), "{} is a name", file.name);
        assert!(!file.shared_name().contains(['/', '\\']), "{} is a name", file.name);
    }
    let again = Record::decode(&record.encode()).expect("what was encoded is decoded");
    assert_eq!(again, record);
}

/// Returns an input that becomes a record.
#[cfg(test)]
pub(crate) fn input() -> Vec<u8> {
    use super::record::StoredFile;
    let file = |is_own, name: &str| {
        let name = name.to_owned();
        StoredFile { is_own, name, len: 1000, digest: 7 }
    };
    let files = vec![file(false, "000004.tbl"), file(true, "CURRENT"), file(true, "000007.log")];
    let record = Record { id: 3, database: 9, new_files: 2, new_bytes: 2000, files };
    let mut encoded = record.encode();
    encoded.truncate(encoded.len() - size_of::<u64>());
    encoded
}
