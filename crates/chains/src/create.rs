//! Makes a memtable: its arena, its index, and the two halves that share them.

use std::sync::Arc;

use crate::arena::{Arena, ArenaPool};
use crate::chains::{Chains, Index, Published};
use crate::ends::Growth;
use crate::gone::{RangeDeletes, Revived};
use crate::index::HashIndex;
use crate::layout::{NODE, Regions, UNIT};
use crate::order::{KeyOrder, Order};
use crate::skiplist::SkipList;
use crate::sync::{AtomicU32, AtomicU64};
use crate::writer::Writer;

impl Chains {
    /// Makes an empty memtable with room for about `capacity_bytes` of records (see
    /// [`bytes_needed`](crate::bytes_needed)), at most 16 GiB. It reserves 1.7 times that for
    /// records and index together, from `pool`. The memory returns to the pool with the last of
    /// [`Writer`], `Chains`, [`Cursor`](crate::Cursor) and [`PinnedBytes`](crate::PinnedBytes).
    pub fn create(
        pool: &Arc<ArenaPool>,
        capacity_bytes: usize,
        order: KeyOrder,
    ) -> (Writer, Arc<Chains>) {
        let regions = Regions::for_capacity(capacity_bytes);
        let arena = Arena::new(pool, regions.layout());
        let (start, end) = (regions.data_end, regions.end);
        // SAFETY: only the index touches the part after `data_end`, which is a multiple of a node's
        // size.
        let (index, growth) = unsafe {
            if order.has_spellings() {
                let (list, towers) = SkipList::new(&arena, start, end, start / NODE);
                (Index::Ordered(list), Growth::Ordered(towers))
            } else {
                let (index, growth) = HashIndex::new(&arena, start, end);
                (Index::Hashed(index), Growth::Hashed(growth))
            }
        };
        let published = Published {
            nodes: AtomicU32::new(0),
            low: AtomicU32::new((regions.data_end / UNIT) as u32),
            tables_end: AtomicU64::new(growth.used_until() as u64),
            records: AtomicU64::new(0),
        };
        let order = Order::new(order);
        let (revived, range_deletes) = (Revived::new(), RangeDeletes::new());
        let chains = Chains { arena, regions, index, order, published, revived, range_deletes };
        let chains = Arc::new(chains);
        (Writer::new(Arc::clone(&chains), growth), chains)
    }
}
