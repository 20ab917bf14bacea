//! What a log records for the change feed: its place among the logs, and the keyspaces.
//!
//! ```text
//! lineage:  3 | id u64 | predecessor u64 | its id u64 | its frames u64 | last seqno u64
//!             | count varint | keyspaces
//! created:  4 | keyspace dropped:  5 | id varint keyspace: id varint | name | comparator | default
//! operator, empty for none | expiry, empty for none name, comparator, operator and expiry: length
//! varint | UTF-8
//! ```
//!
//! A log has these records only if logs are kept for the feed (`Options::wal_retention_bytes`).
//! They change no memtable: the manifest knows the keyspaces, and the log's header names the
//! predecessor that replay needs. Replay notes the keyspaces that they announced
//! (`db::state::announced`).
//!
//! The lineage record is the first one after the header. Its *id* is a random number that no other
//! log has. Two logs of one number, in two copies of a database or before and after a power loss,
//! have different ids. The predecessor is the log whose last write comes directly before this log,
//! also across an open (0: unknown, so the feed begins here).

use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::key::{KeyspaceId, SeqNo};

/// The log that ends where another one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Predecessor {
    pub(crate) log: u64,
    pub(crate) id: u64,
    /// The frames that it has at its end.
    pub(crate) frames: u64,
}

/// A keyspace as the feed names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedKeyspace {
    pub(crate) id: KeyspaceId,
    pub(crate) name: String,
    pub(crate) comparator: String,
    /// The default operator as `NAME` or `NAME:PARAM`; empty for none.
    pub(crate) operator: String,
    /// When its entries expire, as [`Expiry`](crate::settings::Expiry) is written; empty for never.
    pub(crate) expiry: String,
}

/// The place of a log among the logs of its database, and the keyspaces that were announced when it
/// begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lineage {
    pub(crate) id: u64,
    pub(crate) predecessor: Option<Predecessor>,
    /// The last sequence number before the log.
    pub(crate) last_seqno: SeqNo,
    pub(crate) keyspaces: Vec<NamedKeyspace>,
}

impl Lineage {
    /// Appends the encoding drawn above, without the tag.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.predecessor.is_none_or(|before| before.log > 0),
            "a reader takes log 0 for no predecessor"
        );
        let before = self.predecessor.unwrap_or_default();
        for word in [self.id, before.log, before.id, before.frames, self.last_seqno] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        put_varint(out, self.keyspaces.len() as u64);
        self.keyspaces.iter().for_each(|keyspace| keyspace.encode(out));
    }

    pub(super) fn decode(bytes: &mut ByteReader<'_>) -> Result<Lineage> {
        let id = bytes.u64("id of the log")?;
        let before = Predecessor {
            log: bytes.u64("predecessor")?,
            id: bytes.u64("id of the predecessor")?,
            frames: bytes.u64("frames of the predecessor")?,
        };
        let last_seqno = bytes.u64("last seqno")?;
        let count = bytes.varint("number of keyspaces")?;
        let mut keyspaces = Vec::new();
        for _ in 0..count {
            keyspaces.push(NamedKeyspace::decode(bytes)?);
        }
        let predecessor = (before.log > 0).then_some(before);
        Ok(Lineage { id, predecessor, last_seqno, keyspaces })
    }
}

impl NamedKeyspace {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.id));
        for text in [&self.name, &self.comparator, &self.operator, &self.expiry] {
            put_length_delimited(out, text.as_bytes());
        }
    }

    pub(super) fn decode(bytes: &mut ByteReader<'_>) -> Result<NamedKeyspace> {
        let id = bytes.varint32("keyspace")?;
        let mut text = |what: &str| {
            let text = bytes.length_delimited(what)?.to_vec();
            String::from_utf8(text)
                .map_err(|_| Error::corruption(format!("the {what} of keyspace {id} is not UTF-8")))
        };
        let (name, comparator) = (text("name")?, text("comparator")?);
        let (operator, expiry) = (text("default operator")?, text("expiry")?);
        Ok(NamedKeyspace { id, name, comparator, operator, expiry })
    }
}
