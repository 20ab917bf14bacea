//! A run: case by case, with missing data made first, then the repetitions and the results.

use std::time::{Duration, SystemTime};

use foldb::Db;
use foldb_report::merges::{MergeResults, MergeRun};
use foldb_report::system;

use crate::arguments::{Settings, Subcommand};
use crate::bare_sync;
use crate::deadline::{Deadline, LIMIT};
use crate::directory::Directory;
use crate::failure::Failure;
use crate::matrix::{Case, Data, LENGTHS, Lengths, cases, expected, once, plan, preparation};
use crate::plan::Plan;
use crate::prepare::prepare;
use crate::print;
use crate::repetition::Bench;
use crate::verify::Verified;

/// Runs what `settings` ask for and prints the results on standard output.
///
/// # Errors
/// The first failure, or the first wrong key.
pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    let directory = Directory::new(settings.directory.as_deref())?;
    let cases = cases(settings);
    let limit = (settings.subcommand == Subcommand::All).then_some(LIMIT);
    if limit.is_some() {
        let minutes = expected_time(&cases, LENGTHS).as_secs_f64() / 60.0;
        eprintln!("expected time: about {minutes:.0} minutes, at most {}", LIMIT.as_secs() / 60);
    }
    let deadline = Deadline::new(limit);
    let nothing: fn(&Db) = |_| {};
    let bench = Bench { directory: &directory, lengths: LENGTHS, deadline, meddle: nothing };
    let began = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let runs = Session::new(&bench).run(&cases)?;
    let results = MergeResults {
        format: 1,
        machine: system::machine(directory.path()),
        command: settings.command.clone(),
        began,
        runs,
    };
    print::results(&results, settings.format)
}

/// Estimates the time of the cases with the data that they need.
fn expected_time(cases: &[Case], lengths: Lengths) -> Duration {
    let made = cases.chunk_by(|a, b| a.data == b.data).map(|same| preparation(same[0].data));
    made.sum::<Duration>() + cases.iter().map(|case| expected(case, lengths)).sum::<Duration>()
}

/// The cases of a run, one after the other.
pub(crate) struct Session<'a> {
    bench: &'a Bench<'a>,
    /// The prepared data.
    data: Option<(Data, Plan)>,
    /// Estimated time of the work so far, at the speeds that [`crate::matrix`] assumes.
    done: Duration,
}

impl<'a> Session<'a> {
    pub(crate) fn new(bench: &'a Bench<'a>) -> Session<'a> {
        Session { bench, data: None, done: Duration::ZERO }
    }

    /// Runs `cases` and removes their databases.
    ///
    /// # Errors
    /// The first failure. Earlier figures are discarded, because the measured database was wrong.
    pub(crate) fn run(mut self, cases: &[Case]) -> Result<Vec<MergeRun>, Failure> {
        let mut runs = Vec::with_capacity(cases.len());
        for (i, case) in cases.iter().enumerate() {
            eprintln!("[{}/{}] {}", i + 1, cases.len(), case.name());
            // One repetition of each case runs whatever time is left.
            let rest: Duration = cases[i + 1..].iter().map(|case| once(case, self.lengths())).sum();
            runs.push(self.run_case(case, rest)?);
        }
        self.bench.directory.remove_prepared()?;
        Ok(runs)
    }

    fn lengths(&self) -> Lengths {
        self.bench.lengths
    }

    fn run_case(&mut self, case: &Case, rest: Duration) -> Result<MergeRun, Failure> {
        if self.data.as_ref().is_none_or(|(data, _)| *data != case.data) {
            self.data = Some((case.data, self.prepare(case.data)?));
        }
        let (_, plan) = self.data.as_ref().expect("the data was prepared");
        let time = once(case, self.bench.lengths);
        let (mut repetitions, mut verified, mut sync) = (Vec::new(), Verified::default(), None);
        for number in 1..=case.repetitions {
            if number > 1 && !self.bench.deadline.admits(time, rest, self.done) {
                eprintln!("  no more repetitions, for the rest would be late");
                break;
            }
            if case.workload.writers > 0 && case.sync {
                sync = sync.max(Some(bare_sync::longest(self.bench.directory.path())?));
            }
            let outcome = self.bench.repeat(case, plan)?;
            self.done += time;
            let (merge, merges) = (&outcome.repetition.merge, outcome.repetition.merges);
            eprintln!("  repetition {number}: {:.1} ms/op, merges: {merges}", merge.ms);
            verified = outcome.verified;
            repetitions.push(outcome.repetition);
        }
        eprintln!("{}", verified.sentence());
        Ok(MergeRun {
            verified_live: verified.live,
            verified_deleted: verified.deleted,
            longest_bare_sync_us: sync.map(|sync| sync.as_secs_f64() * 1e6),
            ..MergeRun::of(case.described(), repetitions)
        })
    }

    fn prepare(&mut self, data: Data) -> Result<Plan, Failure> {
        let directory = self.bench.directory;
        directory.remove_prepared()?;
        let plan = plan(data);
        eprintln!("  preparing {} records", plan.records());
        prepare(&directory.prepared(), data, &plan)?;
        self.done += preparation(data);
        Ok(plan)
    }
}
