//! One repetition of a case. It collects the garbage of one copy of the data, or of several in
//! turn, until the load has run long enough.

use std::time::Duration;

use foldb::Db;
use foldb_report::merges::{LoadFigures, MergeFigures, MergeRepetition, Span};

use crate::deadline::Deadline;
use crate::directory::Directory;
use crate::failure::Failure;
use crate::load::{Done, HotKeys, run_beside};
use crate::matrix::{Case, Lengths};
use crate::measure;
use crate::plan::Plan;
use crate::prepare::{check_all_is_there, options};
use crate::verify::{Expected, Verified};

/// What all repetitions share.
pub(crate) struct Bench<'a> {
    pub directory: &'a Directory,
    pub lengths: Lengths,
    pub deadline: Deadline,
    /// Called before a copy is closed and verified. Only tests use it, to show that the run finds
    /// wrong values.
    pub meddle: fn(&Db),
}

/// The result of one repetition.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub repetition: MergeRepetition,
    pub verified: Verified,
}

impl Bench<'_> {
    /// Runs one repetition of `case`, whose data is prepared.
    ///
    /// # Errors
    /// Errors of the database or file system, of the load, of the checks around the garbage
    /// collection, and of the verification.
    pub(crate) fn repeat(&self, case: &Case, plan: &Plan) -> Result<Outcome, Failure> {
        let (mut done, mut merges, mut spans) = (Done::default(), Vec::new(), Vec::new());
        loop {
            let is_first = merges.is_empty();
            self.directory.make_copy()?;
            let hot = HotKeys::of(plan);
            let merge = self.merge_beside(case, plan, &hot, is_first, &mut done)?;
            let to = done.time().as_secs_f64();
            spans.push(Span { from: to - merge.ms / 1e3, to });
            merges.push(merge);
            let is_enough = !case.has_load()
                || done.beside_time >= self.lengths.load
                || self.deadline.is_near();
            let verified = self.verify(case, &Expected::new(plan, &hot), is_enough)?;
            if let Some(verified) = verified {
                self.directory.remove_copy()?;
                let repetition = summary(case, &done, &merges, spans);
                return Ok(Outcome { repetition, verified });
            }
        }
    }

    fn merge_beside(
        &self,
        case: &Case,
        plan: &Plan,
        hot: &HotKeys,
        is_first: bool,
        done: &mut Done,
    ) -> Result<MergeFigures, Failure> {
        let copy = self.directory.copy();
        let db =
            Db::open(&copy, options(case.data, case.budget)).map_err(Failure::during("open"))?;
        check_all_is_there(&db, plan)?;
        if case.has_load() {
            hot.warm(&db)?;
        }
        let baseline = match case.has_baseline && is_first {
            true => self.lengths.baseline,
            false => Duration::ZERO,
        };
        let merge = || measure::merge(&db, &copy, plan, case.budget);
        let merged = run_beside(&db, (plan, case), hot, baseline, done, merge)?;
        (self.meddle)(&db);
        db.close().map_err(Failure::during("close"))?;
        Ok(merged)
    }

    /// Reopens the copy and checks every key: the last copy in every way, the others in order.
    fn verify(
        &self,
        case: &Case,
        expected: &Expected<'_>,
        is_last: bool,
    ) -> Result<Option<Verified>, Failure> {
        let reopened = Db::open(self.directory.copy(), options(case.data, case.budget));
        let db = reopened.map_err(Failure::during("verification: reopen"))?;
        let verified = match is_last {
            true => Some(expected.check_every_key(&db)?),
            false => {
                expected.check_in_order(&db)?;
                None
            }
        };
        db.close().map_err(Failure::during("close"))?;
        Ok(verified)
    }
}

fn summary(case: &Case, done: &Done, merges: &[MergeFigures], spans: Vec<Span>) -> MergeRepetition {
    let load = done.beside_time;
    let read = (case.workload.readers > 0).then(|| done.reads.side(load));
    let write = (case.workload.writers > 0).then(|| done.writes.side(load));
    let mut figures = LoadFigures::of(read, write);
    if case.has_load() {
        let rate =
            |operations: u64, time: Duration| operations as f64 / time.as_secs_f64().max(1e-9);
        let baseline = case.has_baseline.then(|| rate(done.before, done.before_time));
        let operations = done.reads.operations + done.writes.operations;
        figures = figures.with_rates(baseline, rate(operations, load));
    }
    MergeRepetition {
        merge: MergeFigures::typical(&merges.iter().collect::<Vec<_>>()),
        load: figures,
        merges: merges.len() as u64,
        merge_ms: merges.iter().map(|merge| merge.ms).collect(),
        load_seconds: if case.has_load() { load.as_secs_f64() } else { 0.0 },
        spans,
        reads: done.reads.moments(done.time()),
        writes: done.writes.moments(done.time()),
    }
}
