//! Answers the one question to the policy: which job should this tree run next?
//!
//! There are four sources of jobs. The policy asks them in this order:
//!
//! ```text
//! a caller      wants a range to be one run; no job of the policy runs meanwhile
//! the tree      is out of its shape; the most urgent need comes first
//! reads         have lost enough time to several runs that a job is worth its work
//! idle time     no write has come for a while
//! ```
//!
//! Invariant: `choose` has no state. The same tree and signals give the same decision.

use crate::compaction::policy::decision::{Pick, Picker};
use crate::compaction::policy::settings::Policy;
use crate::compaction::policy::shape::{CutRange, RunningJob, TreeShape};
use crate::compaction::policy::shortage::{self, Shortage};
use crate::compaction::policy::{damage, reads, rest, whole};
use crate::key::Comparator;

/// The policy's input besides the tree's shape.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signals<'a> {
    /// Jobs under way.
    pub jobs: &'a [RunningJob],
    /// The range that a caller of `compact` wants to be one run.
    pub caller: Option<&'a CutRange>,
    /// The time that reads lost, by kind of job. The policy tries them in this order.
    pub losses: &'a [Loss],
    /// Whether no write has come for a while.
    pub is_idle: bool,
    /// Set if the disk is full. Jobs that drop records then come before those for the shape.
    pub shortage: Option<Shortage<'a>>,
}

/// The time that reads lost for want of one kind of job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loss {
    /// The kind of job.
    pub job: ReadJob,
    /// The lost time, as the bytes that a compaction could have read in it.
    pub bytes: u64,
}

/// A kind of job that makes reads cheaper, by its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReadJob {
    /// Operands and base of one key, which is all of this range, in one run.
    FoldedKey(CutRange),
    /// Fewer runs over a slice of the tree.
    FewerRuns,
    /// Fewer tombstones over a slice of the tree.
    FewerTombstones,
}

/// What the tree should do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The job, if any.
    pub verdict: Verdict,
    /// The price in bytes of the job for each loss, in the order of the losses; `None` where there
    /// is no such job. The list ends at the first loss that reaches its price: the policy runs that
    /// job. It is empty if a caller or the tree's shape decided.
    pub prices: Vec<Option<u64>>,
}

/// The next job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Run this job, then ask again.
    Run(Urgency, Pick),
    /// A running job is in the way of what the caller wants. Ask again when it has ended.
    Wait,
    /// There is nothing to do.
    Rest,
}

/// How urgent a job is among those of other trees.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Urgency {
    /// No write has come for a while.
    Idle,
    /// Reads have lost its price.
    Reads,
    /// The tree is out of its shape. The number is a ratio: at 1 the tree has just reached a bound.
    Needed(f64),
    /// A caller waits for it.
    Called,
}

impl Policy {
    /// Returns the picker that serves a question with these signals.
    pub(super) fn picker_for<'a>(
        &'a self,
        tree: &'a TreeShape,
        signals: &Signals<'a>,
        cmp: &'a dyn Comparator,
    ) -> Picker<'a> {
        let trials = signals.shortage.map(|shortage| shortage.trials);
        Picker { trials, ..self.picker(tree, signals.jobs, cmp) }
    }

    /// Returns what the tree should do next.
    pub(crate) fn choose(
        &self,
        tree: &TreeShape,
        signals: &Signals<'_>,
        cmp: &dyn Comparator,
    ) -> Decision {
        let decision = if tree.damage.is_empty() {
            self.choose_whole(tree, None, signals, cmp)
        } else {
            damage::choose(self, tree, signals, cmp)
        };
        assert!(decision.prices.len() <= signals.losses.len(), "each price is that of a loss");
        if let Verdict::Run(_, pick) = &decision.verdict {
            pick.assert_fits(tree);
        }
        decision
    }

    /// Returns what a tree without damage should do next, inside these keys if it is a part.
    pub(super) fn choose_whole(
        &self,
        tree: &TreeShape,
        bounds: Option<&CutRange>,
        signals: &Signals<'_>,
        cmp: &dyn Comparator,
    ) -> Decision {
        let picker = Picker { bounds, ..self.picker_for(tree, signals, cmp) };
        if let Some(range) = signals.caller {
            let verdict = whole::into_one_run(&picker, range);
            return Decision { verdict, prices: Vec::new() };
        }
        if let Some(shortage) = &signals.shortage {
            let freeing =
                shortage::freeing(&picker, shortage.room).map(|pick| (Urgency::Idle, pick));
            let needed = |(urgency, pick)| (Urgency::Needed(urgency), pick);
            let urgent = || self.most_urgent(&picker).map(needed);
            let job = freeing.or_else(urgent);
            let verdict = job.map_or(Verdict::Rest, |(urgency, pick)| Verdict::Run(urgency, pick));
            return Decision { verdict, prices: Vec::new() };
        }
        if let Some((urgency, pick)) = self.most_urgent(&picker) {
            let verdict = Verdict::Run(Urgency::Needed(urgency), pick);
            return Decision { verdict, prices: Vec::new() };
        }
        let mut prices = Vec::new();
        for loss in signals.losses {
            let priced = reads::priced(&picker, &loss.job);
            prices.push(priced.as_ref().map(|(price, _)| *price));
            if let Some((price, pick)) = priced
                && loss.bytes >= price
            {
                return Decision { verdict: Verdict::Run(Urgency::Reads, pick), prices };
            }
        }
        let idle = if signals.is_idle { rest::at_rest(&picker) } else { None };
        let verdict = idle.map_or(Verdict::Rest, |pick| Verdict::Run(Urgency::Idle, pick));
        Decision { verdict, prices }
    }
}
