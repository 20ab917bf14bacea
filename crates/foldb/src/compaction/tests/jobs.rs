//! Runs jobs slice by slice on small trees drawn as text (H1, H4).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use crate::compaction::job::{FinishedSlice, Job, JobContext, Moves, assert_inputs_in_order};
use crate::error::Result;
use crate::key::{BytewiseComparator, Comparator, DEFAULT_KEYSPACE, SeqNo};
use crate::testing::history::{self, Event};
use crate::testing::orders::CaseBlind;
use crate::testing::tree::{Workbench, parse_bounds, read_events_in};
use crate::version::{
    Edit, KeyRange, KeyspaceEdit, RunId, TreeEdit, Version, check_order, check_structure,
};

/// A job in progress. It checks after every slice that no reader sees a change.
pub(super) struct Running<'a> {
    bench: &'a Workbench,
    pub(super) job: Job,
    snapshots: Vec<SeqNo>,
    target_file_size: u64,
    first: Version,
    pub(super) version: Version,
    /// The records at the beginning.
    events: Vec<Event>,
    edits: Vec<Vec<TreeEdit>>,
}

impl<'a> Running<'a> {
    fn begin(bench: &'a Workbench, version: Version, job: Job, snapshots: &[SeqNo]) -> Running<'a> {
        assert_inputs_in_order(&job, &version, &*bench.comparator);
        let events = bench.contents(&version);
        Running {
            bench,
            job,
            snapshots: snapshots.to_vec(),
            // Cuts the table before the third key, as soon as the first sub-block is written.
            target_file_size: 1,
            first: version.clone(),
            version,
            events,
            edits: Vec::new(),
        }
    }

    fn try_step(&self) -> Result<Option<FinishedSlice>> {
        self.write(&self.job)
    }

    /// Does the next slice of a job, or of a part of one, without installing it.
    pub(super) fn write(&self, job: &Job) -> Result<Option<FinishedSlice>> {
        let bench = self.bench;
        job.step(JobContext {
            gone: &Vec::new,
            version: &self.version,
            flushed_through: 0,
            fs: &bench.fs,
            names: &bench.names,
            tables: &bench.tables,
            comparator: &bench.comparator,
            operators: &bench.registry.resolver(),
            snapshots: &self.snapshots,
            expired_through: None,
            filters: None,
            next_number: &|| bench.next_number(),
            table_options: bench.table_options(),
            target_file_size: self.target_file_size,
            memory: &bench.memory,
            values: None,
            later: None,
        })
    }

    /// Does and installs a slice.
    fn step(&mut self) -> Option<FinishedSlice> {
        let slice = self.try_step().unwrap()?;
        self.install(&slice);
        Some(slice)
    }

    pub(super) fn install(&mut self, slice: &FinishedSlice) {
        // Passes the edits through the encoding of the manifest.
        let mut bytes = Vec::new();
        let change = KeyspaceEdit::of_tree(DEFAULT_KEYSPACE, slice.edits.clone());
        Edit::of_keyspace(change).encode(&mut bytes);
        let [change] = &mut Edit::decode(&bytes).unwrap().keyspaces[..] else { panic!("a change") };
        assert_eq!(change.tree, slice.edits);
        self.version = self.bench.apply(&self.version, &change.tree);
        self.edits.push(std::mem::take(&mut change.tree));
        self.check();
    }

    fn check(&self) {
        let comparator = &*self.bench.comparator;
        check_structure(&self.version, comparator);
        check_order(&self.version, &self.bench.tables, comparator).unwrap();
        let readers = self.snapshots.iter().copied().chain([SeqNo::MAX]);
        let contents = self.bench.contents(&self.version);
        for reader in readers {
            for event in &self.events {
                let value = self.bench.read(&self.version, &event.key, reader);
                assert_eq!(
                    value,
                    read_events_in(comparator, &self.events, &event.key, reader),
                    "{} at {reader} after {} slices:\n{}",
                    event.key.escape_ascii(),
                    self.edits.len(),
                    self.bench.show(&self.version)
                );
                if value != "-" {
                    let spelling = |events: &[Event]| spelling(comparator, events, event, reader);
                    assert_eq!(spelling(&contents), spelling(&self.events), "at {reader}");
                }
            }
        }
        // Checks that a crash now finds the same tree.
        let (comparator, segment_files) = (&*self.bench.comparator, &self.bench.segment_files);
        let described = self.first.describe();
        let edits = [&described[..]].into_iter().chain(self.edits.iter().map(Vec::as_slice));
        let recovered = Version::empty(self.version.levels.len());
        let recovered = recovered.apply_all(edits, comparator, segment_files).unwrap();
        assert_eq!(self.bench.show(&recovered), self.bench.show(&self.version));
    }

    /// Runs to the end. Returns the tree after each slice.
    fn run(mut self) -> (Vec<String>, Version) {
        let mut trees = Vec::new();
        while let Some(slice) = self.step() {
            let how = if slice.moved { "moved\n" } else { "" };
            trees.push(format!("{how}{}", self.bench.show(&self.version)));
            assert!(trees.len() < 200, "every slice uses something up");
        }
        self.check_end();
        (trees, self.version)
    }

    /// Checks that the job has nothing left to do.
    pub(super) fn check_end(&self) {
        let inputs = self.job.inputs.iter().filter_map(|&id| self.version.run(id));
        for run in inputs {
            assert!(run.overlapping(&*self.bench.comparator, &self.job.range).next().is_none());
        }
    }
}

/// Returns the bytes in which a reader sees the key of a record: those of the key's newest record.
fn spelling(comparator: &dyn Comparator, events: &[Event], of: &Event, reader: SeqNo) -> String {
    let same = events.iter().filter(|event| comparator.compare(&event.key, &of.key).is_eq());
    let seen = same.filter(|event| !event.is_range() && event.header.seqno <= reader);
    let newest = seen.max_by_key(|event| event.header.seqno);
    newest.map(|event| event.key.escape_ascii().to_string()).expect("a visible key")
}

/// A job that compacts everything.
pub(super) fn merge(inputs: &[RunId], output_level: usize, output_run: RunId) -> Job {
    Job {
        inputs: inputs.to_vec(),
        range: KeyRange::all(),
        output_level,
        output_run,
        before: None,
        moves: Moves::None,
        called: None,
        reason: "test",
    }
}

/// Jobs as text: see the top of the file. `UPDATE_GOLDEN=1` rewrites the answers.
#[test]
fn job_scenarios() {
    let text = include_str!("../testdata/jobs.txt");
    let answered: Vec<String> = text.trim().split("\n\n").map(answer).collect();
    let answered = answered.join("\n\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = path.join("src/compaction/testdata/jobs.txt");
        std::fs::write(path, answered).expect("testdata can be written");
        return;
    }
    for (is, should) in answered.split("\n\n").zip(text.split("\n\n")) {
        assert_eq!(is.trim_end(), should.trim_end(), "UPDATE_GOLDEN=1 rewrites it");
    }
    assert_eq!(answered, text);
}

/// Returns the scenario with its answers. A block without commands is a comment.
fn answer(scenario: &str) -> String {
    let Some((question, _)) = scenario.split_once("\n----") else { return scenario.to_owned() };
    let bench = Workbench::new();
    let lines = question.lines().filter(|line| !line.starts_with('#'));
    let (commands, tree): (Vec<&str>, Vec<&str>) = lines.partition(|line| !line.starts_with('L'));
    let version = bench.draw(&tree.join("\n"));
    let (mut job, mut snapshots, mut target) = (merge(&[], 0, 0), Vec::new(), 1);
    for command in commands {
        let (what, rest) = command.split_once(' ').unwrap_or((command, ""));
        let numbers = |text: &str| -> Vec<u64> {
            text.split(' ').map(|number| number.trim_start_matches('r').parse().unwrap()).collect()
        };
        match what {
            "merge" => {
                let (inputs, output) = rest.split_once(" into L").unwrap();
                let (level, run) = output.split_once(' ').unwrap();
                job.inputs = numbers(inputs);
                (job.output_level, job.output_run) = (level.parse().unwrap(), numbers(run)[0]);
            }
            "before" => job.before = Some(numbers(rest)[0]),
            "within" => {
                let (lo, hi) = parse_bounds(rest);
                job.range = KeyRange { lo: Some(lo), hi: Some(hi) };
            }
            "move" if rest == "all" => job.moves = Moves::All,
            "move" => job.moves = Moves::Large(numbers(rest)[0]),
            "snapshots" => snapshots = numbers(rest),
            "target" => target = numbers(rest)[0],
            _ => panic!("unknown command: {command}"),
        }
    }
    let mut running = Running::begin(&bench, version, job, &snapshots);
    running.target_file_size = target;
    let (trees, _) = running.run();
    format!("{question}\n----\n{}", trees.join("--\n")).trim_end().to_owned()
}

#[test]
fn h1_the_planted_fault_is_noticed() {
    use crate::faults::{Fault, plant};
    let bench = Workbench::new();
    let version = bench.draw(
        "L1 r5: [a.MERGE.5(+1) b.MERGE.6(+1) c.MERGE.7(+1)]
         L2 r2: [a.PUT.1(10)]",
    );
    let mut running = Running::begin(&bench, version, merge(&[5], 2, 2), &[]);
    plant(Some(Fault::KeepUsedUpSlice));
    let outcome = catch_unwind(AssertUnwindSafe(|| running.step()));
    plant(None);
    assert!(outcome.is_err());
}

/// A slice that cannot read its inputs or write its output leaves no file behind and can be tried
/// again.
#[test]
fn a_failed_slice_leaves_nothing_behind() {
    use foldb_env::FileSystem;
    use foldb_env::mem::{Fault, Operation};
    for operation in [Operation::Read, Operation::Create, Operation::Write, Operation::Sync] {
        let mut failures = 0;
        for at in 1.. {
            let bench = Workbench::new();
            let version = bench.draw(
                "L1 r5: [a.MERGE.5(+1) b.MERGE.6(+1) c.MERGE.7(+1)]
                 L2 r2: [a.PUT.1(10) b.PUT.2(20) d.PUT.3(30)]",
            );
            let mut running = Running::begin(&bench, version, merge(&[5], 2, 2), &[]);
            running.target_file_size = 1 << 20;
            let files = || {
                let mut files = bench.mem.list(bench.names.directory()).unwrap();
                files.sort();
                files
            };
            let before = files();
            // A read ahead that fails once is tried again, one block at a time.
            bench.mem.inject(Fault::on(operation).nth(at).forever());
            let outcome = running.try_step();
            bench.mem.clear_faults();
            if outcome.is_ok() {
                break;
            }
            failures += 1;
            assert_eq!(files(), before, "{operation:?} {at}");
            let (trees, _) = running.run();
            assert_eq!(trees, ["L2 r2: [a.PUT.0(11) b.PUT.0(21) c.PUT.0(1) d.PUT.0(30)]\n"]);
        }
        assert!(failures > 0, "{operation:?} never failed");
    }
}

/// A tree in order, a job that may run on it, and the readers that look on.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) comparator: Arc<dyn Comparator>,
    /// Levels and runs, newest first, with their tables.
    runs: Vec<(usize, Vec<Vec<Event>>)>,
    carves: Vec<(usize, char, char)>,
    job: JobKind,
    snapshots: Vec<SeqNo>,
    range: Option<(char, char)>,
    target: u64,
    moves: Moves,
}

