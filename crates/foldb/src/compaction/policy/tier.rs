//! Tiers: runs gather, and go down as one.
//!
//! ```text
//! trigger 4     [16] [16] [16] [16]            full: all four go down as one run
//!               [1] [1] [1] [16]               four runs, but by bytes little more than one:
//!               [3] [16]                       the small ones are compacted among themselves
//! ```
//!
//! Pressure counts bytes. So a thousand hot keys that the log limit flushes again and again never
//! drag a large run along. Small runs are compacted with a larger run only when together they weigh
//! about as much as that run. So a byte is rewritten a logarithmic number of times.

use std::ops::Range;

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Picker, Reason};
use crate::compaction::policy::settings::LevelKind;
use crate::compaction::policy::shape::{CutRange, RunShape};
use crate::settings::CompactionPreset;

/// A tier is full when it has this share, by bytes, of the runs that it gathers.
const FULL: f64 = 0.75;

/// A compaction into a sorted run must bring at least this fraction (one in 16) of the bytes that
/// it rewrites.
pub(super) const LEAST_SHARE_OF_SORTED: u64 = 16;

/// The runs of a tier that can go down now.
struct Tier<'a> {
    level: usize,
    trigger: usize,
    limit: usize,
    run_bytes: u64,
    runs: &'a [RunShape],
    /// Index of the first run that may go down.
    free: usize,
    /// Bytes of the runs that may go down.
    bytes: u64,
}

/// Returns what the tier at this level needs.
pub(super) fn need(picker: &Picker, level: usize, kind: LevelKind) -> Option<Need> {
    let LevelKind::Tier { trigger, limit, run_bytes } = kind else { return None };
    let runs = picker.runs(level);
    let free = picker.free_from(level);
    let bytes = runs[free..].iter().map(RunShape::bytes).sum();
    let tier = Tier { level, trigger, limit, run_bytes, runs, free, bytes };
    let heavy = bytes >= (trigger as u64).saturating_mul(run_bytes) && free < runs.len();
    if runs.len() < trigger && !heavy {
        return None;
    }
    let mut need = Need { urgency: tier.urgency(), debt: 0, drafts: Vec::new() };
    if heavy || (runs.len() - free >= trigger && tier.pressure() >= FULL * trigger as f64) {
        tier.go_down(picker, &mut need);
    }
    if !heavy && need.drafts.is_empty() || runs.len() >= limit {
        tier.gather(picker, &mut need);
    }
    (!need.drafts.is_empty()).then_some(need)
}

