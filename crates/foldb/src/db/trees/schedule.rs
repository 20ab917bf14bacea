//! The choice of the next job: describes the trees to the policy, and makes a job of its pick.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::compaction::job::{Job, Moves};
use crate::compaction::policy::{
    CutRange, Damage, JobKind, Loss, OutputRun, Pick, Policy, ReadJob, RunShape, RunningJob,
    Shortage, Signals, TableShape, TreeShape, Urgency, Verdict,
};
use crate::db::core::Core;
use crate::db::state::damage::DamagedPart;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::pace::Lag;
use crate::db::state::tree::Claim;
use crate::db::state::tree::{KeyspaceTree, Tree};
use crate::faults::{Fault, planted};
use crate::fold::stamp::Moment;
use crate::key::{Comparator, KeyspaceId, SeqNo};
use crate::runtime::IDLE;
use crate::version::{FileFacts, KeyRange, Run, RunId, TableRef, Upper, has_much_expired};

/// Selects tables that are worth rewriting in place, because more of their records may fold now, or
/// may go.
#[derive(Clone)]
pub(crate) struct Refold {
    /// The live snapshots, oldest first.
    snapshots: Vec<SeqNo>,
    rewritten: Rewritten,
    /// Tables are worth rewriting if half of their records expired by this time.
    expired_through: Option<Moment>,
}

/// Tables that a caller's compaction rewrites although nothing lies over them, by file number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rewritten {
    /// Those with operands, below this number.
    pub(crate) operands_below: u64,
    /// All of them, below this number: those that the call's compaction filter has not seen.
    pub(crate) unfiltered_below: u64,
}

impl Refold {
    fn is_due(&self, file: &FileFacts) -> bool {
        let is_released =
            file.kept_apart > 0 && self.snapshots.binary_search(&file.kept_apart).is_err();
        is_released
            || (file.merges > 0 && file.number < self.rewritten.operands_below)
            || file.number < self.rewritten.unfiltered_below
            || self.expired_through.is_some_and(|through| has_much_expired(file, through))
    }
}

/// The optional jobs that a caller of [`Core::pick`] accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks {
    /// Jobs whose price reads have lost ([`crate::db::read::lost_time`]).
    pub(crate) for_reads: bool,
    /// Jobs for an idle database.
    pub(crate) is_idle: bool,
    /// The bytes that one slice may write, if the disk is full. Jobs that drop records then come
    /// first.
    pub(crate) room: Option<u64>,
}

/// The job that the policy chose for a keyspace.
struct Choice {
    keyspace: KeyspaceId,
    urgency: Urgency,
    pick: Pick,
    /// The kind and the price of a job for reads.
    for_reads: Option<(ReadJob, u64)>,
}

impl Choice {
    /// Returns whether the job must rewrite every table, because its purpose is to fold records.
    fn rewrites_all(&self) -> bool {
        let folds_a_key = matches!(self.for_reads, Some((ReadJob::FoldedKey(_), _)));
        self.urgency == Urgency::Called || folds_a_key
    }
}

impl Core {
    pub(crate) fn refold(&self) -> Refold {
        let is_used = self.time.is_used();
        let expired_through = is_used.then(|| self.droppable_through());
        Refold {
            snapshots: self.snapshots.live(),
            rewritten: Rewritten::default(),
            expired_through,
        }
    }

    /// Computes the pace of a keyspace whose tree changed. Without automatic compaction the pace
    /// stays zero.
    pub(crate) fn set_pace(&self, own: &KeyspaceTree) {
        if self.settings.disable_auto_compactions || !self.has_workers() {
            return;
        }
        let levels = &own.version.levels;
        let runs = levels.iter().flat_map(|level| &level.runs);
        let debt = own.debt(&self.refold());
        let lag = own.ask(|_, comparator| {
            let tree_bytes = runs.map(|run| run.bytes(comparator)).sum();
            Some(Lag { level0_runs: own.keyspace.level0_runs(&own.version), debt, tree_bytes })
        });
        if let Some(lag) = lag {
            own.keyspace.pace.set(lag.per_mib(&self.settings));
        }
    }

