//! The range tombstones of a table, in a frame of their own.
//!
//! ```text
//! count varint | tombstones, each
//! +----------+------------+-------+---------+-----+-------+
//! | bounds u8| start len  | start | end len | end | seqno |      lengths and seqno are varints
//! +----------+------------+-------+---------+-----+-------+
//!
//!  bounds         the bit is 0               the bit is 1
//!  bit 0          start is in the range      start is not in the range
//!  bit 1          end is not in the range    end is in the range
//! ```
//!
//! Tombstones are in the order of their starts; of two with the same start, the newer is first.
//! Tombstones of one snapshot stripe do not overlap. Both ends are always keys, because a flush
//! cuts a tombstone down to the older data below it. Only logs store ranges without an end.

use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::key::MAX_SEQNO;
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::table::order::KeyOrder;

const START_BEHIND: u8 = 1;
const END_BEHIND: u8 = 2;

/// Length of the shortest encoded tombstone, in bytes.
const LEAST: usize = 4;

/// Encodes the payload of the frame. The caller passes the tombstones in the order that this module
/// describes.
pub(super) fn encode_tombstones(tombstones: &[RangeTombstone]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, tombstones.len() as u64);
    for RangeTombstone { start, end, seqno } in tombstones {
        let start_behind = matches!(start, Edge::Behind(_));
        let end_behind = matches!(end, Edge::Behind(_));
        let start_bit = if start_behind { START_BEHIND } else { 0 };
        let end_bit = if end_behind { END_BEHIND } else { 0 };
        out.push(start_bit | end_bit);
        for edge in [start, end] {
            put_length_delimited(&mut out, edge.key().expect("tombstones of tables have ends"));
        }
        put_varint(&mut out, *seqno);
    }
    out
}

/// Decodes the payload of the frame.
///
/// # Errors
/// `Corruption` if the payload is malformed. For ranges that are empty or out of order,
/// `Corruption` in byte order and `ComparatorFailed` in a custom order.
pub(super) fn decode_tombstones(payload: &[u8], order: &KeyOrder) -> Result<Vec<RangeTombstone>> {
    let mut reader = ByteReader::new(payload);
    let count = reader.varint("range tombstones: count")?;
    let room = reader.remaining();
    if count == 0 || count > (room / LEAST) as u64 {
        return Err(Error::corruption(format!(
            "range tombstones: expected at least 1, each of {LEAST} bytes or more, found {count} \
             in {room} bytes"
        )));
    }
    let mut tombstones = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let tombstone = decode_tombstone(&mut reader)?;
        check_place(tombstones.last(), &tombstone, order)?;
        tombstones.push(tombstone);
    }
    if !reader.is_empty() {
        return Err(Error::corruption(format!(
            "range tombstones: expected the end after {count} of them, found {} bytes after it",
            reader.remaining()
        )));
    }
    Ok(tombstones)
}

fn decode_tombstone(reader: &mut ByteReader<'_>) -> Result<RangeTombstone> {
    let bounds = reader.u8("range tombstone: bounds")?;
    if bounds & !(START_BEHIND | END_BEHIND) != 0 {
        return Err(Error::corruption(format!(
            "range tombstone: expected bounds of 0 to 3, found {bounds}"
        )));
    }
    let mut edge = |behind: bool, what: &str| {
        let key = reader.length_delimited(what)?.into();
        Ok::<_, Error>(if behind { Edge::Behind(key) } else { Edge::Before(key) })
    };
    let start = edge(bounds & START_BEHIND != 0, "range tombstone: start")?;
    let end = edge(bounds & END_BEHIND != 0, "range tombstone: end")?;
    let seqno = reader.varint("range tombstone: seqno")?;
    if seqno == 0 || seqno > MAX_SEQNO {
        return Err(Error::corruption(format!(
            "range tombstone: expected a seqno of 1 to {MAX_SEQNO}, found {seqno}"
        )));
    }
    Ok(RangeTombstone { start, end, seqno })
}

fn check_place(
    last: Option<&RangeTombstone>,
    tombstone: &RangeTombstone,
    order: &KeyOrder,
) -> Result<()> {
    let comparator = order.comparator();
    let shown =
        |edge: &Edge| edge.key().map_or(String::new(), |key| key.escape_ascii().to_string());
    if tombstone.start.compare(comparator, &tombstone.end).is_ge() {
        return Err(order.disorder(format!(
            "range tombstone: expected an end after its start \"{}\", found \"{}\"",
            shown(&tombstone.start),
            shown(&tombstone.end)
        )));
    }
    let in_order = last.is_none_or(|last| {
        let starts = last.start.compare(comparator, &tombstone.start);
        starts.then(tombstone.seqno.cmp(&last.seqno)).is_lt()
    });
    if !in_order {
        return Err(order.disorder(format!(
            "range tombstones: expected them in order, found one from \"{}\" out of order",
            shown(&tombstone.start)
        )));
    }
    Ok(())
}
