//! The properties that a table stores about itself. With them a tool can read the table without its
//! database.
//!
//! ```text
//! +------------+-----+-------+------------+-----+-------+-----
//! | tag varint | len | value | tag varint | len | value | ...     numbers are varints
//! +------------+-----+-------+------------+-----+-------+-----
//! ```
//!
//! A reader skips tags that it does not know. Tags are on disk: never renumber, never reuse.

use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::fold::Definition;
use crate::key::{KeyspaceId, SeqNo};
use crate::settings::codec_from_u8;
use crate::settings::{Compression, Expiry};
use crate::table::expiry::TableExpiry;
use crate::table::frame::Handle;

mod tag {
    pub(super) const DATABASE_ID: u64 = 1;
    pub(super) const KEYSPACE: u64 = 2;
    pub(super) const FILE_NUMBER: u64 = 3;
    pub(super) const COMPARATOR: u64 = 4;
    pub(super) const ENTRIES: u64 = 5;
    pub(super) const DELETES: u64 = 6;
    pub(super) const MERGES: u64 = 7;
    pub(super) const RAW_KEY_BYTES: u64 = 8;
    pub(super) const RAW_VALUE_BYTES: u64 = 9;
    pub(super) const SMALLEST: u64 = 10;
    pub(super) const LARGEST: u64 = 11;
    pub(super) const SMALLEST_SEQNO: u64 = 12;
    pub(super) const LARGEST_SEQNO: u64 = 13;
    pub(super) const OPERATOR: u64 = 14;
    pub(super) const COMPRESSION: u64 = 15;
    pub(super) const FILTER_BITS: u64 = 16;
    pub(super) const RANGE_DELETES: u64 = 17;
    pub(super) const REFERENCES: u64 = 18;
    pub(super) const SURROUNDINGS: u64 = 19;
    pub(super) const FLUSHED_WITH: u64 = 20;
    pub(super) const LOADED: u64 = 21;
    pub(super) const EXPIRY: u64 = 22;

    /// The tags of numbers that every table has are below this one.
    pub(super) const NUMBERS: usize = RANGE_DELETES as usize + 1;
}

/// A table's properties. Sizes are bytes, before compression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The database that wrote it.
    pub database_id: u64,
    /// The keyspace its records belong to.
    pub keyspace: KeyspaceId,
    /// The file number under which it was written.
    pub file_number: u64,
    /// Name of the comparator that orders it.
    pub comparator: String,
    /// Number of records.
    pub entries: u64,
    /// Number of records that are deletes.
    pub deletes: u64,
    /// Number of records that are merges.
    pub merges: u64,
    /// Number of range tombstones.
    pub range_deletes: u64,
    /// The place of its references to value segments. Stored if there are any.
    pub references: Option<Handle>,
    /// What a repair without a manifest needs to know about the tree around the table. Stored if it
    /// is given.
    pub surroundings: Option<Surroundings>,
    /// The last write of the flush that wrote the table, unless this is the flush's last table. If
    /// the last table is missing, the flush was interrupted, and the logs have the records.
    pub flushed_with: Option<SeqNo>,
    /// The sorted load that wrote the table. The records of such a table carry the number 0: the
    /// manifest has the sequence number of them all.
    pub loaded: Option<Loaded>,
    /// Bytes of keys, counted for each version.
    pub raw_key_bytes: u64,
    /// Bytes of values.
    pub raw_value_bytes: u64,
    /// First user key.
    pub smallest: Vec<u8>,
    /// Last user key.
    pub largest: Vec<u8>,
    /// Smallest sequence number of a record; 0 without records.
    pub smallest_seqno: SeqNo,
    /// Largest sequence number of a record; 0 without records.
    pub largest_seqno: SeqNo,
    /// The operators that its merge records name.
    pub operators: Vec<Definition>,
    /// The requested compression.
    pub compression: Compression,
    /// Filter bits per key; 0 if it has no built-in filter.
    pub filter_bits: u32,
    /// The expiry of the keyspace, and that of the records. Stored if there is one.
    pub expiry: Option<(Expiry, TableExpiry)>,
}

/// The tree just before a flush or a slice was installed, stored in the last table of that work.
/// Otherwise only the manifest has this information.
///
/// ```text
/// flushed through varint | files varint | per file: number varint, pieces varint,
///                          per piece: lo, hi (length varint, bytes each), hi included u8
/// | loads varint | per load: first file varint, seqno varint
/// | live varint | per file: number varint, less that of the file before it
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Writes up to this number are in tables; 0 if the table says nothing about that.
    pub flushed_through: SeqNo,
    /// The visible pieces of each file that is not visible as a whole.
    pub trimmed: Vec<(u64, Vec<Piece>)>,
    /// The sorted loads in the tree: the first file of each, and its sequence number.
    pub loads: Vec<(u64, SeqNo)>,
    /// The files with visible parts, ascending. A repair notices by them that a table is missing.
    pub live: Vec<u64>,
}