impl Tier<'_> {
    fn urgency(&self) -> f64 {
        let by_count = self.runs.len() as f64 / self.trigger as f64;
        let by_bytes = self.bytes as f64 / (self.trigger as f64 * self.run_bytes as f64).max(1.0);
        by_count.max(by_bytes)
    }

    /// Returns the weight of a full-grown run of this tier. Compression or small flushes may keep
    /// every run below the size in the settings: then it is the weight of the heaviest.
    fn unit(&self) -> u64 {
        let heaviest = self.runs.iter().map(RunShape::bytes).max().unwrap_or(0);
        heaviest.min(self.run_bytes).max(1)
    }

    /// Counts the free runs, each by its bytes.
    fn pressure(&self) -> f64 {
        let unit = self.unit() as f64;
        self.runs[self.free..].iter().map(|run| (run.bytes() as f64 / unit).min(1.0)).sum()
    }

    /// Sends all free runs to the next level in use.
    fn go_down(&self, picker: &Picker, need: &mut Need) {
        let policy = picker.policy;
        let last = policy.num_levels - 1;
        let draft = |to, output, range| Draft {
            reason: Reason::TierFull,
            from: self.level,
            runs: self.free..self.runs.len(),
            to,
            output,
            range,
            only_as_move: false,
        };
        match policy.preset {
            CompactionPreset::Leveled => {
                let range = picker.range_over(&self.runs[self.free..], self.level + 1);
                let into: u64 = picker.bytes_at(self.level + 1, &range);
                need.debt = self.bytes + into;
                if self.bytes * LEAST_SHARE_OF_SORTED >= into {
                    let to = self.level + 1;
                    need.drafts.push(draft(to, picker.sorted_target(to), range));
                }
            }
            CompactionPreset::Tiered => {
                need.debt = self.bytes;
                need.drafts.push(draft(self.level + 1, OutputRun::New, CutRange::ALL));
            }
            CompactionPreset::LazyLeveled => {
                need.debt = self.bytes;
                need.drafts.extend(self.straight_move(picker, last));
                let last_bytes = picker.last_bytes();
                if self.level + 1 < policy.tiers(last_bytes) {
                    need.drafts.push(draft(self.level + 1, OutputRun::New, CutRange::ALL));
                    return;
                }
                let staged: u64 =
                    (self.level + 1..last).map(|level| picker.tree.level_bytes(level)).sum();
                if self.goes_straight_to_last(staged, last_bytes) {
                    let range = picker.range_over(&self.runs[self.free..], last);
                    need.debt += staged + picker.bytes_at(last, &range);
                    need.drafts.push(draft(last, picker.sorted_target(last), range));
                }
                need.drafts.push(draft(last - 1, OutputRun::New, CutRange::ALL));
            }
        }
    }

    /// Returns whether the runs go straight into a small last level. They do when they have half of
    /// its bytes, or when staging would hold as much as it does.
    fn goes_straight_to_last(&self, staged: u64, last_bytes: u64) -> bool {
        2 * self.bytes >= last_bytes || self.bytes + staged >= last_bytes
    }

    /// Moves free runs that overlap nothing below to the last level as they are. Keys written in
    /// rising order are like that.
    fn straight_move(&self, picker: &Picker, last: usize) -> Option<Draft> {
        let oldest = self.runs.len() - 1;
        let candidates = [self.free, oldest];
        candidates.into_iter().find_map(|first| {
            let draft = Draft {
                reason: Reason::TierFull,
                from: self.level,
                runs: first..self.runs.len(),
                to: last,
                output: picker.sorted_target(last),
                range: picker.exact_range(&self.runs[first..]),
                only_as_move: true,
            };
            picker.decide(&draft).map(|_| draft)
        })
    }

    /// Compacts small neighbours in place.
    fn gather(&self, picker: &Picker, need: &mut Need) {
        let forced = self.runs.len() >= self.limit;
        let most = match picker.policy.preset {
            CompactionPreset::Leveled => self.run_bytes,
            _ => self.unit(),
        };
        let Some(window) = small_neighbours(self.runs, most, forced) else { return };
        need.debt = need.debt.max(self.runs[window.clone()].iter().map(RunShape::bytes).sum());
        need.drafts.push(in_place(self.level, window, Reason::SmallRuns));
    }
}

/// Compacts runs into one that takes their place.
pub(super) fn in_place(level: usize, runs: Range<usize>, reason: Reason) -> Draft {
    Draft {
        reason,
        from: level,
        runs,
        to: level,
        output: OutputRun::InPlace,
        range: CutRange::ALL,
        only_as_move: false,
    }
}

/// Returns free neighbours worth compacting together. The heaviest weighs at most twice the others
/// together, and all of them at most `most` bytes. The longest window wins; of equally long ones,
/// the lightest. When `forced` and there is none, returns those that remove a run for the fewest
/// bytes.
pub(super) fn small_neighbours(runs: &[RunShape], most: u64, forced: bool) -> Option<Range<usize>> {
    let bytes: Vec<u64> = runs.iter().map(RunShape::bytes).collect();
    let mut best: Option<(usize, u64, Range<usize>)> = None;
    let mut cheapest: Option<(f64, Range<usize>)> = None;
    for start in 0..runs.len() {
        let (mut sum, mut heaviest) = (0, 0);
        for end in start..runs.len() {
            if runs[end].busy {
                break;
            }
            sum += bytes[end];
            heaviest = heaviest.max(bytes[end]);
            let len = end + 1 - start;
            if len < 2 {
                continue;
            }
            let price = sum as f64 / (len - 1) as f64;
            if cheapest.as_ref().is_none_or(|(least, _)| price < *least) {
                cheapest = Some((price, start..end + 1));
            }
            if sum > most || heaviest > 2 * (sum - heaviest) {
                continue;
            }
            let better = best
                .as_ref()
                .is_none_or(|(count, weight, _)| len > *count || (len == *count && sum < *weight));
            if better {
                best = Some((len, sum, start..end + 1));
            }
        }
    }
    let fair = best.map(|(_, _, window)| window);
    fair.or_else(|| cheapest.filter(|_| forced).map(|(_, window)| window))
}
