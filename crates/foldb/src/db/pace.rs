//! Pacing: as compaction falls behind, writes are slowed a little at a time, so that they never have
//! to stop at once.
//!
//! How much is one number a keyspace, the time that each MiB in its memtable costs. It is worked out
//! when the tree changes, by whoever changed it, and merely loaded by writers. Runs in level 0 and
//! compaction debt count, whichever is worse; a keyspace that keeps up is not slowed for another's.
//! Write buffers that wait for their flush are everybody's, and slow everybody, as they run out
//! ([`crate::db::overlap`]).
//!
//! ```text
//!  time per MiB                    .│
//!    0.32 s ├┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄: │
//!           │                    .  │      runs:  from level0_slowdown_trigger to level0_stop_trigger
//!           │               ..      │      debt:  from level 0 at its slowdown trigger and the tree
//!           │      ....             │             once more, to twice that
//!         0 └──────┴────────────────┴─ lag
//! ```
//!
//! Debt alone never stops a writer: a snapshot let go, or a range deleted, can make much of it at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::db::buffers::Buffers;
use crate::db::core::Core;
use crate::db::tree::KeyspaceTree;
use crate::options::Options;

const MIB: u64 = 1 << 20;
/// Time per MiB half way between slowdown and stop, where compaction is behind.
const HALF_WAY: Duration = Duration::from_millis(32);
/// The slowest pace, as a multiple of that half way: about 3 MiB a second go on.
const SLOWEST_TIMES: f64 = 10.0;
/// What flushing a MiB is taken to need before one was flushed.
const FIRST_FLUSH: Duration = Duration::from_millis(5);
/// Bytes a memtable grows between two looks at the pace.
const LOOK_BYTES: usize = 16 << 10;
/// Shorter pauses add up until they are worth a timer.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
/// Longer ones are cut in two, between which the pace is looked at again.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How slow a keyspace's writes are to be. Stored by workers, loaded by writers.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    nanos_per_mib: AtomicU64,
}

impl Pace {
    pub(crate) fn per_mib(&self) -> Duration {
        Duration::from_nanos(self.nanos_per_mib.load(Ordering::Relaxed))
    }

