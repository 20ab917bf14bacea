//! The text of a file, as LevelDB's `DumpFile` prints it: every record, and every loss.
//!
//! Invariant: keys and values become printable ASCII, whatever their bytes are.

use std::collections::BTreeSet;

use crate::batch::{self, Batch};
use crate::edit::{BadField, Edit};
use crate::encoding::{DELETION, VALUE, kind_of, sequence_of, split_internal};
use crate::records::{LAST, Reason, Records, Step, WHOLE};

/// Prints the records of a log. `out` gets the text in pieces.
pub fn log(file: &[u8], out: &mut dyn FnMut(&[u8])) {
    records(file, out, batch);
}

/// Prints the records of a manifest.
pub fn manifest(file: &[u8], out: &mut dyn FnMut(&[u8])) {
    records(file, out, edit);
}

/// Returns the line of an entry of a table.
pub fn entry(key: &[u8], value: &[u8]) -> String {
    let value = escaped(value);
    match split_internal(key) {
        None => format!("badkey '{}' => '{value}'\n", escaped(key)),
        Some((key, tag)) => {
            let kind = if kind_of(tag) == DELETION { "del" } else { "val" };
            format!("'{}' @ {} : {kind} => '{value}'\n", escaped(key), sequence_of(tag))
        }
    }
}

fn records(file: &[u8], out: &mut dyn FnMut(&[u8]), print: fn(&[u8], &mut Vec<u8>)) {
    let mut records = Records::of(file);
    let mut text = Vec::new();
    loop {
        text.clear();
        match records.advance() {
            Step::Record => {
                let at = records.offset();
                text.extend_from_slice(format!("--- offset {at}; ").as_bytes());
                print(records.record(), &mut text);
            }
            Step::Lost(loss) if loss.reason == Reason::Zeros => {}
            Step::Lost(loss) => {
                let (bytes, why) = (loss.bytes, why(loss.reason));
                let line = format!("corruption: {bytes} bytes; Corruption: {why}\n");
                text.extend_from_slice(line.as_bytes());
            }
            Step::End => return,
        }
        out(&text);
    }
}

fn why(reason: Reason) -> String {
    match reason {
        Reason::Length => "bad record length".to_owned(),
        Reason::Checksum => "checksum mismatch".to_owned(),
        Reason::Zeros => "zeros".to_owned(),
        Reason::Kind(kind) => format!("unknown record type {kind}"),
        Reason::NoEnd(kind) => {
            format!("partial record without end({})", if kind == WHOLE { 1 } else { 2 })
        }
        Reason::NoBegin(kind) => {
            let case = if kind == LAST { 2 } else { 1 };
            format!("missing start of fragmented record({case})")
        }
        Reason::Broken => "error in middle of record".to_owned(),
    }
}

fn batch(record: &[u8], text: &mut Vec<u8>) {
    let Some(batch) = Batch::new(record) else {
        let line = format!("log record length {} is too small\n", record.len());
        return text.extend_from_slice(line.as_bytes());
    };
    text.extend_from_slice(format!("sequence {}\n", batch.sequence).as_bytes());
    for write in batch {
        let line = match write {
            Ok(write) if write.kind == VALUE => {
                format!("  put '{}' '{}'\n", escaped(write.key), escaped(write.value))
            }
            Ok(write) => format!("  del '{}'\n", escaped(write.key)),
            Err(bad) => {
                let what = match bad {
                    batch::Bad::Value => "bad WriteBatch Put",
                    batch::Bad::Deletion => "bad WriteBatch Delete",
                    batch::Bad::Kind => "unknown WriteBatch tag",
                    batch::Bad::Count => "WriteBatch has wrong count",
                };
                format!("  error: Corruption: {what}\n")
            }
        };
        text.extend_from_slice(line.as_bytes());
    }
}

