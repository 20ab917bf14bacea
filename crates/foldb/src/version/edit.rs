//! Edits: the steps from one version to the next, as the manifest stores them.
//!
//! ```text
//! edit: fields, each  tag varint | length varint | body
//!   of the database:
//!   1 database          u64
//!   2 log               varint: logs below this number are not needed
//!   3 next file         varint
//!   4 next run          varint
//!   5 last seqno        varint
//!   6 next keyspace     varint: the id of the next one; smaller ids are never reused
//!   7 operator          definition, as in the log
//!   8 statistics        varints, see `counters`
//!   9 dropped           keyspace varint: it exists no longer
//!
//!  24 end of the feed   log u64 | its id u64 | its frames u64: the log before field 2, see
//!                       `wal::lineage`. A field 2 without it says that no log was kept
//!  25 time              varint: the last second of the database's time, see `db::state::time`; an
//!                       edit with an earlier one resets it
//!
//!  10 keyspace          varint: the keyspace of the fields after it
//!  11 name              UTF-8: the keyspace is created
//!  12 comparator        name
//!  13 levels            varint
//!  14 default operator  id varint
//!  15 settings          compression u8 | filter bits varint | compaction preset u8 |
//!                       [least bytes of a separated value varint [expiry]]
//!  16 flushed through   seqno varint
//!  17 new run           level varint | run varint | what follows varint: 0 it is the newest, else
//!                       the run it stands directly before, plus one
//!  18 new table         run varint | file facts | lo | upper
//!  19 carve             run varint | lo option | hi option: records inside exist no longer
//!  20 segment           a value segment lies here: segment varint | file varint | offset varint |
//!                       length varint | bytes of its records varint | values varint | flags varint
//!  21 dead share        IEEE 754 double, in 0..=1: see `compaction::policy::DeadShare`
//!  22 filter policy     name
//!  27 schema            UTF-8, see `KeyspaceOptions::schema`
//!  23 loaded table      run varint | file facts | lo | upper | first file of its load varint: all
//!                       its records have the largest seqno
//!  26 expiring table    run varint | file facts | lo | upper | first file of its load plus one
//!                       varint, 0 for none | expiry, see `table::expiry`
//!
//! file facts: ten varints (file, length, records, deletes, merges, range tombstones, older records
//!             that these delete, smallest and largest seqno, kept apart: see `FileFacts`) |
//!             smallest key | upper | count varint, samples | count varint, references
//! reference:  segment varint | bytes of its records that the table refers to varint
//! key:        length varint | bytes                  upper: 1 included or 2 excluded u8 | key
//! ```
//!
//! The decoder refuses an edit with an unknown tag: a program must not drop fields that it does not
//! know. One edit holds a carve and the tables that replace the carved part. So after a crash the
//! tree has either the old records or the new ones. For the same reason a flush of several
//! keyspaces is one edit.

use std::sync::Arc;

use crate::encoding::ByteReader;
use crate::encoding::put_varint;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Definition;
use crate::fold::stamp::Moment;
use crate::key::{KeyList, KeyspaceId, SeqNo};
use crate::segment::Placement;
use crate::table::expiry::TableExpiry;
use crate::version::bounds::{Key, KeyRange, Upper};
use crate::version::file::FileFacts;
use crate::version::keyspace_edit::KeyspaceEdit;
use crate::version::level::RunId;
use crate::wal::Predecessor;

/// One step. A field that is `None` changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Edit {
    pub(crate) database: Option<u64>,
    pub(crate) log: Option<u64>,
    pub(crate) next_file: Option<u64>,
    pub(crate) next_run: Option<u64>,
    pub(crate) last_seqno: Option<SeqNo>,
    pub(crate) next_keyspace: Option<KeyspaceId>,
    pub(crate) operators: Vec<Definition>,
    /// Totals since the database was created.
    pub(crate) totals: Option<Vec<u64>>,
    /// Changes of keyspaces, one section for each.
    pub(crate) keyspaces: Vec<KeyspaceEdit>,
    /// Keyspaces that the edit drops.
    pub(crate) dropped: Vec<KeyspaceId>,
    /// The log before `log`, if logs are kept for the change feed. It belongs to `log`.
    pub(crate) feed_end: Option<Predecessor>,
    /// The last second of the database's time.
    pub(crate) time: Option<Moment>,
}

