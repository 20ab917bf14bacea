//! The write buffer that is filled while another is flushed: what both may take.
//!
//! With a number of write buffers that is left automatic, large ones do not have to fit twice. They
//! are sealed before they are full if they fill so fast that the rest will be needed while they are
//! flushed; then what is filled and what is flushed take one write buffer together. Who writes
//! slowly has every flush as large as it can be, and needs little beside it.
//!
//! ```text
//! write buffer, filled as fast as it is flushed      filled at a quarter of that speed
//! ├ flushed ──────────┼ filled meanwhile ─┤          ├ flushed ───────────────────────┼ filled ┤
//! ```
//!
//! Where writers are faster than flushes, or faster than they were, half a write buffer more may be
//! filled, towards the end of which they are slowed ([`crate::db::throttle::pace`]).
//!
//! A record or batch may be larger than the write buffer. What it fills is sealed by the next
//! write, and counts as one write buffer: it has its memory already, and holds back none of the
//! small writes behind it.

use std::time::Duration;

use crate::db::core::Core;
use crate::db::state::buffers::Buffers;
use crate::db::state::writer::WriterState;

/// Least part of the write buffer that is sealed before it is full: smaller runs cost more merging
/// than the memory is worth.
const LEAST_SEALED: f64 = 0.5;

/// The part of a write buffer at which it is sealed if no flush is going on: with the rest as much
/// can be filled as will be while it is flushed. Both times are per MiB.
fn part_to_seal(fill: Duration, flush: Duration) -> f64 {
    let together = (fill + flush).as_secs_f64();
    if together == 0.0 {
        return 1.0;
    }
    (fill.as_secs_f64() / together).max(LEAST_SEALED)
}

impl Core {
    /// Whether memtables must share their memory: they may take less than all write buffers would.
    fn shares_write_buffers(&self) -> bool {
        let buffers = &self.settings.write_buffers;
        self.has_workers() && buffers.bytes < buffers.most * buffers.size
    }

    /// Bytes that may be filled until they are sealed.
    pub(crate) fn fillable(&self) -> usize {
        let all = self.settings.write_buffers.size;
        if !self.shares_write_buffers() {
            return all;
        }
        all.min(self.settings.write_buffers.bytes.saturating_sub(self.sealed.bytes(all)))
    }

    /// Write buffers filled and not in tables, of which the last one may be filled in part.
    pub(crate) fn filled(&self, buffers: &Buffers) -> f64 {
        if !self.shares_write_buffers() {
            return self.sealed.len() as f64 + buffers.used_share();
        }
        let all = self.settings.write_buffers.size;
        (self.sealed.bytes(all) + buffers.used()) as f64 / all as f64
    }

    /// Whether to seal what has room left: what is filled next fits beside it, or a large write has
    /// filled more than the write buffer.
    pub(crate) fn should_seal_early(&self, writer: &WriterState) -> bool {
        let used = writer.buffers.used();
        if used > self.settings.write_buffers.size {
            return self.lack_of_room(&writer.buffers.written()).is_none();
        }
        let part = used as f64 / self.settings.write_buffers.size as f64;
        let Some(since) = writer.filling_since else { return false };
        if part < LEAST_SEALED || !self.shares_write_buffers() || self.sealed.len() > 0 {
            return false;
        }
        let fill = (self.options.env.clock.now() - since).div_f64(used as f64 / MIB);
        let due = part_to_seal(fill, self.background.flushes.per_mib());
        part >= due && self.lack_of_room(&writer.buffers.written()).is_none()
    }
}

const MIB: f64 = (1 << 20) as f64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_and_what_is_flushed_take_one_write_buffer() {
        let millis = Duration::from_millis;
        for (fill, flush) in [(1, 1), (2, 1), (4, 1), (400, 1)] {
            let sealed = part_to_seal(millis(fill), millis(flush));
            let filled_meanwhile = sealed * flush as f64 / fill as f64;
            assert!((sealed + filled_meanwhile - 1.0).abs() < 1e-9, "{fill} {flush}: {sealed}");
        }
    }

    #[test]
    fn flushes_do_not_get_small_however_fast_writers_are() {
        let (none, some) = (Duration::ZERO, Duration::from_millis(5));
        assert_eq!(part_to_seal(none, some), LEAST_SEALED);
        assert_eq!(part_to_seal(some, none), 1.0);
        assert_eq!(part_to_seal(none, none), 1.0);
    }
}