#[derive(Clone, Copy, Debug)]
enum JobKind {
    /// From this run down to, and into, another.
    Existing(usize, usize),
    /// From this run down to a new one before everything of the next level.
    New(usize),
    /// From this run to another of its level, in place.
    InPlace(usize, usize),
}

pub(super) fn case() -> impl Strategy<Value = Case> {
    let letter = || prop::char::range('a', 'l');
    let operands = vec!["+1", "-1", "#1", "#-1", ",x", "=v", "!", "*", "."];
    let event = prop_oneof![
        5 => select(operands).prop_map(|operand| Event::merge("", 0, operand)),
        3 => Just(Event::put("", 0, "1")),
        3 => Just(Event::delete("", 0)),
        3 => letter().prop_map(|end| Event::delete_range("", &end.to_string(), 0)),
    ];
    let events = proptest::collection::vec((letter(), any::<bool>(), event), 1..40);
    let run = (0..4usize, 1..5usize, any::<prop::sample::Index>());
    let runs = proptest::collection::vec(run, 1..6);
    let carves =
        proptest::collection::vec((any::<prop::sample::Index>(), letter(), letter()), 0..3);
    let job = (0..3u8, any::<[prop::sample::Index; 2]>());
    let range = proptest::option::of((letter(), letter()));
    let snapshots = proptest::collection::btree_set(0..45u64, 0..3);
    let sizes = (
        select(vec![1u64, 200, 600, 1 << 20]),
        select(vec![Moves::All, Moves::Large(1), Moves::Large(400), Moves::None]),
    );
    let orders: Vec<Arc<dyn Comparator>> = vec![Arc::new(BytewiseComparator), Arc::new(CaseBlind)];
    (events, runs, carves, job, range, snapshots, sizes, select(orders)).prop_map(
        |(events, runs, carves, job, range, snapshots, sizes, comparator)| {
            let events: Vec<Event> = (1..)
                .zip(events)
                .map(|(seqno, (key, capital, mut event))| {
                    let capital = capital && !comparator.bytewise_order() && !event.is_range();
                    let key = if capital { key.to_ascii_uppercase() } else { key };
                    (event.key, event.header.seqno) = (key.to_string().into_bytes(), seqno);
                    event.in_order(&*comparator)
                })
                .collect();
            // The oldest records go to the deepest runs.
            let mut levels: Vec<_> = runs.iter().map(|run| run.0).collect();
            levels.sort_unstable();
            let mut cuts: Vec<_> =
                runs[1..].iter().map(|run| run.2.index(events.len() + 1)).collect();
            cuts.extend([0, events.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).rev().map(|cut| &events[cut[0]..cut[1]]);
            let runs: Vec<_> = levels
                .into_iter()
                .zip(pieces)
                .zip(&runs)
                .filter(|((_, piece), _)| !piece.is_empty())
                .map(|((level, piece), run)| {
                    let mut sorted = piece.to_vec();
                    sorted.sort_by(|a, b| {
                        let by_age = b.header.seqno.cmp(&a.header.seqno);
                        comparator.compare(&a.key, &b.key).then(by_age)
                    });
                    (level, history::tables(&*comparator, sorted, run.1))
                })
                .collect();
            let count = runs.len();
            let (first, second) = (job.1[0].index(count), job.1[1].index(count));
            let (newest, oldest) = (first.min(second), first.max(second));
            let same_level = |run: usize| runs[run].0 == runs[newest].0;
            let job = match job.0 {
                0 if newest < oldest => JobKind::Existing(newest, oldest),
                1 => JobKind::InPlace(newest, (newest..=oldest).rfind(|&r| same_level(r)).unwrap()),
                _ => JobKind::New(newest),
            };
            let carves =
                carves.into_iter().map(|(run, a, b)| (run.index(count), a.min(b), a.max(b)));
            Case {
                comparator,
                carves: carves.collect(),
                runs,
                job,
                snapshots: snapshots.into_iter().collect(),
                range: range.map(|(a, b)| (a.min(b), a.max(b))).filter(|(a, b)| a < b),
                target: sizes.0,
                moves: sizes.1,
            }
        },
    )
}

fn letters(lo: char, hi: char) -> KeyRange {
    let (lo, hi) = parse_bounds(&format!("{lo}..{hi}"));
    KeyRange { lo: Some(lo), hi: Some(hi) }
}

/// Run ids fall with age, from 100.
fn id(run: usize) -> RunId {
    100 - run as RunId
}

fn job_of(case: &Case, version: &Version) -> Option<Job> {
    let present = |runs: std::ops::Range<usize>| -> Vec<RunId> {
        runs.map(id).filter(|&id| version.run(id).is_some()).collect()
    };
    let new_run = 200;
    let job = match case.job {
        JobKind::Existing(newest, oldest) => {
            merge(&present(newest..oldest), case.runs[oldest].0, id(oldest))
        }
        JobKind::New(newest) => {
            let level = case.runs[newest].0;
            let end = case.runs.iter().rposition(|run| run.0 == level).unwrap();
            merge(&present(newest..end + 1), level + 1, new_run)
        }
        JobKind::InPlace(newest, oldest) => {
            let inputs = present(newest..oldest + 1);
            let before = inputs.first().copied();
            Job { before, ..merge(&inputs, case.runs[newest].0, new_run) }
        }
    };
    let range = case.range.map_or_else(KeyRange::all, |(lo, hi)| letters(lo, hi));
    (!job.inputs.is_empty()).then_some(Job { range, moves: case.moves, ..job })
}

impl Case {
    /// Makes the tree, and begins the job if it has inputs.
    pub(super) fn begin<'a>(&self, bench: &'a Workbench) -> Option<Running<'a>> {
        let mut edits = Vec::new();
        for (index, (level, tables)) in self.runs.iter().enumerate().rev() {
            let run = id(index);
            edits.push(TreeEdit::NewRun { level: *level, run, before: None });
            for table in tables {
                let file = bench.build(table);
                let (lo, hi) = (file.smallest.clone(), file.end.clone());
                edits.push(TreeEdit::Insert { run, file, lo, hi });
            }
        }
        let mut version = bench.apply(&Version::empty(5), &edits);
        for &(run, lo, hi) in &self.carves {
            if lo < hi && version.run(id(run)).is_some() {
                let carve = TreeEdit::Carve { run: id(run), range: letters(lo, hi) };
                version = bench.apply(&version, &[carve]);
            }
        }
        let job = job_of(self, &version)?;
        let mut running = Running::begin(bench, version, job, &self.snapshots);
        running.target_file_size = self.target;
        Some(running)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the tree and the job, no reader notices any slice, and the order holds (H1, H4).
    #[test]
    fn no_reader_notices_a_slice(case in case()) {
        let bench = Workbench::ordered_by(Arc::clone(&case.comparator));
        if let Some(running) = case.begin(&bench) {
            running.run();
        }
    }
}
