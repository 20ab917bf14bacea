//! Turns the draft of a rule into a job that keeps the order invariant.
//!
//! Rules only say where a job begins and ends ([`Draft`]). One place, [`Picker::decide`], computes
//! the runs that the job must take. So no rule can break the order:
//!
//! ```text
//! L1: r5 r4 [r3 r2]     a draft names a suffix of its input level: the oldest runs
//! L2: [r1]              every run between, where it overlaps the range
//! L3: r0                New: before r0, newest of its level.  Existing(r0): into r0, with all
//!                       runs of L3 that are newer than r0
//! ```
//!
//! So inputs are neighbours in age wherever the range has keys, and no run that stays lies between
//! an input and the output.

use crate::compaction::policy::settings::Policy;
use crate::compaction::policy::shape::{CutRange, RunShape, RunningJob, TableShape, TreeShape};
use crate::compaction::policy::shortage::Trials;
use crate::key::Comparator;

/// Why a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// A tier has gathered its runs.
    TierFull,
    /// Small runs are compacted among themselves instead of dragging large ones along.
    SmallRuns,
    /// The tree has more tiers than it needs: the run moves down.
    UnusedTier,
    /// Too many dead bytes lie above the last level: a slice goes into it.
    StagedBytes,
    /// Too many runs lie over a key range in staging.
    StagedDepth,
    /// Several runs lie over a damaged part of a table, which they cannot pass.
    AboveDamage,
    /// Level 0 stops writers, and no other rule wants its runs.
    WritersStopped,
    /// A sorted level is over its capacity.
    Capacity,
    /// A level that should be one run has several.
    SeveralRuns,
    /// Tiered: newer runs could replace all of the oldest one.
    SpaceAmplification,
    /// Tombstones delete many bytes below them.
    Deletes,
    /// A snapshot that kept records apart is gone.
    Released,
    /// A caller asked for it.
    Manual,
    /// Reads have lost time that the job gives back.
    Reads,
    /// Writes have ended, and the bytes above a slice of the last level exceed its bound at rest.
    Rest,
    /// The disk is full, and a slice promises to give space back.
    Shortage,
}

impl Reason {
    /// Returns the reason as events tell it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Reason::TierFull => "tier full",
            Reason::SmallRuns => "small runs",
            Reason::UnusedTier => "unused tier",
            Reason::StagedBytes => "many bytes above the last level",
            Reason::StagedDepth => "many runs above the last level",
            Reason::AboveDamage => "runs above a damaged part",
            Reason::WritersStopped => "level 0 stops writers",
            Reason::Capacity => "level over its capacity",
            Reason::SeveralRuns => "several runs in a sorted level",
            Reason::SpaceAmplification => "much dead space",
            Reason::Deletes => "many deletes",
            Reason::Released => "snapshot released",
            Reason::Manual => "asked for",
            Reason::Reads => "reads lose time",
            Reason::Rest => "at rest",
            Reason::Shortage => "the disk is full",
        }
    }
}

/// Whether the job rewrites bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum JobKind {
    /// Read the inputs, write the output.
    Merge,
    /// Nothing overlaps: the tables change their place in the tree and stay as they are.
    Move,
}

/// The place of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OutputRun {
    /// A new run, the newest of the output level.
    New,
    /// Into this run: its tables that overlap the range are inputs too, and are replaced.
    Existing(u64),
    /// A new run that stands where the inputs stood, in the same level.
    InPlace,
}

/// The runs of one level that a job reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LevelRuns {
    /// The level.
    pub level: usize,
    /// Ids of its runs, newest first.
    pub runs: Vec<u64>,
}

/// A decision: one job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pick {
    /// The reason of the job.
    pub reason: Reason,
    /// The kind of the job.
    pub kind: JobKind,
    /// The runs that the job reads, newest level first; never empty. They exclude the output run.
    pub inputs: Vec<LevelRuns>,
    /// The keys that the job covers. Data of the inputs outside this range stays in place.
    pub range: CutRange,
    /// Level of the output.
    pub output_level: usize,
    /// Place of the output in its level.
    pub output: OutputRun,
    /// Estimated bytes of the inputs and of the output run in the range.
    pub bytes: u64,
}

