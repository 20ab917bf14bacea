//! A timeline that a program records while it runs.
//!
//! At first, each interval is about 8 ms long. When the run is longer than all intervals together,
//! their length doubles. So a timeline has a fixed size, recording never allocates, and each run
//! has the finest timeline that fits.

use std::time::Duration;

use crate::results::Moment;

/// The largest number of intervals.
const INTERVALS: usize = 300;
/// The finest interval is 2^23 ns.
const FINEST: u32 = 23;

/// The record of an interval.
pub trait Tally: Default {
    /// Adds the record of another interval or thread.
    fn add(&mut self, other: &Self);
}

/// A number of operations.
impl Tally for u64 {
    #[inline]
    fn add(&mut self, other: &u64) {
        *self += other;
    }
}

/// Records by time since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline<T> {
    /// An interval is 2^`shift` ns.
    shift: u32,
    tallies: Box<[T; INTERVALS]>,
}

impl<T: Tally> Default for Timeline<T> {
    fn default() -> Timeline<T> {
        Timeline { shift: FINEST, tallies: Box::new(std::array::from_fn(|_| T::default())) }
    }
}

impl<T: Tally> Timeline<T> {
    /// Adds a record at `time` since the start.
    #[inline]
    pub fn record(&mut self, time: Duration, done: &T) {
        let nanos = nanos(time);
        while nanos >> self.shift >= INTERVALS as u64 {
            self.double();
        }
        self.tallies[(nanos >> self.shift) as usize].add(done);
    }

    /// Adds another thread's timeline; both began together.
    pub fn merge(&mut self, other: &Timeline<T>) {
        while self.shift < other.shift {
            self.double();
        }
        for (i, tally) in other.tallies.iter().enumerate() {
            self.tallies[i >> (self.shift - other.shift)].add(tally);
        }
    }

    /// Returns the intervals of a run of `length`, each with the second at which it ends. The last
    /// one ends with the run.
    pub fn intervals(mut self, length: Duration) -> Vec<(f64, T)> {
        let end = nanos(length).max(1);
        while (end - 1) >> self.shift >= INTERVALS as u64 {
            self.double();
        }
        let last = ((end - 1) >> self.shift) as usize;
        // A record may lie after the end: a thread's last operation may end after `length` was
        // measured, and each thread measures time from its own start.
        let (within, after) = self.tallies.split_at_mut(last + 1);
        after.iter().for_each(|tally| within[last].add(tally));
        let ends = (1..=last as u64).map(|i| i << self.shift).chain([end]);
        ends.map(|end| end as f64 / 1e9).zip(*self.tallies).collect()
    }

    /// Doubles the length of intervals.
    #[cold]
    fn double(&mut self) {
        for i in 0..INTERVALS {
            let mut both = T::default();
            self.tallies.iter().skip(2 * i).take(2).for_each(|tally| both.add(tally));
            self.tallies[i] = both;
        }
        self.shift += 1;
    }
}

impl Timeline<u64> {
    /// Returns the intervals of a run of `length`, the last one ending with it.
    pub fn moments(self, length: Duration) -> Vec<Moment> {
        let intervals = self.intervals(length).into_iter();
        intervals.map(|(at, operations)| Moment { at, operations }).collect()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn total(moments: &[Moment]) -> u64 {
        moments.iter().map(|moment| moment.operations).sum()
    }

    #[test]
    fn a_short_run_has_fine_intervals_and_ends_with_its_last() {
        let mut timeline = Timeline::<u64>::default();
        (0..100).for_each(|i| timeline.record(Duration::from_millis(i), &2));
        let moments = timeline.moments(seconds(0.1));
        assert_eq!(moments.len(), 12);
        assert_eq!(moments.last().unwrap().at, 0.1);
        assert_eq!(total(&moments), 200);
    }

    #[test]
    fn a_long_run_has_no_more_than_300_intervals_and_loses_nothing() {
        let mut timeline = Timeline::<u64>::default();
        (0..10_000).for_each(|i| timeline.record(Duration::from_millis(i * 7), &1));
        let moments = timeline.moments(seconds(70.0));
        assert!((150..=INTERVALS).contains(&moments.len()), "{}", moments.len());
        assert_eq!(total(&moments), 10_000);
        let rates: Vec<u64> = moments.iter().map(|moment| moment.operations).collect();
        assert!(rates[..rates.len() - 1].iter().all(|rate| rate.abs_diff(rates[0]) <= 1));
        assert!(moments.is_sorted_by(|a, b| a.at < b.at));
    }

    #[test]
    fn silence_at_the_end_is_part_of_the_run() {
        let mut timeline = Timeline::<u64>::default();
        timeline.record(seconds(0.001), &5);
        let moments = timeline.moments(seconds(60.0));
        assert_eq!((moments[0].operations, total(&moments)), (5, 5));
        assert_eq!(moments.last().unwrap().at, 60.0);
    }

    #[test]
    fn threads_add_up_whatever_their_intervals() {
        let (mut short, mut long) = (Timeline::<u64>::default(), Timeline::<u64>::default());
        short.record(seconds(0.5), &3);
        long.record(seconds(0.5), &4);
        long.record(seconds(50.0), &1);
        let mut other = long.clone();
        short.merge(&long);
        other.merge(&{
            let mut short = Timeline::<u64>::default();
            short.record(seconds(0.5), &3);
            short
        });
        assert_eq!(short, other);
        assert_eq!(total(&short.moments(seconds(50.0))), 8);
    }

    #[test]
    fn operations_after_the_end_of_the_run_count_in_its_last_interval() {
        let mut timeline = Timeline::<u64>::default();
        timeline.record(seconds(0.0101), &1);
        let moments = timeline.moments(seconds(0.005));
        assert_eq!(moments, [Moment { at: 0.005, operations: 1 }]);
    }
}