/// One change of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeEdit {
    /// Adds an empty run: as the newest of its level, or directly before (newer than) another run.
    NewRun { level: usize, run: RunId, before: Option<RunId> },
    /// Adds a table, or a part of one, to a run.
    Insert { run: RunId, file: FileFacts, lo: Key, hi: Upper },
    /// Removes everything in `range` from the run. An empty run is removed.
    Carve { run: RunId, range: KeyRange },
    /// Notes where a value segment lies. This place replaces the segment's earlier place. After the
    /// edit, a file is removed if tables refer to none of its segments.
    Place(Placement),
}

pub(super) mod tag {
    pub(crate) const DATABASE: u64 = 1;
    pub(crate) const LOG: u64 = 2;
    pub(crate) const NEXT_FILE: u64 = 3;
    pub(crate) const NEXT_RUN: u64 = 4;
    pub(crate) const LAST_SEQNO: u64 = 5;
    pub(crate) const NEXT_KEYSPACE: u64 = 6;
    pub(crate) const OPERATOR: u64 = 7;
    pub(crate) const TOTALS: u64 = 8;
    pub(crate) const DROPPED: u64 = 9;
    pub(crate) const KEYSPACE: u64 = 10;
    pub(crate) const NAME: u64 = 11;
    pub(crate) const COMPARATOR: u64 = 12;
    pub(crate) const NUM_LEVELS: u64 = 13;
    pub(crate) const DEFAULT_OPERATOR: u64 = 14;
    pub(crate) const SETTINGS: u64 = 15;
    pub(crate) const FLUSHED_THROUGH: u64 = 16;
    pub(crate) const NEW_RUN: u64 = 17;
    pub(crate) const INSERT: u64 = 18;
    pub(crate) const CARVE: u64 = 19;
    pub(crate) const SEGMENT: u64 = 20;
    pub(crate) const DEAD_SHARE: u64 = 21;
    pub(crate) const FILTER_POLICY: u64 = 22;
    pub(crate) const LOADED: u64 = 23;
    pub(crate) const FEED_END: u64 = 24;
    pub(crate) const TIME: u64 = 25;
    pub(crate) const EXPIRING: u64 = 26;
    pub(crate) const SCHEMA: u64 = 27;
}

impl Edit {
    /// Makes an edit of one keyspace.
    pub(crate) fn of_keyspace(change: KeyspaceEdit) -> Edit {
        Edit { keyspaces: vec![change], ..Edit::default() }
    }

