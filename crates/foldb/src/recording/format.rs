//! The bytes of a recording.
//!
//! ```text
//! file      magic   8 bytes: "rec/fold"
//!           version u32
//!           frames
//! frame     length  u32: bytes of the records
//!           check   u64: checksum of the records, seeded with the offset of the frame
//!           records one after another
//! record    kind    u8, then:
//!   1 session   micros, process id (varint), version of foldb (string)
//!               A process began to record. The series and the state of changes start anew.
//!   2 series    kind of figure (u8), name (string)
//!               The next series. They count from 0.
//!   3 sample    micros, count; for each: series (varint), change of its value (zigzag varint)
//!   4 calls     micros, kind of call (string), change of the sum (varint nanoseconds), count;
//!               for each: bucket (varint), change of its calls (varint)
//!   5 event     micros, name, keyspace, detail (strings), count, total and longest micros,
//!               bytes read, bytes written, level + 1 or 0 (varints)
//!   6 key       micros, why (u8), keyspace, key (strings), length of the whole key, figure
//!   7 end       micros
//!               The database was closed.
//! micros    u64: since 1970
//! string    varint length, bytes
//! ```
//!
//! A file ends after its last whole frame. What follows was being written when the process ended.
//! A file may begin with the bytes of an older one, which it replaces.

use crate::encoding::format::{FLIGHT, FORMAT_VERSION};
use crate::encoding::{ByteReader, checksum, checksum_seed, put_length_delimited, put_varint};
use crate::error::Result;
use crate::stats::FigureKind;

/// Bytes before the first frame.
pub(super) const HEADER: usize = 12;

/// Bytes of a frame before its records.
const FRAME: usize = 12;

/// Most bytes of a frame's records: a longer one is damaged.
const LONGEST_FRAME: usize = 1 << 20;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    Session { micros: u64, process: u64, version: &'a str },
    Series { kind: FigureKind, name: &'a str },
    Sample { micros: u64, changes: Vec<(u64, i64)> },
    Calls { micros: u64, call: &'a str, nanos: u64, buckets: Vec<(u64, u64)> },
    Event { micros: u64, event: EventRecord<'a> },
    Key { micros: u64, key: KeyRecord<'a> },
    End { micros: u64 },
}

/// Events of one kind that happened since the last frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventRecord<'a> {
    pub(super) name: &'a str,
    pub(super) keyspace: &'a str,
    pub(super) detail: &'a str,
    pub(super) count: u64,
    pub(super) total_micros: u64,
    pub(super) longest_micros: u64,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    pub(super) level: Option<u64>,
}

/// A key that stood out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyRecord<'a> {
    pub(super) why: u8,
    pub(super) keyspace: &'a str,
    pub(super) key: &'a [u8],
    pub(super) len: u64,
    pub(super) figure: u64,
}

impl Record<'_> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let begin = |out: &mut Vec<u8>, kind: u8, micros: u64| {
            out.push(kind);
            out.extend(micros.to_le_bytes());
        };
        match self {
            Record::Session { micros, process, version } => {
                begin(out, 1, *micros);
                put_varint(out, *process);
                put_length_delimited(out, version.as_bytes());
            }
            Record::Series { kind, name } => {
                out.extend([2, *kind as u8]);
                put_length_delimited(out, name.as_bytes());
            }
            Record::Sample { micros, changes } => {
                begin(out, 3, *micros);
                put_varint(out, changes.len() as u64);
                for (series, change) in changes {
                    put_varint(out, *series);
                    put_varint(out, zigzag(*change));
                }
            }
            Record::Calls { micros, call, nanos, buckets } => {
                begin(out, 4, *micros);
                put_length_delimited(out, call.as_bytes());
                put_varint(out, *nanos);
                put_varint(out, buckets.len() as u64);
                for (bucket, calls) in buckets {
                    put_varint(out, *bucket);
                    put_varint(out, *calls);
                }
            }
            Record::Event { micros, event } => {
                begin(out, 5, *micros);
                event.encode(out);
            }
            Record::Key { micros, key } => {
                begin(out, 6, *micros);
                out.push(key.why);
                put_length_delimited(out, key.keyspace.as_bytes());
                put_length_delimited(out, key.key);
                put_varint(out, key.len);
                put_varint(out, key.figure);
            }
            Record::End { micros } => begin(out, 7, *micros),
        }
    }

    /// # Errors
    /// `Corruption` for bytes that no encoder writes.
    pub(super) fn decode<'a>(reader: &mut ByteReader<'a>) -> Result<Option<Record<'a>>> {
        let kind = reader.u8("kind of record")?;
        if kind == 2 {
            let kind = FigureKind::from_u8(reader.u8("kind of figure")?);
            let name = string(reader, "name of a series")?;
            return Ok(Some(Record::Series { kind, name }));
        }
        let micros = reader.u64("time")?;
        let record = match kind {
            1 => {
                let process = reader.varint("process")?;
                Record::Session { micros, process, version: string(reader, "version")? }
            }
            3 => {
                let changes = pairs(reader)?;
                let signed = |(series, change)| (series, unzigzag(change));
                Record::Sample { micros, changes: changes.into_iter().map(signed).collect() }
            }
            4 => {
                let call = string(reader, "kind of call")?;
                let nanos = reader.varint("sum")?;
                Record::Calls { micros, call, nanos, buckets: pairs(reader)? }
            }
            5 => Record::Event { micros, event: EventRecord::decode(reader)? },
            6 => {
                let why = reader.u8("why")?;
                let keyspace = string(reader, "keyspace")?;
                let key = reader.length_delimited("key")?;
                let (len, figure) = (reader.varint("length")?, reader.varint("figure")?);
                Record::Key { micros, key: KeyRecord { why, keyspace, key, len, figure } }
            }
            7 => Record::End { micros },
            // A later version has kinds that this one does not know. The rest of the frame cannot
            // be read.
            _ => return Ok(None),
        };
        Ok(Some(record))
    }
}