    /// Returns the most urgent job over the trees of all keyspaces. Among equally urgent keyspaces,
    /// the one after the last served one is next, in rotation.
    pub(crate) fn pick(&self, tree: &mut Tree, asks: Asks) -> Option<Claim> {
        // The order matters: a snapshot that is released after `refold` listed it is noticed at the
        // next pick.
        if self.snapshots.take_released() {
            tree.choose_again();
        }
        let refold = self.refold();
        if let Some(through) = refold.expired_through {
            tree.keyspaces.values_mut().for_each(|own| own.note_expired_through(through));
        }
        let writers_are_slow = self.holds_writers_back(tree);
        let mut best: Option<Choice> = None;
        for id in in_rotation(tree) {
            let Some(own) = tree.keyspaces.get_mut(&id) else { continue };
            let lost_time = &own.keyspace.lost_time;
            let losses =
                if asks.for_reads { lost_time.losses(writers_are_slow) } else { Vec::new() };
            if own.settled && losses.is_empty() && !asks.is_idle {
                continue;
            }
            let choice = own.choose(&refold, losses, asks);
            if !choice.as_ref().is_some_and(|choice| choice.urgency > Urgency::Reads) {
                own.settled = true;
                if own.running.is_empty() {
                    // No worker reduces the backlog that slows its writers.
                    own.keyspace.pace.clear();
                }
            }
            if let Some(choice) = choice
                && best.as_ref().is_none_or(|best| choice.urgency > best.urgency)
            {
                best = Some(choice);
            }
        }
        let best = best?;
        if let Some((job, price)) = &best.for_reads {
            tree.keyspaces[&best.keyspace].keyspace.lost_time.subtract(job, *price);
        }
        debug_assert!(
            !tree.keyspaces[&best.keyspace].keyspace.has_failed(),
            "a keyspace whose comparator fails is not compacted"
        );
        Some(self.claim_of(&best, tree))
    }

    /// Returns whether writes are slowed, or soon would be.
    fn holds_writers_back(&self, tree: &Tree) -> bool {
        let is_slowed = tree.keyspaces.values().any(|own| !own.keyspace.pace.per_mib().is_zero());
        is_slowed || 2 * self.sealed.len() > self.settings.write_buffers.most
    }

    /// Returns whether nothing was written for a while, and everything written is in tables. A
    /// stalled writer writes nothing either. But its stall is shorter, or sealed memtables exist,
    /// so the database does not count as idle.
    pub(crate) fn is_idle(&self, tree: &mut Tree) -> bool {
        self.is_quiet(tree) && self.sealed.len() == 0
    }

    /// Returns whether nothing was written for a while.
    pub(crate) fn is_quiet(&self, tree: &mut Tree) -> bool {
        let (written, now) = (self.published(), self.options.env.clock.now());
        match tree.unwritten_since {
            Some((seqno, since)) if seqno == written => now.saturating_sub(since) >= IDLE,
            _ => {
                tree.unwritten_since = Some((written, now));
                false
            }
        }
    }

    /// Returns the next job that compacts a range into one run of the deepest level. `None` if the
    /// range is done or the keyspace was dropped. The last jobs rewrite the tables of `rewritten`.
    pub(crate) fn pick_manual(
        &self,
        tree: &Tree,
        keyspace: KeyspaceId,
        range: &CutRange,
        rewritten: Rewritten,
    ) -> Option<Claim> {
        let own = tree.keyspaces.get(&keyspace)?;
        // No other job runs now, so this job never waits for another one.
        debug_assert!(own.running.is_empty(), "a job of the policy runs during that of a caller");
        let choice = own.choose_for_caller(range, &Refold { rewritten, ..self.refold() })?;
        Some(self.claim_of(&choice, tree))
    }

    /// Returns a keyspace whose level 0 stops writers although none of its jobs runs; `None` if no
    /// keyspace is in this state.
    pub(crate) fn stopped_for_nothing(&self, tree: &Tree) -> Option<KeyspaceId> {
        let stop = self.settings.tree.level0_stop_trigger;
        let is_stopped = |own: &&KeyspaceTree| {
            let is_idle = own.running.is_empty() && !own.keyspace.has_failed();
            is_idle && own.keyspace.level0_runs(&own.version) >= stop
        };
        let stopped = tree.keyspaces.values().find(is_stopped)?;
        (!self.settings.disable_auto_compactions).then_some(stopped.keyspace.id)
    }

    /// Returns the compaction debt: the bytes that compactions must still read until none is due.
    /// While another call changes the trees, and waits for a disk perhaps, it is the debt at the
    /// last look.
    pub(crate) fn debt(&self) -> u64 {
        match self.tree.try_lock() {
            Some(tree) => {
                let refold = self.refold();
                tree.keyspaces.values().map(|own| own.debt(&refold)).sum()
            }
            None => {
                // Relaxed: figures of an earlier look. Nothing that they were made of is read here.
                self.keyspaces.all().iter().map(|own| own.last_debt.load(Ordering::Relaxed)).sum()
            }
        }
    }

    fn claim_of(&self, choice: &Choice, tree: &Tree) -> Claim {
        let keyspace = Arc::clone(&tree.keyspaces[&choice.keyspace].keyspace);
        let mut job = self.job_of(&choice.pick, tree.next_run);
        if choice.rewrites_all() {
            job.moves = Moves::None;
        }
        let damage = keyspace.damage.list();
        Claim { keyspace, job, damage, refusals: 0 }
    }

