//! Pacing: as compaction falls behind, writes slow down gradually, so that they never stop
//! abruptly.
//!
//! The pace is one number per keyspace: the time that each MiB written to its memtable costs. The
//! thread that changes the tree computes it, and writers only load it. It follows from the runs in
//! level 0 or from the compaction debt, whichever is worse. A keyspace that keeps up is not slowed
//! because of another one. All keyspaces share the write buffers, so writers of all keyspaces slow
//! down as these run out ([`crate::db::throttle::overlap`]).
//!
//! A pause gives a worker time to reduce the backlog. A full memtable is sealed first, which starts
//! its flush; only then does a pace apply. Each step of a worker wakes the waiting writer, which
//! checks the pace again. Writers *owe* a pause for bytes that were written before they paused. The
//! pause and the time owed shrink with the pace, and end with the backlog. A write waits at most
//! for the time of its own bytes or for [`LONGEST_PAUSE`], whichever is longer. So a small write
//! after a very large one hardly waits.
//!
//! ```text
//!  time per MiB                    .│
//!    0.32 s ├┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄: │
//!           │                    .  │   runs:  from level0_slowdown_trigger to level0_stop_trigger
//!           │               ..      │   debt:  from the bytes of level 0 at its slowdown trigger
//!           │      ....             │          plus those of the tree, to twice that
//!         0 └──────┴────────────────┴─ lag
//! ```
//!
//! Debt alone never stops a writer: the release of a snapshot, or a range delete, can make much
//! debt at once.
//!
//! All accesses are `Relaxed`: a writer that sees an older pace waits a little more or less.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::faults::{Fault, planted};
use crate::settings::Settings;

const MIB: u64 = 1 << 20;
/// Time per MiB half way between slowdown and stop, if compaction is behind.
const HALF_WAY: Duration = Duration::from_millis(32);
/// The slowest pace, as a multiple of the half-way pace: about 3 MiB per second still pass.
const SLOWEST_TIMES: f64 = 10.0;
/// Assumed time to flush a MiB before the first flush.
const FIRST_FLUSH: Duration = Duration::from_millis(5);
/// Bytes that a memtable grows between two checks of the pace.
const LOOK_BYTES: usize = 16 << 10;
/// The largest weight of one flush in the average speed of flushes.
const NEWEST_FLUSH: f64 = 0.5;
/// Shorter pauses add up until they are worth a timer.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
/// Longer pauses are split, with a check of the pace between the parts. This is also the longest
/// time that a write is slowed for the bytes of other writes.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The pace of a keyspace's writes. Workers store it, writers load it.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    nanos_per_mib: AtomicU64,
}

impl Pace {
    pub(crate) fn per_mib(&self) -> Duration {
        Duration::from_nanos(self.nanos_per_mib.load(Ordering::Relaxed))
    }

    /// Removes the pace, because no worker reduces the backlog.
    pub(crate) fn clear(&self) {
        self.set(Duration::ZERO);
    }

    pub(crate) fn set(&self, per_mib: Duration) {
        self.nanos_per_mib.store(per_mib.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// The average time that flushes take for each MiB. The flushing thread stores it, writers load it.
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
    pub(crate) fn per_mib(&self) -> Duration {
        self.0.per_mib()
    }

    /// Notes the time of a flush. `bytes` counts all memtables of the flush together. Flushes run
    /// one at a time.
    ///
    /// A flush of a few bytes takes as long as its syncs, which says nothing about a MiB. So the
    /// weight of a flush is the part of a write buffer that it flushed. A flush of several write
    /// buffers weighs as much as a flush of one.
    pub(crate) fn note(&self, bytes: usize, write_buffer: usize, took: Duration) {
        let lately = took.div_f64(bytes.max(1) as f64 / MIB as f64).min(FIRST_FLUSH * 100);
        let weight = NEWEST_FLUSH * (bytes as f64 / write_buffer.max(1) as f64).min(1.0);
        self.0.set(self.per_mib().mul_f64(1.0 - weight) + lately.mul_f64(weight));
    }
}

/// How far compaction of a keyspace is behind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    pub(crate) level0_runs: usize,
    pub(crate) debt: u64,
    pub(crate) tree_bytes: u64,
}

impl Lag {
    /// Returns 0 below both slowdown thresholds. Returns 1 from the stop trigger of level 0 on, or
    /// from twice the debt at which slowing starts.
    fn share(self, settings: &Settings) -> f64 {
        let (slow, stop) =
            (settings.tree.level0_slowdown_trigger, settings.tree.level0_stop_trigger);
        let over = (self.level0_runs + 1).saturating_sub(slow);
        let by_runs = over as f64 / (stop + 1).saturating_sub(slow).max(1) as f64;
        let run_bytes = settings.write_buffers.bytes_of_a_flush();
        let admitted = (slow as u64).saturating_mul(run_bytes).saturating_add(self.tree_bytes);
        let by_debt = self.debt.saturating_sub(admitted) as f64 / admitted.max(1) as f64;
        by_runs.max(by_debt).min(1.0)
    }

