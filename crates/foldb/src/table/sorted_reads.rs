//! Point reads of one table, best in the order of their keys.
//!
//! The reader holds the directory and the sub-block of the last read: a key that lies there too
//! needs no cache lookup.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::key::{RecordHeader, SeqNo};
use crate::table::cursor::CursorOptions;
use crate::table::data_block::{DataBlock, Found, RESTART_INTERVAL};
use crate::table::entry::{Entry, EntryFault};
use crate::table::fetch::Fetch;
use crate::table::kept_block::Held;
use crate::table::key_buffer::KeyBuffer;
use crate::table::position::BlockPosition;
use crate::table::reader::{Approach, TableReader};
use crate::value::EntryValue;

/// Versions too new for a reader that are passed one by one. After this many versions a binary
/// search takes over, because a key may have a version for each live snapshot.
const PASSED_SINGLY: usize = RESTART_INTERVAL;

/// Point reads of a table that share fetched blocks.
#[derive(Debug)]
pub(crate) struct SortedReads<'t> {
    table: &'t TableReader,
    fetch: Fetch,
    position: BlockPosition,
    held: Option<((usize, usize), Held)>,
    /// The approach to the next key, if there was one.
    approach: Option<Approach>,
}

impl<'t> SortedReads<'t> {
    /// Makes reads of `table`.
    #[inline]
    pub(crate) fn new(table: &'t TableReader, options: CursorOptions) -> SortedReads<'t> {
        let fetch = Fetch::new(options);
        let position = BlockPosition::default();
        SortedReads { table, fetch, position, held: None, approach: None }
    }

    /// Goes on from an approach to the first key.
    #[inline]
    pub(crate) fn after(self, approach: Option<Approach>) -> SortedReads<'t> {
        SortedReads { approach, ..self }
    }

    /// Does what [`TableReader::get`] does.
    ///
    /// # Errors
    /// Those of [`TableReader::get`].
    #[inline]
    pub(crate) fn get(
        &mut self,
        key: &[u8],
        max_seqno: SeqNo,
        mut visit: impl FnMut(RecordHeader, EntryValue<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let SortedReads { table, fetch, position, held, approach } = self;
        let Approach { place, lent } = match approach.take() {
            Some(approach) => approach,
            None => Approach { place: table.index().search(key, table.order()), lent: None },
        };
        if !position.seek_from(table, place, key, fetch)? {
            return Ok(());
        }
        if let Some(lent) = lent.and_then(|lent| table.take_loan(place, lent, fetch)) {
            *held = Some((position.place(), Held::Lent(lent)));
        }
        let (order, mut spelling) = (table.order(), KeyBuffer::default());
        let first = hold(held, table, position, fetch)?;
        let found = first.seek(key, order, &mut spelling);
        let mut block = first.block();
        let found = found.map_err(|error| table.locate(error, position.handle(table)))?;
        let Some(Found { mut at, mut entry, equal: true }) = found else {
            return Ok(());
        };
        let mut passed = 0;
        loop {
            let value = EntryValue::new(block.bytes(), entry.key_end, entry.end);
            let header = table.header_of(entry.header);
            if header.seqno > max_seqno {
                passed += 1;
                if passed == PASSED_SINGLY {
                    let here = position.place();
                    position.pass_behind(table, key, max_seqno, fetch)?;
                    let from = if position.place() == here { at } else { 0 };
                    block = hold(held, table, position, fetch)?.block();
                    let locate = |error| table.locate(error, position.handle(table));
                    at = block.pass_behind(from, key, max_seqno, order).map_err(locate)?;
                    entry = block.checked_entry(at).map_err(locate)?;
                    if !order.is_equality_of_bytes() {
                        // It is a restart, which shares nothing, or the record of before.
                        spelling.set_suffix(entry.shared, block.suffix(&entry));
                    }
                }
            } else if visit(header, value).is_break() {
                return Ok(());
            }
            at = entry.end;
            if at == block.entries_end() {
                if !position.next(table, fetch)? {
                    return Ok(());
                }
                at = 0;
                block = hold(held, table, position, fetch)?.block();
            }
            let locate = |error| table.locate(error, position.handle(table));
            entry = block.checked_entry(at).map_err(locate)?;
            let same = if order.is_equality_of_bytes() {
                key.get(entry.shared..) == Some(block.suffix(&entry))
            } else {
                follow(&mut spelling, &entry, block)
                    .map_err(|fault| locate(fault.into_error(at)))?;
                order.is_same(spelling.as_slice(), key)
            };
            if !same {
                return Ok(());
            }
        }
    }
}

/// Turns `spelling` from the key of the record before `entry` into that of `entry`.
#[cold]
fn follow(spelling: &mut KeyBuffer, entry: &Entry, block: &DataBlock) -> Result<(), EntryFault> {
    if entry.shared > spelling.len() {
        return Err(EntryFault::Shared);
    }
    spelling.set_suffix(entry.shared, block.suffix(entry));
    Ok(())
}

/// Returns the sub-block of this position, and holds it from now on.
#[inline]
fn hold<'h>(
    held: &'h mut Option<((usize, usize), Held)>,
    table: &TableReader,
    position: &BlockPosition,
    fetch: &mut Fetch,
) -> Result<&'h Held> {
    let place = position.place();
    if held.as_ref().is_none_or(|(at, _)| *at != place) {
        *held = None;
    }
    match held {
        Some((_, block)) => Ok(block),
        None => Ok(&held.insert((place, position.fetch(table, fetch)?)).1),
    }
}