/// The part of a table in a sorted load.
///
/// ```text
/// first table varint | tables varint
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The file number of the load's first table, which tells loads apart.
    pub first: u64,
    /// How many tables the load has, if this is its last one; 0 in the others.
    pub tables: u64,
}

/// A key range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first key.
    pub lo: Vec<u8>,
    /// Its end.
    pub hi: Vec<u8>,
    /// Whether the key at the end is part of it.
    pub hi_included: bool,
}

impl Surroundings {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.flushed_through);
        put_varint(&mut out, self.trimmed.len() as u64);
        for (file, pieces) in &self.trimmed {
            put_varint(&mut out, *file);
            put_varint(&mut out, pieces.len() as u64);
            for piece in pieces {
                put_length_delimited(&mut out, &piece.lo);
                put_length_delimited(&mut out, &piece.hi);
                out.push(piece.hi_included.into());
            }
        }
        put_varint(&mut out, self.loads.len() as u64);
        for &(first, seqno) in &self.loads {
            put_varint(&mut out, first);
            put_varint(&mut out, seqno);
        }
        assert!(self.live.is_sorted(), "live files are stored as distances, in their order");
        put_varint(&mut out, self.live.len() as u64);
        let mut before = 0;
        for &file in &self.live {
            put_varint(&mut out, file - before);
            before = file;
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Surroundings> {
        let mut bytes = ByteReader::new(bytes);
        let flushed_through = bytes.varint("properties: flushed through")?;
        let mut trimmed = Vec::new();
        for _ in 0..bytes.varint("properties: trimmed files")? {
            let file = bytes.varint("properties: trimmed file")?;
            let mut pieces = Vec::new();
            for _ in 0..bytes.varint("properties: pieces")? {
                pieces.push(Piece {
                    lo: bytes.length_delimited("properties: piece")?.to_vec(),
                    hi: bytes.length_delimited("properties: end of a piece")?.to_vec(),
                    hi_included: bytes.u8("properties: end of a piece")? != 0,
                });
            }
            trimmed.push((file, pieces));
        }
        let mut loads = Vec::new();
        let count = if bytes.is_empty() { 0 } else { bytes.varint("properties: loads")? };
        for _ in 0..count {
            let first = bytes.varint("properties: first table of a load")?;
            loads.push((first, bytes.varint("properties: seqno of a load")?));
        }
        let count = if bytes.is_empty() { 0 } else { bytes.varint("properties: live files")? };
        let (mut live, mut before) = (Vec::new(), 0u64);
        for _ in 0..count {
            before = before.saturating_add(bytes.varint("properties: live file")?);
            live.push(before);
        }
        Ok(Surroundings { flushed_through, trimmed, loads, live })
    }
}