    pub(crate) fn per_mib(self, settings: &Settings) -> Duration {
        at_share(self.share(settings), HALF_WAY)
    }
}

/// Returns the pace at a share of the way from slowdown to stop; `half_way` is the pace at a half.
fn at_share(share: f64, half_way: Duration) -> Duration {
    let share = share.clamp(0.0, 1.0);
    // At 1 the quotient is infinite, and `min` limits it.
    half_way.mul_f64((share / (1.0 - share)).min(SLOWEST_TIMES))
}

/// Returns the pace while flushes are behind. `filled` write buffers are not in tables; the last
/// one may be partly filled. Slowing starts half way between the buffers of one flush and all
/// buffers. Half way from there to the end, the pace equals the recent speed of flushes.
pub(crate) fn while_flushing(filled: f64, settings: &Settings, flush: Duration) -> Duration {
    let buffers = &settings.write_buffers;
    let all = buffers.bytes as f64 / buffers.size as f64;
    let slow = (buffers.flushed_together as f64 + all) / 2.0;
    at_share((filled - slow) / (all - slow), flush)
}

/// The state of the pauses of a keyspace's writers.
#[derive(Debug)]
pub(crate) struct Pauses {
    /// Bytes of the memtable at which a writer next checks the pace.
    next_look: usize,
    /// Bytes of the memtable at the last check of the pace.
    looked_at: usize,
    /// Bytes written after the last check to memtables that are sealed by now.
    carried: usize,
    /// Time still owed for bytes already written, at the pace of the last check.
    owed: Duration,
    /// The pace at the last check.
    owed_at: Duration,
    /// Time waited beyond the time owed, because timers are late.
    ahead: Duration,
    /// The pause that all writers now wait for, if there is one.
    current: Option<Pause>,
}

/// A pause that has begun.
#[derive(Clone, Copy, Debug)]
struct Pause {
    /// When the pause ends.
    until: Duration,
    /// The pace that gave the pause its length.
    per_mib: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        let (owed, owed_at, ahead) = <(Duration, Duration, Duration)>::default();
        let (next_look, looked_at, carried, current) = (LOOK_BYTES, 0, 0, None);
        Pauses { next_look, looked_at, carried, owed, owed_at, ahead, current }
    }
}

/// Returns the time that writing these bytes takes at a pace.
fn time_of(bytes: usize, per_mib: Duration) -> Duration {
    per_mib.mul_f64(bytes as f64 / MIB as f64)
}

/// Returns the factor by which time owed shrinks when the pace changes; at most 1.
fn fall(before: Duration, now: Duration) -> f64 {
    if now >= before { 1.0 } else { now.as_secs_f64() / before.as_secs_f64() }
}

/// Returns the longest time that a write of these bytes is slowed.
pub(crate) fn most_slowed(bytes: usize, per_mib: Duration) -> Duration {
    if planted(Fault::PauseBeforeSeal) {
        return Duration::from_secs(3600);
    }
    time_of(bytes, per_mib).max(LONGEST_PAUSE)
}

impl Pauses {
    /// Returns whether a write to a memtable of `grown` bytes must check the pace first.
    #[inline]
    pub(crate) fn look_is_due(&self, grown: usize) -> bool {
        grown >= self.next_look
    }

    /// Notes that the memtable was sealed with `grown` bytes. The next one begins with none.
    pub(crate) fn sealed(&mut self, grown: usize) {
        debug_assert!(grown >= self.looked_at, "a memtable only grows");
        self.carried += grown - self.looked_at;
        self.looked_at = 0;
        let left = LOOK_BYTES.saturating_sub(self.carried);
        self.next_look = if self.current.is_some() { 0 } else { left };
    }

    /// Cancels the pause and all time owed. Called at a pace of zero: compaction and flushes keep
    /// up, or no worker reduces the backlog.
    fn forgive(&mut self, grown: usize) {
        (self.owed, self.ahead, self.current) = (Duration::ZERO, Duration::ZERO, None);
        self.looked(grown);
    }

    /// Checks the pace. Returns the time at which writes may continue, or `None` if they may
    /// continue now.
    pub(crate) fn pause(
        &mut self,
        grown: usize,
        per_mib: Duration,
        now: Duration,
    ) -> Option<Duration> {
        if per_mib.is_zero() {
            self.forgive(grown);
            return None;
        }
        if let Some(pause) = self.current {
            let left = pause.until.saturating_sub(now);
            let left = left.mul_f64(fall(pause.per_mib, per_mib));
            if !left.is_zero() {
                let per_mib = per_mib.min(pause.per_mib);
                self.current = Some(Pause { until: now + left, per_mib });
                return Some(now + left);
            }
            self.current = None;
            self.ahead = (self.ahead + now.saturating_sub(pause.until)).min(LONGEST_PAUSE);
        }
        self.owed = self.owed.mul_f64(fall(self.owed_at, per_mib));
        self.owed_at = per_mib;
        self.owed += time_of(self.carried + grown - self.looked_at, per_mib);
        let credit = self.ahead.min(self.owed);
        (self.owed, self.ahead) = (self.owed - credit, self.ahead - credit);
        self.looked(grown);
        if self.owed < SHORTEST_PAUSE {
            return None;
        }
        let length = match planted(Fault::PauseBeforeSeal) {
            true => self.owed,
            false => self.owed.min(LONGEST_PAUSE),
        };
        self.owed -= length;
        // During the pause every writer checks the pace.
        self.next_look = 0;
        self.current = Some(Pause { until: now + length, per_mib });
        Some(now + length)
    }

