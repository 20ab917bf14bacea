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
use crate::table::frame::Handle;
use crate::table::key_buffer::KeyBuffer;
use crate::table::position::BlockPosition;
use crate::table::reader::{Fetch, TableReader};
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
    held: Option<(Handle, DataBlock)>,
}

impl<'t> SortedReads<'t> {
    /// Makes reads of `table`.
    #[inline]
    pub(crate) fn new(table: &'t TableReader, options: CursorOptions) -> SortedReads<'t> {
        let fetch = Fetch::new(options);
        SortedReads { table, fetch, position: BlockPosition::default(), held: None }
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
        let SortedReads { table, fetch, position, held } = self;
        let Some(mut handle) = position.seek(table, key, fetch)? else {
            return Ok(());
        };
        let mut block = hold(held, table, handle, fetch)?;
        let (order, mut spelling) = (table.order(), KeyBuffer::default());
        let found = block.seek(key, order, &mut spelling).map_err(|e| table.locate(e, handle))?;
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
                    let there = position.pass_behind(table, key, max_seqno, fetch)?;
                    let from = if there == handle { at } else { 0 };
                    handle = there;
                    block = hold(held, table, handle, fetch)?;
                    let locate = |error| table.locate(error, handle);
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
                let Some(next) = position.next(table, fetch)? else {
                    return Ok(());
                };
                (handle, at) = (next, 0);
                block = hold(held, table, handle, fetch)?;
            }
            entry = block.checked_entry(at).map_err(|e| table.locate(e, handle))?;
            let same = if order.is_equality_of_bytes() {
                key.get(entry.shared..) == Some(block.suffix(&entry))
            } else {
                follow(&mut spelling, &entry, block)
                    .map_err(|fault| table.locate(fault.into_error(at), handle))?;
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

/// Returns the sub-block of this handle, and holds it from now on.
#[inline]
fn hold<'h>(
    held: &'h mut Option<(Handle, DataBlock)>,
    table: &TableReader,
    handle: Handle,
    fetch: &mut Fetch,
) -> Result<&'h DataBlock> {
    if held.as_ref().is_none_or(|(at, _)| *at != handle) {
        *held = None;
    }
    match held {
        Some((_, block)) => Ok(block),
        None => Ok(&held.insert((handle, table.fetch_data(handle, fetch)?)).1),
    }
}
