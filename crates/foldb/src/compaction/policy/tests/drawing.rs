//! Trees and picks as text.
//!
//! ```text
//! L0: 8[a-z 16] 7![a-f 4, g-m) 12 d60]    run 8; run 7, in use, of two tables, the second trimmed
//! L3: 2[a-m 64, n-z 64 *]                 to keys below m and with 60 % tombstones; sizes in MiB;
//!                                         * holds records that a released snapshot kept apart
//! job L2->L3 a..f                         a running job
//! damage 2 m..o                           a part of run 2 that cannot be read
//! ```
//!
//! Levels that are not drawn are empty.

use std::fmt::Write;

use crate::compaction::policy::shape::Key;
use crate::compaction::policy::{
    CutRange, Damage, JobKind, OutputRun, Pick, RunShape, RunningJob, TableShape, TreeShape,
    Verdict,
};
use crate::key::KeyList;

const MIB: f64 = (1 << 20) as f64;

/// A drawn tree.
pub(super) struct Drawing {
    pub tree: TreeShape,
    pub jobs: Vec<RunningJob>,
}

impl Drawing {
    pub(super) fn new(levels: usize) -> Drawing {
        let levels = vec![Vec::new(); levels];
        Drawing {
            tree: TreeShape { levels, dead_share: 1.0, damage: Vec::new() },
            jobs: Vec::new(),
        }
    }

    /// Adds a line. Returns false if the line is not part of a drawing.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if let Some(job) = line.strip_prefix("job ") {
            self.jobs.push(parse_job(job));
            return true;
        }
        if let Some(share) = line.strip_prefix("dead ") {
            self.tree.dead_share = share.parse().expect("a number");
            return true;
        }
        if let Some(damage) = line.strip_prefix("damage ") {
            let (run, range) = damage.split_once(' ').expect("RUN RANGE");
            let run = run.parse().expect("a run's id");
            self.tree.damage.push(Damage { run, range: parse_range(range) });
            return true;
        }
        let Some((level, runs)) = line.strip_prefix('L').and_then(|line| line.split_once(':'))
        else {
            return false;
        };
        let level: usize = level.parse().expect("a level");
        self.tree.levels[level] =
            runs.split_terminator(']').map(|run| parse_run(run.trim())).collect();
        true
    }
}

fn parse_run(run: &str) -> RunShape {
    let (id, tables) = run.split_once('[').expect("ID[tables]");
    RunShape {
        id: id.trim_end_matches('!').parse().expect("a run's id"),
        busy: id.ends_with('!'),
        tables: tables.split(',').map(|table| parse_table(table.trim())).collect(),
    }
}

fn parse_table(table: &str) -> TableShape {
    let mut words = table.split(' ');
    let (lo, hi) = words.next().and_then(|keys| keys.split_once('-')).expect("LO-HI");
    let bytes: f64 = words.next().and_then(|size| size.parse().ok()).expect("MiB");
    let mut words = words.peekable();
    let deletes = words.next_if(|word| word.starts_with('d'));
    let deletes = deletes.map_or(0, |d| d[1..].parse().expect("dPERCENT"));
    let released = words.next() == Some("*");
    let bytes = (bytes * MIB) as u64;
    let entries = bytes / 4096;
    TableShape {
        lo: Key::from(lo.as_bytes()),
        hi: Key::from(hi.trim_end_matches(')').as_bytes()),
        hi_included: !hi.ends_with(')'),
        bytes,
        samples: KeyList::default(),
        deletes: entries * deletes / 100,
        entries,
        released,
    }
}

/// `L2->L3 a..f`
fn parse_job(job: &str) -> RunningJob {
    let (levels, range) = job.split_once(' ').expect("LEVELS RANGE");
    let (input, output) = levels.split_once("->").expect("Lx->Ly");
    let level = |text: &str| text[1..].parse().expect("a level");
    RunningJob {
        input_level: level(input),
        output_level: level(output),
        range: parse_range(range),
        remaining_bytes: 0,
    }
}

/// `a..f`, `..f`, `a..`, `..`
pub(super) fn parse_range(range: &str) -> CutRange {
    let (lo, hi) = range.split_once("..").expect("LO..HI");
    let bound = |key: &str| (!key.is_empty()).then(|| Key::from(key.as_bytes()));
    CutRange { lo: bound(lo), hi: bound(hi) }
}

/// Writes a pick as a line.
pub(super) fn draw_pick(pick: &Pick) -> String {
    let mut line = match pick.kind {
        JobKind::Merge => "merge".to_owned(),
        JobKind::Move => "move".to_owned(),
    };
    for input in &pick.inputs {
        let runs: Vec<String> = input.runs.iter().map(u64::to_string).collect();
        write!(line, " L{}({})", input.level, runs.join(" ")).expect("a string takes every write");
    }
    let output = match pick.output {
        OutputRun::New => "new run".to_owned(),
        OutputRun::Existing(id) => format!("run {id}"),
        OutputRun::InPlace => "in place".to_owned(),
    };
    let bytes = pick.bytes as f64 / MIB;
    write!(line, " -> L{} {output}, {}", pick.output_level, draw_range(&pick.range))
        .expect("a string takes every write");
    write!(line, ", {bytes:.1} MiB: {:?}", pick.reason).expect("a string takes every write");
    line
}

pub(super) fn draw_verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Run(_, pick) => draw_pick(pick),
        Verdict::Wait => "wait".to_owned(),
        Verdict::Rest => "rest".to_owned(),
    }
}

fn draw_range(range: &CutRange) -> String {
    let bound = |key: &Option<Key>| {
        key.as_ref().map_or(String::new(), |key| String::from_utf8_lossy(key).into_owned())
    };
    match range {
        CutRange { lo: None, hi: None } => "all keys".to_owned(),
        range => format!("[{}..{})", bound(&range.lo), bound(&range.hi)),
    }
}