/// Prints the fields by kind, whatever their order in the edit.
fn edit(record: &[u8], text: &mut Vec<u8>) {
    let edit = match Edit::decode(record) {
        Ok(edit) => edit,
        Err(bad) => {
            let line = format!("Corruption: VersionEdit: {}\n", bad_field(bad));
            return text.extend_from_slice(line.as_bytes());
        }
    };
    text.extend_from_slice(b"VersionEdit {");
    if let Some(name) = &edit.comparator {
        text.extend_from_slice(b"\n  Comparator: ");
        text.extend_from_slice(name);
    }
    let mut line = |line: String| text.extend_from_slice(line.as_bytes());
    for (name, number) in [
        ("LogNumber", edit.log),
        ("PrevLogNumber", edit.previous_log),
        ("NextFile", edit.next_file),
        ("LastSeq", edit.last_sequence),
    ] {
        if let Some(number) = number {
            line(format!("\n  {name}: {number}"));
        }
    }
    for (level, key) in &edit.pointers {
        line(format!("\n  CompactPointer: {level} {}", internal(key)));
    }
    for (level, number) in edit.removed.iter().collect::<BTreeSet<_>>() {
        line(format!("\n  RemoveFile: {level} {number}"));
    }
    for table in &edit.added {
        let (smallest, largest) = (internal(&table.smallest), internal(&table.largest));
        let (level, number, size) = (table.level, table.number, table.size);
        line(format!("\n  AddFile: {level} {number} {size} {smallest} .. {largest}"));
    }
    line("\n}\n".to_owned());
}

fn bad_field(bad: BadField) -> &'static str {
    match bad.0 {
        None => "invalid tag",
        Some(1) => "comparator name",
        Some(2) => "log number",
        Some(3) => "next file number",
        Some(4) => "last sequence number",
        Some(5) => "compaction pointer",
        Some(6) => "deleted file",
        Some(7) => "new-file entry",
        Some(9) => "previous log number",
        Some(_) => "unknown tag",
    }
}

fn internal(key: &[u8]) -> String {
    match split_internal(key) {
        None => format!("(bad){}", escaped(key)),
        Some((user, tag)) => {
            format!("'{}' @ {} : {}", escaped(user), sequence_of(tag), kind_of(tag))
        }
    }
}

/// Returns printable ASCII as it is, and every other byte as `\xNN`.
fn escaped(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                text.push_str("\\x");
                text.push(char::from(DIGITS[usize::from(byte >> 4)]));
                text.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::TableInfo;
    use crate::records::append;

    fn file(records: &[&[u8]]) -> Vec<u8> {
        let mut file = Vec::new();
        records.iter().for_each(|record| append(&mut file, record));
        file
    }

    fn text(dump: impl FnOnce(&mut dyn FnMut(&[u8]))) -> String {
        let mut text = Vec::new();
        dump(&mut |piece| text.extend_from_slice(piece));
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_log_shows_its_writes_and_losses() {
        let batch = b"\x07\0\0\0\0\0\0\0\x03\0\0\0\x01\x01a\x02\xff~\x00\x01b";
        let mut file = file(&[batch, b"short", batch]);
        let second = 7 + batch.len() + 12;
        file[second + 8] ^= 1;
        let expected = format!(
            "--- offset 0; sequence 7\n  put 'a' '\\xff~'\n  del 'b'\n  \
             error: Corruption: WriteBatch has wrong count\n\
             --- offset {}; log record length 5 is too small\n\
             corruption: {} bytes; Corruption: checksum mismatch\n",
            7 + batch.len(),
            7 + batch.len(),
        );
        assert_eq!(text(|out| log(&file, out)), expected);
    }

    #[test]
    fn a_manifest_shows_its_edits() {
        let key = b"k\x01\x09\0\0\0\0\0\0".to_vec();
        let table = TableInfo { level: 1, number: 5, size: 99, smallest: key, largest: vec![1] };
        let edit = Edit {
            comparator: Some(b"name".to_vec()),
            last_sequence: Some(9),
            removed: vec![(2, 8), (0, 9), (2, 8)],
            added: vec![table],
            ..Edit::default()
        };
        let expected = "--- offset 0; VersionEdit {\n  Comparator: name\n  LastSeq: 9\n  \
                        RemoveFile: 0 9\n  RemoveFile: 2 8\n  \
                        AddFile: 1 5 99 'k' @ 9 : 1 .. (bad)\\x01\n}\n\
                        --- offset 65; Corruption: VersionEdit: unknown tag\n";
        let found = text(|out| manifest(&file(&[&edit.encode(), &[8]]), out));
        assert_eq!(found, expected.replace("65", &(7 + edit.encode().len()).to_string()));
    }

    #[test]
    fn entries_show_kind_and_number() {
        assert_eq!(entry(b"k\0\x05\0\0\0\0\0\0", b"\n"), "'k' @ 5 : del => '\\x0a'\n");
        assert_eq!(entry(b"k", b"v"), "badkey 'k' => 'v'\n");
    }
}