    /// Appends the encoding drawn above.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields { out, body: Vec::new() };
        if let Some(database) = self.database {
            fields.add(tag::DATABASE, |body| body.extend_from_slice(&database.to_le_bytes()));
        }
        for (tag, number) in [
            (tag::LOG, self.log),
            (tag::NEXT_FILE, self.next_file),
            (tag::NEXT_RUN, self.next_run),
            (tag::LAST_SEQNO, self.last_seqno),
            (tag::NEXT_KEYSPACE, self.next_keyspace.map(u64::from)),
            (tag::TIME, self.time.map(u64::from)),
        ] {
            if let Some(number) = number {
                fields.add(tag, |body| put_varint(body, number));
            }
        }
        for definition in &self.operators {
            fields.add(tag::OPERATOR, |body| definition.encode(body));
        }
        if let Some(totals) = &self.totals {
            fields
                .add(tag::TOTALS, |body| totals.iter().for_each(|total| put_varint(body, *total)));
        }
        if let Some(Predecessor { log, id, frames }) = self.feed_end {
            fields.add(tag::FEED_END, |body| {
                for word in [log, id, frames] {
                    body.extend_from_slice(&word.to_le_bytes());
                }
            });
        }
        for keyspace in &self.keyspaces {
            keyspace.encode(&mut fields);
        }
        for id in &self.dropped {
            fields.add(tag::DROPPED, |body| put_varint(body, u64::from(*id)));
        }
    }

    /// Reads an edit.
    ///
    /// # Errors
    /// `Corruption` if a field is malformed; `Unsupported` for an unknown field.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Edit> {
        let mut edit = Edit::default();
        let mut bytes = ByteReader::new(bytes);
        while !bytes.is_empty() {
            let tag = bytes.varint("field tag")?;
            let mut body = ByteReader::new(bytes.length_delimited("field")?);
            if !edit.decode_field(tag, &mut body)? {
                edit.decode_keyspace_field(tag, &mut body)?;
            }
            if !body.is_empty() {
                let left = body.remaining();
                return Err(Error::corruption(format!("field {tag} has {left} bytes too many")));
            }
        }
        Ok(edit)
    }

    /// Reads a field of the database, or the beginning of a keyspace's section. Returns `false` for
    /// any other field.
    fn decode_field(&mut self, tag: u64, body: &mut ByteReader<'_>) -> Result<bool> {
        match tag {
            tag::DATABASE => self.database = Some(body.u64("database")?),
            tag::LOG => self.log = Some(body.varint("log")?),
            tag::NEXT_FILE => self.next_file = Some(body.varint("next file")?),
            tag::NEXT_RUN => self.next_run = Some(body.varint("next run")?),
            tag::LAST_SEQNO => self.last_seqno = Some(body.varint("last seqno")?),
            tag::NEXT_KEYSPACE => self.next_keyspace = Some(body.varint32("next keyspace")?),
            tag::OPERATOR => self.operators.push(Definition::decode(body)?),
            tag::TOTALS => {
                let mut totals = Vec::new();
                while !body.is_empty() {
                    totals.push(body.varint("total")?);
                }
                self.totals = Some(totals);
            }
            tag::FEED_END => {
                self.feed_end = Some(Predecessor {
                    log: body.u64("log of the feed")?,
                    id: body.u64("id of the log")?,
                    frames: body.u64("frames of the log")?,
                });
            }
            tag::TIME => self.time = Some(body.varint32("time")?),
            tag::KEYSPACE => {
                let id = body.varint32("keyspace")?;
                self.keyspaces.push(KeyspaceEdit { id, ..KeyspaceEdit::default() });
            }
            tag::DROPPED => self.dropped.push(body.varint32("dropped keyspace")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a field of the keyspace whose section began last.
    fn decode_keyspace_field(&mut self, tag: u64, body: &mut ByteReader<'_>) -> Result<()> {
        let is_later = matches!(tag, tag::EXPIRING | tag::SCHEMA);
        if !(tag::NAME..=tag::LOADED).contains(&tag) && !is_later {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("unknown manifest field {tag}: use the foldb that wrote it"),
            ));
        }
        match self.keyspaces.last_mut() {
            Some(section) => section.decode_field(tag, body),
            None => Err(Error::corruption(format!("field {tag} stands before any keyspace"))),
        }
    }
}

impl TreeEdit {
    pub(super) fn encode(&self, fields: &mut Fields<'_>) {
        match self {
            TreeEdit::NewRun { level, run, before } => fields.add(tag::NEW_RUN, |body| {
                put_varint(body, *level as u64);
                put_varint(body, *run);
                put_varint(body, before.map_or(0, |before| before + 1));
            }),
            TreeEdit::Insert { run, file, lo, hi } => {
                let tag = match (file.loaded, file.expiry) {
                    (_, Some(_)) => tag::EXPIRING,
                    (Some(_), None) => tag::LOADED,
                    (None, None) => tag::INSERT,
                };
                fields.add(tag, |body| {
                    put_varint(body, *run);
                    file.encode(body);
                    write_key(body, lo);
                    write_upper(body, hi);
                    match (file.loaded, &file.expiry) {
                        (loaded, Some(expiry)) => {
                            put_varint(body, loaded.map_or(0, |first| first + 1));
                            expiry.encode(body);
                        }
                        (Some(first), None) => put_varint(body, first),
                        (None, None) => {}
                    }
                });
            }
            TreeEdit::Place(placement) => {
                fields.add(tag::SEGMENT, |body| placement.encode(body));
            }
            TreeEdit::Carve { run, range } => fields.add(tag::CARVE, |body| {
                put_varint(body, *run);
                match &range.lo {
                    None => body.push(0),
                    Some(lo) => {
                        body.push(1);
                        write_key(body, lo);
                    }
                }
                match &range.hi {
                    None => body.push(0),
                    Some(hi) => write_upper(body, hi),
                }
            }),
        }
    }