impl EventRecord<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        for text in [self.name, self.keyspace, self.detail] {
            put_length_delimited(out, text.as_bytes());
        }
        put_varint(out, self.count);
        put_varint(out, self.total_micros);
        put_varint(out, self.longest_micros);
        put_varint(out, self.bytes_read);
        put_varint(out, self.bytes_written);
        put_varint(out, self.level.map_or(0, |level| level.saturating_add(1)));
    }

    fn decode<'a>(reader: &mut ByteReader<'a>) -> Result<EventRecord<'a>> {
        Ok(EventRecord {
            name: string(reader, "name of an event")?,
            keyspace: string(reader, "keyspace")?,
            detail: string(reader, "detail")?,
            count: reader.varint("count")?,
            total_micros: reader.varint("time")?,
            longest_micros: reader.varint("longest time")?,
            bytes_read: reader.varint("bytes read")?,
            bytes_written: reader.varint("bytes written")?,
            level: reader.varint("level")?.checked_sub(1),
        })
    }
}

fn string<'a>(reader: &mut ByteReader<'a>, what: &str) -> Result<&'a str> {
    let bytes = reader.length_delimited(what)?;
    std::str::from_utf8(bytes)
        .map_err(|_| crate::Error::corruption(format!("{what}: expected text in UTF-8")))
}

fn pairs(reader: &mut ByteReader<'_>) -> Result<Vec<(u64, u64)>> {
    let count = reader.varint("count")?;
    // Each pair has two bytes at least, so a wrong count reserves no memory.
    let mut pairs = Vec::with_capacity((count as usize).min(reader.remaining() / 2));
    for _ in 0..count {
        pairs.push((reader.varint("number")?, reader.varint("change")?));
    }
    Ok(pairs)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Writes the start of a file.
pub(super) fn put_header(out: &mut Vec<u8>) {
    out.extend(FLIGHT.magic());
    out.extend(FORMAT_VERSION.to_le_bytes());
}

/// Writes a frame that begins at `offset` of its file.
pub(super) fn put_frame(out: &mut Vec<u8>, offset: u64, records: &[u8]) {
    out.extend((records.len() as u32).to_le_bytes());
    out.extend(check(offset, records).to_le_bytes());
    out.extend(records);
}

fn check(offset: u64, records: &[u8]) -> u64 {
    // A file may begin with the bytes of an older one, so no file number is part of the seed.
    checksum(checksum_seed(0, offset), records)
}

/// Walks through the frames of a file.
pub(super) struct Frames<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Frames<'a> {
    /// # Errors
    /// `Corruption` or `Unsupported` if the file does not begin as one of this version.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Frames<'a>> {
        let mut reader = ByteReader::new(bytes);
        FLIGHT.check_magic(reader.take(8, "magic")?)?;
        FLIGHT.check_version(reader.u32("format version")?)?;
        Ok(Frames { bytes, offset: HEADER })
    }

    /// Returns how many bytes are left after the last whole frame.
    pub(super) fn rest(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Returns the end of the last whole frame.
    pub(super) fn end(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.offset..];
        let len = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let stored = u64::from_le_bytes(rest.get(4..FRAME)?.try_into().ok()?);
        let records = rest.get(FRAME..FRAME + len).filter(|_| len <= LONGEST_FRAME)?;
        if check(self.offset as u64, records) != stored {
            return None;
        }
        self.offset += FRAME + len;
        Some(records)
    }
}
