//! The policy of compaction: a pure function from the shape of the tree to the next job.
//!
//! It opens no file, reads no clock and takes no lock: the same tree, signals and settings give the
//! same decision. The database summarises the version as a [`TreeShape`], asks [`Policy::choose`],
//! runs the job, and installs its result. It asks again until the tree is at rest.
//!
//! Each of the three presets gives every level a kind ([`LevelKind`]); the rules are the same:
//!
//! ```text
//! leveled       tier    sorted  sorted  sorted  ...           last
//! tiered        tier    tier    tier    tier    ...           last (several runs)
//! lazy leveled  tier .. tier    (unused)   ..   staging       last
//! ```
//!
//! Parts of tables that cannot be read divide the tree, and the policy goes round them
//! ([`damage`]).
//!
//! Invariant: every job keeps each key's records in order of age. Walking levels down and runs
//! newest first never meets a newer record after an older one. It holds by construction:
//! [`decision`] computes the inputs of every job from where it begins and ends.
//!
//! Sources: leveled as in LevelDB; tiered as in RocksDB's universal compaction; lazy leveled as in
//! Dayan and Idreos, "Dostoevsky" (SIGMOD 2018), with the last level fed slice by slice.

mod choose;
mod damage;
mod dead_share;
mod decision;
mod estimate;
mod extent;
mod reads;
mod released;
mod rest;
mod settings;
mod shape;
mod shortage;
mod slices;
mod sorted;
mod staging;
mod stopped;
#[cfg(test)]
mod tests;
mod tier;
mod whole;

use crate::key::Comparator;
use crate::settings::CompactionPreset;

pub(crate) use choose::{Loss, ReadJob, Signals, Urgency, Verdict};
pub(crate) use damage::gaps_between;
pub(crate) use dead_share::DeadShare;
pub(crate) use decision::{JobKind, OutputRun, Pick};
pub(crate) use reads::BYTES_PER_GONE;
pub(crate) use settings::Policy;
pub(crate) use shape::{CutRange, Damage, RunShape, RunningJob, TableShape, TreeShape};
pub(crate) use shortage::{Shortage, Trials};

use decision::{Need, Picker};
use settings::LevelKind;

impl Policy {
    /// Returns the most urgent job that the tree needs and that can run now, with its urgency.
    fn most_urgent(&self, picker: &Picker) -> Option<(f64, Pick)> {
        let mut needs = self.needs(picker);
        needs.sort_by(|a, b| b.urgency.total_cmp(&a.urgency));
        needs.iter().find_map(|need| {
            let pick = need.drafts.iter().find_map(|draft| picker.decide(draft))?;
            Some((need.urgency, pick))
        })
    }

    /// Estimates the bytes that jobs must still read until the policy rests; 0 at rest.
    pub(crate) fn debt(&self, tree: &TreeShape, jobs: &[RunningJob], cmp: &dyn Comparator) -> u64 {
        let of_tree = |tree: &TreeShape| -> u64 {
            self.needs(&self.picker(tree, jobs, cmp)).iter().map(|need| need.debt).sum()
        };
        let running: u64 = jobs.iter().map(|job| job.remaining_bytes).sum();
        let needed = match tree.damage.is_empty() {
            true => of_tree(tree),
            false => damage::pieces(tree, cmp).iter().map(of_tree).sum(),
        };
        running + needed
    }

    fn picker<'a>(
        &'a self,
        tree: &'a TreeShape,
        jobs: &'a [RunningJob],
        cmp: &'a dyn Comparator,
    ) -> Picker<'a> {
        assert_eq!(tree.levels.len(), self.num_levels, "a tree has all levels, empty ones too");
        Picker { policy: self, tree, jobs, cmp, bounds: None, trials: None }
    }

    /// Returns all needs of the tree, upper levels first.
    fn needs(&self, picker: &Picker) -> Vec<Need> {
        let last_bytes = picker.last_bytes();
        let bottom = picker.tree.deepest_level().unwrap_or(0);
        let mut needs = Vec::new();
        for level in 0..self.num_levels {
            let kind = self.kind(level, last_bytes);
            match kind {
                LevelKind::Tier { .. } => needs.extend(tier::need(picker, level, kind)),
                LevelKind::Unused => needs.extend(staging::leftover(picker, level, kind)),
                LevelKind::Staging => needs.extend(staging::need(picker, level)),
                LevelKind::Sorted { capacity } => {
                    needs.extend(sorted::several_runs(picker, level, 1));
                    needs.extend(sorted::over_capacity(picker, level, capacity));
                }
                LevelKind::Last { max_runs } => {
                    needs.extend(sorted::several_runs(picker, level, max_runs));
                }
            }
            if level <= bottom {
                needs.extend(sorted::deletes(picker, level, bottom));
                needs.extend(released::needs(picker, level));
            }
        }
        if self.preset == CompactionPreset::Tiered {
            needs.extend(whole::space_amplification(picker));
        }
        let is_wanted = needs.iter().flat_map(|need| &need.drafts).any(|draft| draft.from == 0);
        needs.extend(stopped::need(picker, is_wanted));
        needs
    }
}