    pub(super) fn decode(tag: u64, body: &mut ByteReader<'_>) -> Result<TreeEdit> {
        match tag {
            tag::NEW_RUN => Ok(TreeEdit::NewRun {
                level: body.varint32("level")? as usize,
                run: body.varint("run")?,
                before: body.varint("next run in the level")?.checked_sub(1),
            }),
            tag::INSERT | tag::LOADED | tag::EXPIRING => {
                let run = body.varint("run")?;
                let mut file = FileFacts::decode(body)?;
                let lo = body.length_delimited("lower bound")?.into();
                let hi = read_upper(body)?
                    .ok_or_else(|| Error::corruption("a table without an upper bound"))?;
                if tag == tag::LOADED {
                    file.loaded = Some(body.varint("first file of a load")?);
                }
                if tag == tag::EXPIRING {
                    file.loaded = body.varint("first file of a load")?.checked_sub(1);
                    file.expiry = Some(TableExpiry::decode(body)?);
                }
                Ok(TreeEdit::Insert { run, file, lo, hi })
            }
            tag::SEGMENT => Placement::decode(body).map(TreeEdit::Place),
            _ => {
                let run = body.varint("run")?;
                let lo = match body.u8("lower bound")? {
                    0 => None,
                    _ => Some(body.length_delimited("lower bound")?.into()),
                };
                let hi = read_upper(body)?;
                Ok(TreeEdit::Carve { run, range: KeyRange { lo, hi } })
            }
        }
    }
}

impl FileFacts {
    fn encode(&self, out: &mut Vec<u8>) {
        for number in [
            self.number,
            self.len,
            self.entries,
            self.deletes,
            self.merges,
            self.range_deletes,
            self.range_deleted,
            self.smallest_seqno,
            self.largest_seqno,
            self.kept_apart,
        ] {
            put_varint(out, number);
        }
        write_key(out, &self.smallest);
        write_upper(out, &self.end);
        put_varint(out, self.samples.len() as u64);
        self.samples.iter().for_each(|sample| {
            put_varint(out, sample.len() as u64);
            out.extend_from_slice(sample);
        });
        put_varint(out, self.references.len() as u64);
        for &(segment, bytes) in &*self.references {
            put_varint(out, segment);
            put_varint(out, bytes);
        }
    }

    fn decode(body: &mut ByteReader<'_>) -> Result<FileFacts> {
        let mut facts = FileFacts {
            number: body.varint("file number")?,
            len: body.varint("file length")?,
            entries: body.varint("entries")?,
            deletes: body.varint("deletes")?,
            merges: body.varint("merges")?,
            range_deletes: body.varint("range tombstones")?,
            range_deleted: body.varint("records that range tombstones delete")?,
            smallest_seqno: body.varint("smallest seqno")?,
            largest_seqno: body.varint("largest seqno")?,
            kept_apart: body.varint("snapshot that kept records apart")?,
            smallest: body.length_delimited("smallest key")?.into(),
            end: read_upper(body)?.ok_or_else(|| Error::corruption("a table without an end"))?,
            loaded: None,
            samples: KeyList::default(),
            references: Arc::default(),
            expiry: None,
        };
        let samples = 0..body.varint("number of samples")?;
        let mut samples = samples.map(|_| body.length_delimited("sample"));
        facts.samples = samples.by_ref().collect::<Result<_>>()?;
        let mut references = Vec::new();
        for _ in 0..body.varint("number of references")? {
            references.push((body.varint("segment")?, body.varint("bytes")?));
        }
        facts.references = references.into();
        Ok(facts)
    }
}

fn write_key(out: &mut Vec<u8>, key: &Key) {
    put_varint(out, key.len() as u64);
    out.extend_from_slice(key);
}

/// Writes 1 and the last key, or 2 and the key before which the range ends.
fn write_upper(out: &mut Vec<u8>, upper: &Upper) {
    out.push(match upper {
        Upper::Included(_) => 1,
        Upper::Excluded(_) => 2,
    });
    write_key(out, upper.key());
}

fn read_upper(body: &mut ByteReader<'_>) -> Result<Option<Upper>> {
    match body.u8("upper bound")? {
        0 => Ok(None),
        1 => Ok(Some(Upper::Included(Arc::from(body.length_delimited("upper bound")?)))),
        2 => Ok(Some(Upper::Excluded(Arc::from(body.length_delimited("upper bound")?)))),
        kind => Err(Error::corruption(format!("upper bound of unknown kind {kind}"))),
    }
}

/// Writes fields to a buffer.
pub(super) struct Fields<'a> {
    out: &'a mut Vec<u8>,
    body: Vec<u8>,
}

impl Fields<'_> {
    pub(super) fn add(&mut self, tag: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.body.clear();
        write(&mut self.body);
        put_varint(self.out, tag);
        put_varint(self.out, self.body.len() as u64);
        self.out.extend_from_slice(&self.body);
    }
}