    fn looked(&mut self, grown: usize) {
        (self.carried, self.looked_at) = (0, grown);
        self.next_look = grown + LOOK_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    const SLOWEST: Duration = Duration::from_millis(320);

    fn options() -> Options {
        Options { write_buffer_size: 1 << 20, max_write_buffers: 2, ..Options::default() }
    }

    fn per_mib(level0_runs: usize, debt: u64, tree_bytes: u64) -> Duration {
        Lag { level0_runs, debt, tree_bytes }.per_mib(&options().resolve())
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
        let two = |filled| while_flushing(filled, &options().resolve(), flush);
        assert_eq!(
            (two(1.0), two(1.5), two(1.75), two(2.0)),
            (Duration::ZERO, Duration::ZERO, flush, 10 * flush)
        );
        let many = Options { write_buffer_size: 2 << 20, max_write_buffers: 0, ..options() };
        let many = |filled| while_flushing(filled, &many.resolve(), flush);
        assert_eq!((many(12.5), many(17.0)), (Duration::ZERO, 10 * flush));
        assert!(many(12.6) > Duration::ZERO && many(12.6) < many(14.0) && many(14.0) < flush);
    }

    #[test]
    fn a_stop_below_the_slowdown_does_not_divide_by_zero() {
        let odd = Options { level0_slowdown_trigger: 20, level0_stop_trigger: 4, ..options() };
        let lag = |level0_runs| Lag { level0_runs, debt: 0, tree_bytes: 0 }.per_mib(&odd.resolve());
        assert_eq!((lag(19), lag(20)), (Duration::ZERO, SLOWEST));
        let none = Options { level0_slowdown_trigger: 0, ..options() };
        Lag { level0_runs: 0, debt: 9, tree_bytes: 0 }.per_mib(&none.resolve());
    }

    /// The sum of all pauses follows the pace, for all sizes of writes and memtables, and with late
    /// timers.
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
                // No pause follows the last write.
                let least = 0.99 - step as f64 / TOTAL as f64;
                assert!(
                    (least..1.02).contains(&ratio),
                    "{step} {memtable} {late} {millis}: {ratio}"
                );
            }
        }
    }

    #[test]
    fn a_pause_holds_all_writers_until_it_is_over() {
        let mut pauses = Pauses::default();
        let second = Duration::from_secs(1);
        let at = pauses.pause(LOOK_BYTES, SLOWEST, second).expect("a pause");
        assert_eq!(at, second + Duration::from_millis(5));
        // Every writer that arrives during the pause checks the pace.
        assert!(pauses.look_is_due(LOOK_BYTES));
        assert_eq!(pauses.pause(LOOK_BYTES, SLOWEST, second), Some(at));
        assert_eq!(pauses.pause(LOOK_BYTES, SLOWEST, at), None);
        assert!(!pauses.look_is_due(LOOK_BYTES));
    }

    /// Pauses once kept the length of their first pace, and lasted far longer than the backlog.
    #[test]
    fn a_pause_gets_shorter_with_the_pace_and_ends_with_the_backlog() {
        let second = Duration::from_secs(1);
        let large = 64 << 20;
        let mut pauses = Pauses::default();
        assert_eq!(pauses.pause(large, SLOWEST, second), Some(second + LONGEST_PAUSE));
        let fifth = pauses.pause(large, SLOWEST / 5, second);
        assert_eq!(fifth, Some(second + LONGEST_PAUSE / 5));
        assert_eq!(pauses.pause(large, SLOWEST, second), fifth, "never longer");
        assert_eq!(pauses.pause(large, Duration::ZERO, second), None);
        assert_eq!(pauses.pause(large, SLOWEST, second), None, "no time is owed any more");
    }

    #[test]
    fn a_small_write_does_not_wait_for_a_large_one() {
        assert_eq!(most_slowed(100, SLOWEST), LONGEST_PAUSE);
        assert_eq!(most_slowed(10 << 20, SLOWEST), SLOWEST * 10);
    }

    /// The flush of one key takes a few milliseconds, which once counted as seconds per MiB.
    #[test]
    fn the_flush_of_a_tiny_memtable_says_nothing_about_a_large_one() {
        let (millis, buffer) = (Duration::from_millis, 64 << 20);
        let speed = FlushSpeed::default();
        (0..100).for_each(|_| speed.note(1000, buffer, millis(20)));
        assert!(speed.per_mib() < FIRST_FLUSH * 11 / 10, "{:?}", speed.per_mib());
        (0..10).for_each(|_| speed.note(buffer, buffer, millis(64 * 40)));
        assert!(speed.per_mib() > millis(39), "a large memtable counts: {:?}", speed.per_mib());
    }
}
