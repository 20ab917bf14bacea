//! The memory of a write buffer that is filled while another is flushed.
//!
//! If the number of write buffers is automatic, the engine does not reserve memory for two large
//! ones. A memtable that fills fast is sealed before it is full, so that the rest of the buffer
//! takes the writes during its flush. The memtables being filled and flushed then share one write
//! buffer. A memtable that fills slowly grows to its full size, and the next one needs little
//! memory during the flush.
//!
//! ```text
//! write buffer, filled as fast as it is flushed      filled at a quarter of that speed
//! ├ flushed ──────────┼ filled meanwhile ─┤          ├ flushed ───────────────────────┼ filled ┤
//! ```
//!
//! If writes are faster than flushes, or suddenly faster than before, another half of a write
//! buffer may be filled. Writes slow down as it fills ([`crate::db::state::pace`]).
//!
//! A record or batch may be larger than the write buffer. The next write seals the memtable that
//! holds it. That memtable counts as one write buffer, because its memory is already taken. So it
//! does not stall the small writes after it.

use std::time::Duration;

use crate::db::core::Core;
use crate::db::state::buffers::Buffers;
use crate::db::state::pace::while_flushing;
use crate::db::state::writer::WriterState;

/// The smallest part of a write buffer at which it is sealed early. Smaller runs would cost more
/// compaction than the memory is worth.
const LEAST_SEALED: f64 = 0.5;

/// Returns the part of a write buffer at which it is sealed if no flush is running. The rest then
/// fills while that part is flushed. Both times are per MiB.
fn part_to_seal(fill: Duration, flush: Duration) -> f64 {
    let together = (fill + flush).as_secs_f64();
    if together == 0.0 {
        return 1.0;
    }
    (fill.as_secs_f64() / together).max(LEAST_SEALED)
}

impl Core {
    /// Returns the pace of all keyspaces while flushes are behind; zero without workers.
    pub(crate) fn flush_pace(&self, buffers: &Buffers) -> Duration {
        let is_flushed = self.sealed.len() >= self.settings.write_buffers.flushed_together;
        if !is_flushed || !self.has_workers() || self.background.is_flush_failing() {
            return Duration::ZERO;
        }
        let filled = self.filled(buffers);
        while_flushing(filled, &self.settings, self.background.flushes.per_mib())
    }

    /// Returns whether all memtables together may take less than the full write buffers would.
    fn shares_write_buffers(&self) -> bool {
        let buffers = &self.settings.write_buffers;
        self.has_workers() && buffers.bytes < buffers.most * buffers.size
    }

    /// Returns the bytes that may be filled before a seal.
    pub(crate) fn fillable(&self) -> usize {
        let all = self.settings.write_buffers.size;
        if !self.shares_write_buffers() {
            return all;
        }
        all.min(self.settings.write_buffers.bytes.saturating_sub(self.sealed.bytes(all)))
    }

    /// Returns how many write buffers are filled and not in tables. The last one may be partly
    /// filled.
    pub(crate) fn filled(&self, buffers: &Buffers) -> f64 {
        if !self.shares_write_buffers() {
            return self.sealed.len() as f64 + buffers.used_share();
        }
        let all = self.settings.write_buffers.size;
        (self.sealed.bytes(all) + buffers.used()) as f64 / all as f64
    }

    /// Returns whether to seal a memtable that still has room, if it may be sealed now. Either the
    /// next memtable fits into memory while this one is flushed, or a large write has filled more
    /// than the write buffer.
    pub(crate) fn should_seal_early(&self, writer: &WriterState) -> bool {
        let used = writer.buffers.used();
        if used > self.settings.write_buffers.size {
            return true;
        }
        let part = used as f64 / self.settings.write_buffers.size as f64;
        let Some(since) = writer.filling_since else { return false };
        if part < LEAST_SEALED || !self.shares_write_buffers() || self.sealed.len() > 0 {
            return false;
        }
        let fill = (self.options.env.clock.now() - since).div_f64(used as f64 / MIB);
        let due = part_to_seal(fill, self.background.flushes.per_mib());
        part >= due
    }
}

const MIB: f64 = (1 << 20) as f64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sealed_and_the_filling_part_take_one_write_buffer() {
        let millis = Duration::from_millis;
        for (fill, flush) in [(1, 1), (2, 1), (4, 1), (400, 1)] {
            let sealed = part_to_seal(millis(fill), millis(flush));
            let filled_meanwhile = sealed * flush as f64 / fill as f64;
            assert!((sealed + filled_meanwhile - 1.0).abs() < 1e-9, "{fill} {flush}: {sealed}");
        }
    }

    #[test]
    fn fast_writers_do_not_make_flushes_small() {
        let (none, some) = (Duration::ZERO, Duration::from_millis(5));
        assert_eq!(part_to_seal(none, some), LEAST_SEALED);
        assert_eq!(part_to_seal(some, none), 1.0);
        assert_eq!(part_to_seal(none, none), 1.0);
    }
}
