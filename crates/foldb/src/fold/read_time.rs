//! How a reader of a keyspace with expiry sees stored values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::fold::chain::{Chain, Record};
use crate::fold::expiring::alive;
use crate::fold::stamp::{Moment, NEVER, STAMP_LEN, Stamp};
use crate::key::{Kind, SeqNo};
use crate::value::Value;

/// The moment of a read.
#[derive(Clone, Debug)]
pub(crate) struct ReadTime {
    pub(crate) now: Moment,
    /// Whether the reader gets values as they are stored, expired ones too.
    pub(crate) as_stored: bool,
    /// Learns when the first of the values read expires, if a transaction reads.
    pub(crate) first_end: Option<Arc<AtomicU32>>,
}

impl ReadTime {
    pub(crate) fn at(now: Moment) -> ReadTime {
        ReadTime { now, as_stored: false, first_end: None }
    }

    /// Returns what the reader sees of a stored value: the value without its stamp, or nothing if
    /// it has expired.
    ///
    /// # Errors
    /// `Corruption` for a value without a stamp.
    pub(crate) fn show(&self, stored: Value) -> Result<Option<Value>> {
        let (payload, stamp) = Stamp::split(&stored).ok_or_else(no_stamp)?;
        self.note_end(stamp.expires);
        if self.as_stored {
            return Ok(Some(stored));
        }
        let len = payload.len();
        let mut value = stored;
        value.truncate(len);
        Ok((!stamp.has_expired(self.now)).then_some(value))
    }

    /// Notes when the records of a chain below `above` expire, folded. Newer records are the
    /// reader's own: they count as written at its commit.
    pub(crate) fn note_end_of(&self, chain: &Chain, above: SeqNo) {
        if self.first_end.is_none() {
            return;
        }
        let (mut base, mut operands) = (None, Stamps::new());
        for Record { header, value } in chain.records().filter(|own| own.header.seqno < above) {
            let Some((_, stamp)) = Stamp::split(value) else { continue };
            match header.kind {
                Kind::Merge => operands.push(stamp),
                _ => base = Some(stamp),
            }
        }
        operands.reverse();
        self.note_end(alive(base, &operands).expires);
    }

    fn note_end(&self, end: Moment) {
        if let Some(first_end) = &self.first_end
            && end > self.now
        {
            // Relaxed: several threads may read, and the least moment stays. No memory follows it.
            first_end.fetch_min(end, Ordering::Relaxed);
        }
    }

    /// Removes from a chain with operands what has expired, before it is folded. So a merge that
    /// fails, or whose operator is missing, expires like any other. A base without operands stays:
    /// [`ReadTime::show`] looks at its end.
    ///
    /// # Errors
    /// `Corruption` for a record without a stamp.
    #[inline]
    pub(crate) fn drop_expired(&self, chain: &mut Chain) -> Result<()> {
        if chain.operands() == 0 { Ok(()) } else { self.keep_living(chain) }
    }

    /// Removes from a chain what has expired.
    ///
    /// # Errors
    /// `Corruption` for a record without a stamp.
    pub(crate) fn keep_living(&self, chain: &mut Chain) -> Result<()> {
        let stamp_of = |record: &Record| {
            Stamp::split(&record.value).map(|(_, stamp)| stamp).ok_or_else(no_stamp)
        };
        let put = chain.base().filter(|base| base.header.kind == Kind::Put);
        let of_base = put.map(stamp_of).transpose()?;
        let stamps = chain.oldest_first().map(stamp_of).collect::<Result<Stamps>>()?;
        let alive = alive(of_base, &stamps);
        if alive.expires <= self.now {
            chain.clear();
        } else {
            chain.drop_oldest(alive.first, of_base.is_some() && !alive.has_base);
        }
        Ok(())
    }
}

/// The stamps of operands, oldest first.
type Stamps = SmallVec<[Stamp; 16]>;

/// Removes the stamps of the records of a key.
pub(crate) fn without_stamps(operands: &mut [Record], base: &mut Option<Record>) {
    let put = base.iter_mut().filter(|base| base.header.kind == Kind::Put);
    for record in operands.iter_mut().chain(put) {
        record.value.truncate(record.value.len().saturating_sub(STAMP_LEN));
    }
}

/// Returns when a stored value expires; [`NEVER`] if it has no end.
pub(crate) fn end_of(stored: &[u8]) -> Moment {
    Stamp::split(stored).map_or(NEVER, |(_, stamp)| stamp.expires)
}

#[cold]
fn no_stamp() -> Error {
    Error::corruption("a value of a keyspace with expiry has no stamp")
}