impl Pick {
    /// Asserts that the tree has the runs of the job, free, and that records move down only.
    pub(super) fn assert_fits(&self, tree: &TreeShape) {
        let is_free =
            |level: usize, id: u64| tree.levels[level].iter().any(|run| run.id == id && !run.busy);
        assert!(
            self.inputs.is_sorted_by(|above, below| above.level < below.level),
            "a job has the runs of a level together, and newer ones first"
        );
        for LevelRuns { level, runs } in &self.inputs {
            assert!(*level <= self.output_level, "a job writes to no level above its inputs");
            assert!(!runs.is_empty(), "a job has inputs at each of its levels");
            assert!(runs.iter().all(|id| is_free(*level, *id)), "the inputs of a job are free");
        }
        if let OutputRun::Existing(id) = self.output {
            assert!(is_free(self.output_level, id), "a job merges into a free run of its level");
        }
    }
}

/// A draft of a job: a rule's choice of runs, key range and output.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub reason: Reason,
    /// Input level.
    pub from: usize,
    /// Indexes of its runs. They are a suffix, unless the output stays in the level.
    pub runs: std::ops::Range<usize>,
    pub to: usize,
    pub output: OutputRun,
    pub range: CutRange,
    /// Whether the job is worth doing only if nothing must be rewritten.
    pub only_as_move: bool,
}

/// A need of the tree.
#[derive(Clone, Debug)]
pub(super) struct Need {
    /// Urgency, a ratio: at 1 the tree has just reached a bound. The policy meets the most urgent
    /// need that it can.
    pub urgency: f64,
    /// Bytes that compactions must read until the need is met.
    pub debt: u64,
    /// Jobs that meet the need, the best first.
    pub drafts: Vec<Draft>,
}

/// Serves one question to the policy. It holds the tree and the jobs that run in it.
#[derive(Clone, Copy)]
pub(super) struct Picker<'a> {
    pub policy: &'a Policy,
    pub tree: &'a TreeShape,
    pub jobs: &'a [RunningJob],
    pub cmp: &'a dyn Comparator,
    /// Keys that no job leaves; `None`: all keys.
    pub bounds: Option<&'a CutRange>,
    /// What was tried, if the disk is full.
    pub trials: Option<&'a Trials>,
}