    fn job_of(&self, pick: &Pick, next_run: RunId) -> Job {
        let mut inputs: Vec<RunId> =
            pick.inputs.iter().flat_map(|level| level.runs.iter().copied()).collect();
        if planted(Fault::MovePastOlderRun) {
            inputs.truncate(1);
        }
        debug_assert!(!inputs.is_empty(), "the policy picks jobs that have an input");
        let (output_run, before) = match pick.output {
            OutputRun::New => (next_run, None),
            OutputRun::InPlace => (next_run, inputs.first().copied()),
            OutputRun::Existing(run) => (run, None),
        };
        let moves = match pick.kind {
            JobKind::Move => Moves::All,
            JobKind::Merge => Moves::Large(self.settings.tree.target_file_size / 2),
        };
        let range =
            KeyRange { lo: pick.range.lo.clone(), hi: pick.range.hi.clone().map(Upper::Excluded) };
        let output_level = pick.output_level;
        let reason = pick.reason.text();
        Job { inputs, range, output_level, output_run, before, moves, called: None, reason }
    }
}

/// Returns the range of a job, which begins and ends at cuts.
pub(super) fn cuts_of(range: &KeyRange) -> CutRange {
    CutRange { lo: range.lo.clone(), hi: range.hi.as_ref().map(|hi| Arc::clone(hi.key())) }
}

/// A database with less in its tables starts no thread for a job that is for an idle database. The
/// program of such a small store may end within milliseconds, and the job saves it less.
const SMALL: u64 = 256 << 10;

/// Looks for a job before the first worker does. Returns whether there is none, or only one for an
/// idle database that is small. Then no worker need look before there is news.
pub(super) fn begins_at_rest(core: &Core) -> bool {
    if core.settings.disable_auto_compactions {
        return true;
    }
    let (mut tree, seen) = (core.lock_tree(), core.background.rest.news());
    let is_used = core.time.is_used();
    let expires = is_used && tree.keyspaces.values().any(KeyspaceTree::has_ends);
    let asks = Asks { for_reads: false, is_idle: !is_small(&tree), room: None };
    let is_at_rest = !expires
        && core.pick(&mut tree, asks).is_none()
        && core.pick_revealing(&tree, true).is_none();
    core.background.rest.note_look(seen, is_at_rest);
    is_at_rest
}

/// Returns whether the tables have few bytes. It looks at no more tables than it must.
fn is_small(tree: &Tree) -> bool {
    let mut bytes = 0;
    let mut tables = tree.keyspaces.values().flat_map(|own| own.version.tables());
    tables.all(|table| {
        bytes += table.file.len;
        bytes < SMALL
    })
}

/// Returns all keyspaces, beginning after the last one served.
pub(crate) fn in_rotation(tree: &Tree) -> impl Iterator<Item = KeyspaceId> + use<> {
    let behind = (Bound::Excluded(tree.last_served), Bound::Unbounded);
    let ids: Vec<KeyspaceId> = tree
        .keyspaces
        .range(behind)
        .chain(tree.keyspaces.range(..=tree.last_served))
        .map(|(&id, _)| id)
        .collect();
    ids.into_iter()
}