    fn set(&self, per_mib: Duration) {
        self.nanos_per_mib.store(per_mib.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// How long flushes take. Stored by who flushes, loaded by writers.
#[derive(Debug)]
pub(crate) struct FlushSpeed(Pace);

impl Default for FlushSpeed {
    fn default() -> Self {
        let first = Pace::default();
        first.set(FIRST_FLUSH);
        FlushSpeed(first)
    }
}

impl FlushSpeed {
    pub(super) fn per_mib(&self) -> Duration {
        self.0.per_mib()
    }

    /// Some memtables were flushed. One flush at a time.
    pub(crate) fn note(&self, bytes: usize, took: Duration) {
        let lately = took.div_f64(bytes.max(1) as f64 / MIB as f64);
        self.0.set((self.per_mib() + lately.min(FIRST_FLUSH * 100)) / 2);
    }
}

/// How far compaction of one keyspace is behind.
#[derive(Clone, Copy, Debug)]
struct Lag {
    level0_runs: usize,
    debt: u64,
    tree_bytes: u64,
}

impl Lag {
    /// 0 while nothing is to be slowed, 1 where the pace is the slowest.
    fn share(self, options: &Options) -> f64 {
        let (slow, stop) = (options.level0_slowdown_trigger, options.level0_stop_trigger);
        let over = (self.level0_runs + 1).saturating_sub(slow);
        let by_runs = over as f64 / (stop + 1).saturating_sub(slow).max(1) as f64;
        let run_bytes = options.write_buffer_size * options.flush_together();
        let admitted =
            (slow as u64).saturating_mul(run_bytes as u64).saturating_add(self.tree_bytes);
        let by_debt = self.debt.saturating_sub(admitted) as f64 / admitted.max(1) as f64;
        by_runs.max(by_debt).min(1.0)
    }

    fn per_mib(self, options: &Options) -> Duration {
        at_share(self.share(options), HALF_WAY)
    }
}

/// The pace at a share of the way from slowdown to stop, given that half way between them.
fn at_share(share: f64, half_way: Duration) -> Duration {
    let share = share.clamp(0.0, 1.0);
    // At 1 the quotient is infinite, which `min` takes.
    half_way.mul_f64((share / (1.0 - share)).min(SLOWEST_TIMES))
}

/// The pace while flushes are behind: `filled` write buffers are not in tables, of which the last one
/// may be filled in part. Slowed is from half way between what is flushed at once and all there may
/// be; half way to the end they are filled as fast as they are flushed, by what flushes took lately.
fn while_flushing(filled: f64, options: &Options, flush: Duration) -> Duration {
    let all = options.memtable_bytes() as f64 / options.write_buffer_size as f64;
    let slow = (options.flush_together() as f64 + all) / 2.0;
    at_share((filled - slow) / (all - slow), flush)
}

impl Core {
    /// Works out the pace of a keyspace whose tree changed. Where nobody compacts on a thread of its
    /// own there is nothing to wait for.
    pub(crate) fn set_pace(&self, own: &KeyspaceTree) {
        if self.options.disable_auto_compactions || !self.has_workers() {
            return;
        }
        let levels = &own.version.levels;
        let runs = levels.iter().flat_map(|level| &level.runs);
        let debt = own.debt(&self.refold());
        let lag = own.ask(|_, comparator| {
            let tree_bytes = runs.map(|run| run.bytes(comparator)).sum();
            Some(Lag { level0_runs: levels[0].runs.len(), debt, tree_bytes })
        });
        if let Some(lag) = lag {
            own.keyspace.pace.set(lag.per_mib(&self.options));
        }
    }
}

impl Core {
    /// The pace of all keyspaces while flushes are behind.
    pub(crate) fn flush_pace(&self, buffers: &Buffers) -> Duration {
        if !self.has_workers() {
            return Duration::ZERO;
        }
        let filled = self.filled(buffers);
        while_flushing(filled, &self.options, self.background.flushes.per_mib())
    }
}

/// Where the writers of one keyspace are in their pauses.
#[derive(Debug)]
pub(crate) struct Pauses {
    /// Bytes of the memtable at which the pace is looked at next.
    next_look: usize,
    /// Bytes of the memtable at the last look.
    looked_at: usize,
    /// Bytes since the last look that memtables sealed meanwhile took.
    carried: usize,
    /// Time not waited yet.
    owed: Duration,
    /// Time waited too much, for timers are late.
    ahead: Duration,
    /// When writes go on, during a pause.
    resume_at: Option<Duration>,
}

impl Default for Pauses {
    fn default() -> Self {
        let (owed, ahead) = (Duration::ZERO, Duration::ZERO);
        Pauses { next_look: LOOK_BYTES, looked_at: 0, carried: 0, owed, ahead, resume_at: None }
    }
}

impl Pauses {
    /// Whether to look at the pace before more is written to a memtable of so many bytes.
    #[inline]
    pub(crate) fn look_is_due(&self, grown: usize) -> bool {
        grown >= self.next_look
    }

    /// The memtable was sealed with so many bytes; the next one begins with none.
    pub(crate) fn sealed(&mut self, grown: usize) {
        self.carried += grown - self.looked_at;
        self.looked_at = 0;
        let left = LOOK_BYTES.saturating_sub(self.carried);
        self.next_look = if self.resume_at.is_some() { 0 } else { left };
    }

    /// Looks at the pace. When writes may go on, if that is later than `now`.
    pub(crate) fn pause(
        &mut self,
        grown: usize,
        per_mib: Duration,
        now: Duration,
    ) -> Option<Duration> {
        if let Some(at) = self.resume_at {
            if now < at {
                return Some(at);
            }
            self.resume_at = None;
            self.ahead = (self.ahead + (now - at)).min(LONGEST_PAUSE);
        }
        let bytes = (self.carried + grown - self.looked_at) as u64;
        if per_mib.is_zero() {
            (self.owed, self.ahead) = (Duration::ZERO, Duration::ZERO);
            self.looked(grown);
            return None;
        }
        self.owed += per_mib.mul_f64(bytes as f64 / MIB as f64);
        let credit = self.ahead.min(self.owed);
        (self.owed, self.ahead) = (self.owed - credit, self.ahead - credit);
        self.looked(grown);
        if self.owed < SHORTEST_PAUSE {
            return None;
        }
        let pause = self.owed.min(LONGEST_PAUSE);
        self.owed -= pause;
        // Until the pause is over everybody looks.
        self.next_look = 0;
        self.resume_at = Some(now + pause);
        self.resume_at
    }

    fn looked(&mut self, grown: usize) {
        (self.carried, self.looked_at) = (0, grown);
        self.next_look = grown + LOOK_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOWEST: Duration = Duration::from_millis(320);

    fn options() -> Options {
        Options { write_buffer_size: 1 << 20, max_write_buffers: 2, ..Options::default() }
    }

    fn per_mib(level0_runs: usize, debt: u64, tree_bytes: u64) -> Duration {
        Lag { level0_runs, debt, tree_bytes }.per_mib(&options())
    }

    #[test]
    fn nothing_is_slowed_before_the_triggers() {
        assert_eq!(per_mib(19, 20 << 20, 0), Duration::ZERO);
        assert_eq!(per_mib(19, 1020 << 20, 1000 << 20), Duration::ZERO);
    }

    #[test]
    fn the_pace_grows_with_the_runs_up_to_the_slowest() {
        let by_runs: Vec<_> = (19..40).map(|runs| per_mib(runs, 0, 0)).collect();
        assert!(by_runs.is_sorted());
        assert_eq!(by_runs[1], Duration::from_millis(2));
        assert!(by_runs[1..14].windows(2).all(|pair| pair[0] < pair[1]), "{by_runs:?}");
        assert_eq!(by_runs[17..], [SLOWEST; 4]);
    }

    #[test]
    fn the_pace_grows_with_the_debt_without_steps() {
        let by_debt: Vec<_> = (0..=2200u64).map(|n| per_mib(0, n << 16, 40 << 20)).collect();
        assert!(by_debt.is_sorted());
        assert_eq!(by_debt[60 * 16], Duration::ZERO);
        assert!(by_debt[60 * 16 + 1] > Duration::ZERO);
        assert!(by_debt[60 * 16 + 1] < Duration::from_micros(100), "{:?}", by_debt[60 * 16 + 1]);
        assert_eq!(by_debt[90 * 16], HALF_WAY);
        assert_eq!(by_debt[120 * 16], SLOWEST);
    }

    #[test]
    fn the_pace_grows_with_the_buffers_that_wait_for_their_flush() {
        let flush = Duration::from_millis(7);
        let two = |filled| while_flushing(filled, &options(), flush);
        assert_eq!(
            (two(1.0), two(1.5), two(1.75), two(2.0)),
            (Duration::ZERO, Duration::ZERO, flush, 10 * flush)
        );
        let many = Options { write_buffer_size: 2 << 20, max_write_buffers: 0, ..options() };
        let many = |filled| while_flushing(filled, &many, flush);
        assert_eq!((many(12.5), many(17.0)), (Duration::ZERO, 10 * flush));
        assert!(many(12.6) > Duration::ZERO && many(12.6) < many(14.0) && many(14.0) < flush);
    }

    #[test]
    fn a_stop_below_the_slowdown_is_no_division_by_zero() {
        let odd = Options { level0_slowdown_trigger: 20, level0_stop_trigger: 4, ..options() };
        let lag = |level0_runs| Lag { level0_runs, debt: 0, tree_bytes: 0 }.per_mib(&odd);
        assert_eq!((lag(19), lag(20)), (Duration::ZERO, SLOWEST));
        let none = Options { level0_slowdown_trigger: 0, ..options() };
        Lag { level0_runs: 0, debt: 9, tree_bytes: 0 }.per_mib(&none);
    }

    /// What is waited in all is the pace, whatever the sizes of writes, memtables and timers' delays.
    #[test]
    fn pauses_add_up_to_the_pace() {
        const TOTAL: usize = 64 << 20;
        for (step, memtable, late) in
            [(100, 1 << 20, 0), (4096, 8 << 10, 70), (5000, 4 << 10, 0), (3 << 20, 16 << 20, 500)]
        {
            for millis in [1, 30, 320] {
                let pace = Duration::from_millis(millis);
                let mut pauses = Pauses::default();
                let (mut now, mut grown, mut written) = (Duration::ZERO, 0, 0);
                while written < TOTAL {
                    if grown >= memtable {
                        pauses.sealed(grown);
                        grown = 0;
                    }
                    while pauses.look_is_due(grown)
                        && let Some(at) = pauses.pause(grown, pace, now)
                    {
                        assert!(at - now <= LONGEST_PAUSE);
                        now = at + Duration::from_micros(late);
                    }
                    (grown, written) = (grown + step, written + step);
                }
                let expected = Duration::from_millis(millis) * (TOTAL as u32 >> 20);
                let ratio = now.as_secs_f64() / expected.as_secs_f64();
                // The last write is not waited for.
                let least = 0.99 - step as f64 / TOTAL as f64;
                assert!(
                    (least..1.02).contains(&ratio),
                    "{step} {memtable} {late} {millis}: {ratio}"
                );
            }
        }
    }

    #[test]
    fn a_pause_holds_everybody_until_it_is_over() {
        let mut pauses = Pauses::default();
        let second = Duration::from_secs(1);
        let at = pauses.pause(LOOK_BYTES, SLOWEST, second).expect("a pause");
        assert_eq!(at, second + Duration::from_millis(5));
        // Whoever comes meanwhile, also when compaction has caught up by now.
        assert!(pauses.look_is_due(LOOK_BYTES));
        assert_eq!(pauses.pause(LOOK_BYTES, Duration::ZERO, second), Some(at));
        assert_eq!(pauses.pause(LOOK_BYTES, Duration::ZERO, at), None);
        assert!(!pauses.look_is_due(LOOK_BYTES));
    }
}