impl<'a> Picker<'a> {
    pub(super) fn runs(&self, level: usize) -> &'a [RunShape] {
        &self.tree.levels[level]
    }

    /// Returns the index of the first run of the level's free suffix: the runs after the last run
    /// that a job uses.
    pub(super) fn free_from(&self, level: usize) -> usize {
        let runs = self.runs(level);
        runs.len() - runs.iter().rev().take_while(|run| !run.busy).count()
    }

    /// Returns the bytes of the last level.
    pub(super) fn last_bytes(&self) -> u64 {
        self.tree.level_bytes(self.policy.num_levels - 1)
    }

    /// Returns the output of a job into a sorted level: the level's run.
    pub(super) fn sorted_target(&self, level: usize) -> OutputRun {
        self.runs(level).first().map_or(OutputRun::New, |run| OutputRun::Existing(run.id))
    }

    /// Returns the output of a job that also takes the level's newer runs: its oldest run.
    pub(super) fn oldest_target(&self, level: usize) -> OutputRun {
        self.runs(level).last().map_or(OutputRun::New, |run| OutputRun::Existing(run.id))
    }

    /// Returns the job that the draft wants, if it can run now and was not tried in vain.
    pub(super) fn decide(&self, draft: &Draft) -> Option<Pick> {
        let all = &draft.range;
        let range = self.bounds.map_or_else(|| all.clone(), |own| all.clipped(own, self.cmp));
        if self.trials.is_some_and(|trials| !trials.allow(&range)) {
            return None;
        }
        let mut taken = Taken { picker: self, range: &draft.range, inputs: Vec::new(), bytes: 0 };
        let mut tables: Vec<&TableShape> = Vec::new();
        let top = self.runs(draft.from);
        taken.take(draft.from, &top[draft.runs.clone()], &mut tables)?;
        for level in draft.from + 1..draft.to {
            taken.take(level, self.runs(level), &mut tables)?;
        }
        if let OutputRun::Existing(id) = draft.output {
            let runs = self.runs(draft.to);
            let at = runs.iter().position(|run| run.id == id)?;
            if draft.to > draft.from {
                taken.take(draft.to, &runs[..at], &mut tables)?;
            }
            let joined = taken.inputs.len();
            taken.take(draft.to, &runs[at..=at], &mut tables)?;
            if runs[at].busy {
                return None;
            }
            taken.inputs.truncate(joined);
        }
        let Taken { inputs, bytes, .. } = taken;
        if inputs.is_empty() || self.jobs.iter().any(|job| self.collides(draft, job)) {
            return None;
        }
        let kind = if self.can_move(draft, tables) { JobKind::Move } else { JobKind::Merge };
        if draft.only_as_move && kind != JobKind::Move {
            return None;
        }
        Some(Pick {
            reason: draft.reason,
            kind,
            inputs,
            range,
            output_level: draft.to,
            output: draft.output,
            bytes,
        })
    }

    /// Returns whether a running job writes to a level and range that this draft writes to or
    /// passes.
    fn collides(&self, draft: &Draft, job: &RunningJob) -> bool {
        let meets = job.output_level == draft.to
            || (draft.from < job.output_level && job.output_level < draft.to)
            || (job.input_level < draft.to && draft.to < job.output_level);
        meets && draft.range.overlaps(&job.range, self.cmp)
    }

    /// Returns whether the draft is a move. A move changes the level, cuts no table, and carries no
    /// tombstone to the bottom. Small tables do not move: compactions must make them larger.
    fn can_move(&self, draft: &Draft, mut tables: Vec<&TableShape>) -> bool {
        let (count, policy) = (tables.len() as u64, self.policy);
        let bytes: u64 = tables.iter().map(|table| table.bytes).sum();
        let entries: u64 = tables.iter().map(|table| table.entries).sum();
        let crumbs = bytes < count * (policy.target_file_size / 4)
            && entries < count * (policy.most_table_keys / 4);
        let to_bottom = self.tree.deepest_level().is_none_or(|deepest| draft.to >= deepest);
        if draft.from == draft.to
            || (crumbs && draft.reason != Reason::UnusedTier)
            || (to_bottom && tables.iter().any(|table| table.deletes > 0))
        {
            return false;
        }
        let inside = |table: &TableShape| {
            let begins =
                draft.range.lo.as_ref().is_none_or(|lo| self.cmp.compare(lo, &table.lo).is_le());
            begins && draft.range.hi.as_ref().is_none_or(|hi| table.ends_before(hi, self.cmp))
        };
        tables.sort_unstable_by(|a, b| self.cmp.compare(&a.lo, &b.lo));
        tables.iter().all(|table| inside(table))
            && tables.windows(2).all(|pair| pair[0].ends_before(&pair[1].lo, self.cmp))
    }
}

/// Collects the inputs of a job.
struct Taken<'v, 'a> {
    picker: &'v Picker<'a>,
    range: &'v CutRange,
    inputs: Vec<LevelRuns>,
    bytes: u64,
}

impl<'a> Taken<'_, 'a> {
    /// Takes the runs that hold keys in the range. Returns `None` if one of them is in use.
    fn take(
        &mut self,
        level: usize,
        runs: &'a [RunShape],
        tables: &mut Vec<&'a TableShape>,
    ) -> Option<()> {
        let mut ids = Vec::new();
        for run in runs {
            let overlapping = run.tables_in(self.range, self.picker.cmp);
            if overlapping.is_empty() {
                continue;
            }
            if run.busy {
                return None;
            }
            ids.push(run.id);
            self.bytes += self.picker.bytes_in(overlapping, self.range);
            tables.extend(overlapping);
        }
        if !ids.is_empty() {
            self.inputs.push(LevelRuns { level, runs: ids });
        }
        Some(())
    }
}