impl Properties {
    /// Encodes the payload of the properties frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let numbers = [
            (tag::DATABASE_ID, self.database_id),
            (tag::KEYSPACE, u64::from(self.keyspace)),
            (tag::FILE_NUMBER, self.file_number),
            (tag::ENTRIES, self.entries),
            (tag::DELETES, self.deletes),
            (tag::MERGES, self.merges),
            (tag::RAW_KEY_BYTES, self.raw_key_bytes),
            (tag::RAW_VALUE_BYTES, self.raw_value_bytes),
            (tag::SMALLEST_SEQNO, self.smallest_seqno),
            (tag::LARGEST_SEQNO, self.largest_seqno),
            (tag::COMPRESSION, u64::from(self.compression as u8)),
            (tag::FILTER_BITS, u64::from(self.filter_bits)),
            (tag::RANGE_DELETES, self.range_deletes),
        ];
        let mut number_bytes = Vec::new();
        for (tag, number) in numbers {
            number_bytes.clear();
            put_varint(&mut number_bytes, number);
            put_field(&mut out, tag, &number_bytes);
        }
        if let Some(Handle { offset, len }) = self.references {
            number_bytes.clear();
            put_varint(&mut number_bytes, offset);
            put_varint(&mut number_bytes, u64::from(len));
            put_field(&mut out, tag::REFERENCES, &number_bytes);
        }
        if let Some(surroundings) = &self.surroundings {
            put_field(&mut out, tag::SURROUNDINGS, &surroundings.encode());
        }
        if let Some(through) = self.flushed_with {
            number_bytes.clear();
            put_varint(&mut number_bytes, through);
            put_field(&mut out, tag::FLUSHED_WITH, &number_bytes);
        }
        if let Some(Loaded { first, tables }) = self.loaded {
            number_bytes.clear();
            put_varint(&mut number_bytes, first);
            put_varint(&mut number_bytes, tables);
            put_field(&mut out, tag::LOADED, &number_bytes);
        }
        if let Some((settings, own)) = &self.expiry {
            number_bytes.clear();
            own.encode(&mut number_bytes);
            settings.encode(&mut number_bytes);
            put_field(&mut out, tag::EXPIRY, &number_bytes);
        }
        put_field(&mut out, tag::COMPARATOR, self.comparator.as_bytes());
        put_field(&mut out, tag::SMALLEST, &self.smallest);
        put_field(&mut out, tag::LARGEST, &self.largest);
        for operator in &self.operators {
            let mut body = Vec::new();
            operator.encode(&mut body);
            put_field(&mut out, tag::OPERATOR, &body);
        }
        out
    }

    /// Decodes the payload of the properties frame.
    ///
    /// # Errors
    /// `Corruption` for malformed or missing fields; `Unsupported` for a codec this version does
    /// not know.
    pub fn decode(payload: &[u8]) -> Result<Properties> {
        let mut numbers = [None; tag::NUMBERS];
        let (mut comparator, mut smallest, mut largest) = (None, None, None);
        let (mut operators, mut references) = (Vec::new(), None);
        let (mut surroundings, mut flushed_with, mut loaded) = (None, None, None);
        let mut expiry = None;
        let mut reader = ByteReader::new(payload);
        while !reader.is_empty() {
            let tag = reader.varint("properties: tag")?;
            let value = reader.length_delimited("properties: value")?;
            match tag {
                tag::COMPARATOR => comparator = Some(text(value, "comparator name")?),
                tag::SMALLEST => smallest = Some(value.to_vec()),
                tag::LARGEST => largest = Some(value.to_vec()),
                tag::OPERATOR => operators.push(Definition::decode(&mut ByteReader::new(value))?),
                tag::REFERENCES => {
                    let mut handle = ByteReader::new(value);
                    let offset = handle.varint("references: offset")?;
                    references =
                        Some(Handle { offset, len: handle.varint32("references: length")? });
                }
                tag::SURROUNDINGS => surroundings = Some(Surroundings::decode(value)?),
                tag::FLUSHED_WITH => flushed_with = Some(number(value)?),
                tag::LOADED => {
                    let mut value = ByteReader::new(value);
                    let first = value.varint("properties: first table of a load")?;
                    let tables = value.varint("properties: tables of a load")?;
                    loaded = Some(Loaded { first, tables });
                }
                tag::EXPIRY => {
                    let mut value = ByteReader::new(value);
                    let own = TableExpiry::decode(&mut value)?;
                    expiry = Some((Expiry::decode(&mut value)?, own));
                }
                tag => {
                    let at = usize::try_from(tag).unwrap_or(usize::MAX);
                    if let Some(known) = numbers.get_mut(at) {
                        *known = Some(number(value)?);
                    }
                }
            }
        }
        let missing =
            |tag| Error::corruption(format!("properties: expected tag {tag}, found none"));
        let number = |tag: u64| numbers[tag as usize].ok_or_else(|| missing(tag));
        let narrow = |tag: u64| {
            number(tag)?.try_into().map_err(|_| {
                Error::corruption(format!("properties: tag {tag}: expected 32 bits, found more"))
            })
        };
        let codec = u8::try_from(number(tag::COMPRESSION)?).unwrap_or(u8::MAX);
        Ok(Properties {
            database_id: number(tag::DATABASE_ID)?,
            keyspace: narrow(tag::KEYSPACE)?,
            file_number: number(tag::FILE_NUMBER)?,
            comparator: comparator.ok_or_else(|| missing(tag::COMPARATOR))?,
            entries: number(tag::ENTRIES)?,
            deletes: number(tag::DELETES)?,
            merges: number(tag::MERGES)?,
            range_deletes: number(tag::RANGE_DELETES)?,
            references,
            surroundings,
            flushed_with,
            loaded,
            raw_key_bytes: number(tag::RAW_KEY_BYTES)?,
            raw_value_bytes: number(tag::RAW_VALUE_BYTES)?,
            smallest: smallest.ok_or_else(|| missing(tag::SMALLEST))?,
            largest: largest.ok_or_else(|| missing(tag::LARGEST))?,
            smallest_seqno: number(tag::SMALLEST_SEQNO)?,
            largest_seqno: number(tag::LARGEST_SEQNO)?,
            operators,
            compression: codec_from_u8(codec)?,
            filter_bits: narrow(tag::FILTER_BITS)?,
            expiry,
        })
    }

    /// Returns the bytes in memory, beside the struct itself.
    pub fn memory_bytes(&self) -> usize {
        let operators = self
            .operators
            .iter()
            .map(|o| std::mem::size_of::<Definition>() + o.name.len() + o.parameters.len());
        self.comparator.len() + self.smallest.len() + self.largest.len() + operators.sum::<usize>()
    }
}

fn put_field(out: &mut Vec<u8>, tag: u64, value: &[u8]) {
    put_varint(out, tag);
    put_length_delimited(out, value);
}

fn number(value: &[u8]) -> Result<u64> {
    ByteReader::new(value).varint("properties: number")
}

fn text(value: &[u8], what: &str) -> Result<String> {
    String::from_utf8(value.to_vec()).map_err(|_| {
        Error::corruption(format!(
            "properties: {what}: expected UTF-8, found \"{}\"",
            value.escape_ascii()
        ))
    })
}