impl KeyspaceTree {
    /// Asks the policy about this tree. Returns `None` if the keyspace's comparator has failed, or
    /// fails now.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Policy, &dyn Comparator) -> Option<T>,
    ) -> Option<T> {
        let KeyspaceState { policy, comparator, .. } = &*self.keyspace;
        if self.keyspace.has_failed() {
            return None;
        }
        let answer = self
            .keyspace
            .guarded("the choice of a compaction", || Ok(question(policy, &**comparator)));
        answer.unwrap_or_default()
    }

    /// Returns the job that the policy chooses, and records the prices that the policy sets.
    fn choose(&self, refold: &Refold, losses: Vec<Loss>, asks: Asks) -> Option<Choice> {
        let jobs = self.running_jobs();
        let shortage = asks.room.map(|room| Shortage { room, trials: &self.trials });
        let Asks { is_idle, .. } = asks;
        let signals = Signals { jobs: &jobs, caller: None, losses: &losses, is_idle, shortage };
        let decision = self.ask(|policy, comparator| {
            Some(policy.choose(&self.shape(refold), &signals, comparator))
        })?;
        for (loss, &price) in losses.iter().zip(&decision.prices) {
            self.keyspace.lost_time.note_price(&loss.job, price);
        }
        let Verdict::Run(urgency, pick) = decision.verdict else { return None };
        let for_reads = match (urgency, decision.prices.last()) {
            (Urgency::Reads, Some(&Some(price))) => {
                losses.into_iter().nth(decision.prices.len() - 1).map(|loss| (loss.job, price))
            }
            _ => None,
        };
        Some(Choice { keyspace: self.keyspace.id, urgency, pick, for_reads })
    }

    /// Returns the next job that compacts a range into one run.
    fn choose_for_caller(&self, range: &CutRange, refold: &Refold) -> Option<Choice> {
        let jobs = self.running_jobs();
        let signals = Signals { jobs: &jobs, caller: Some(range), ..Signals::default() };
        let decision = self.ask(|policy, comparator| {
            Some(policy.choose(&self.shape(refold), &signals, comparator))
        })?;
        let Verdict::Run(urgency, pick) = decision.verdict else { return None };
        Some(Choice { keyspace: self.keyspace.id, urgency, pick, for_reads: None })
    }

    /// Returns the bytes that compactions of the tree must still read until none is due.
    pub(crate) fn debt(&self, refold: &Refold) -> u64 {
        let debt = self.ask(|policy, comparator| {
            Some(policy.debt(&self.shape(refold), &self.running_jobs(), comparator))
        });
        let debt = debt.unwrap_or(0);
        self.keyspace.last_debt.store(debt, Ordering::Relaxed);
        debt
    }

    pub(crate) fn shape(&self, refold: &Refold) -> TreeShape {
        let busy = |id: RunId| {
            self.running.iter().any(|job| job.output_run == id || job.inputs.contains(&id))
        };
        // Operands in newer places may need the values below them.
        let mut expired_through = refold.expired_through;
        if let Some(through) = &mut expired_through {
            let view = self.keyspace.view.load();
            let merged = view.memtables().map(|memtable| memtable.merged_since());
            *through = merged.fold(*through, Moment::min);
        }
        let mut run = |run: &Arc<Run>| {
            let here = Refold { expired_through, ..refold.clone() };
            let expiry = run.tables.iter().filter_map(|table| table.file.expiry);
            if let Some(through) = &mut expired_through {
                *through = expiry.map(|expiry| expiry.merged_since).fold(*through, Moment::min);
            }
            RunShape {
                id: run.id,
                busy: busy(run.id),
                tables: run.tables.iter().map(|table| self.table_shape(table, &here)).collect(),
            }
        };
        let levels = self.version.levels.iter();
        TreeShape {
            levels: levels.map(|level| level.runs.iter().map(&mut run).collect()).collect(),
            dead_share: self.dead_share.get(),
            damage: self.damage_shape(),
        }
    }

    /// Returns where the parts that cannot be read lie.
    fn damage_shape(&self) -> Vec<Damage> {
        if self.keyspace.damage.is_empty() {
            return Vec::new();
        }
        let comparator = &*self.keyspace.comparator;
        let parts = self.keyspace.damage.list();
        let of_run = |run: &Arc<Run>| {
            let shown = |part: &&DamagedPart| {
                run.tables.iter().any(|table| part.is_of(table) && part.meets(table, comparator))
            };
            let shape = |part: &DamagedPart| Damage { run: run.id, range: part.range.clone() };
            parts.iter().filter(shown).map(shape).collect::<Vec<_>>()
        };
        self.version.runs().flat_map(|(_, run)| of_run(run)).collect()
    }

    fn table_shape(&self, table: &TableRef, refold: &Refold) -> TableShape {
        let bytes = table.bytes(&*self.keyspace.comparator);
        let file = &table.file;
        // The visible part of a file is assumed to have the same share of its records as of its
        // bytes.
        let share = |whole: u64| (whole as u128 * bytes as u128 / file.len.max(1) as u128) as u64;
        debug_assert!(bytes <= file.len, "a part of a table is no larger than the table");
        TableShape {
            lo: Arc::clone(&table.lo),
            hi: Arc::clone(table.hi.key()),
            hi_included: matches!(table.hi, Upper::Included(_)),
            bytes,
            samples: file.samples.clone(),
            // Records that range tombstones delete count as deleted one by one.
            deletes: share(file.deletes + file.range_deleted).max(file.range_deletes.min(1)),
            entries: share(file.entries + file.range_deleted).max(file.range_deletes.min(1)),
            released: refold.is_due(file),
        }
    }

    pub(crate) fn running_jobs(&self) -> Vec<RunningJob> {
        self.running.iter().map(|job| self.running_job(job)).collect()
    }

    fn running_job(&self, job: &Job) -> RunningJob {
        let (version, comparator) = (&self.version, &*self.keyspace.comparator);
        let inputs = job.inputs.iter().filter_map(|&id| version.run(id));
        let tables = inputs.flat_map(|run| run.overlapping(comparator, &job.range));
        let input_level = job.inputs.iter().filter_map(|&id| version.position(id)).map(|at| at.0);
        RunningJob {
            input_level: input_level.min().unwrap_or(job.output_level),
            output_level: job.output_level,
            range: cuts_of(&job.range),
            remaining_bytes: tables.map(|table| table.bytes_within(comparator, &job.range)).sum(),
        }
    }
}
