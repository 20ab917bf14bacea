//! `checkpoint`: creates a second database from the files of the first.

use std::io::{self, Write};
use std::time::Instant;

use foldb::backup::CheckpointReport;
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::args::{Checkpoint, Common};
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::location;
use crate::output::Output;
use crate::progress;

/// Runs the command, and reports which files it used.
pub(super) fn run(args: &Checkpoint, common: &Common) -> Outcome {
    let db = location::open(&args.db, common.options())?;
    let started = Instant::now();
    let spinner = progress::spinner("checkpointing", "{prefix} {spinner} {elapsed}");
    let report = db.checkpoint(&args.dir);
    spinner.finish_and_clear();
    let report = report?;
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(&report))?;
        output.flush()?;
    } else {
        let seconds = started.elapsed().as_secs_f64();
        let _ = writeln!(io::stderr(), "checkpoint in {seconds:.1} s: {}", to_text(&report));
    }
    Ok(db.close()?)
}

fn to_text(report: &CheckpointReport) -> String {
    let files = |n, what, how, bytes| {
        let s = if n == 1 { "" } else { "s" };
        format!("{n} {what}{s} {how} ({})", HumanBytes(bytes))
    };
    let linked = files(report.tables_linked, "table", "linked", report.bytes_linked);
    let logs = files(report.logs, "log", "copied", report.bytes_logs);
    let others = [
        (report.tables_copied, "table", "copied", report.bytes_copied),
        (report.segments_linked, "segment file", "linked", report.bytes_segments_linked),
        (report.segments_copied, "segment file", "copied", report.bytes_segments_copied),
    ];
    let others = others.into_iter().filter(|(n, ..)| *n > 0);
    let parts: Vec<String> = std::iter::once(linked)
        .chain(others.map(|(n, what, how, bytes)| files(n, what, how, bytes)))
        .chain([logs])
        .collect();
    parts.join(", ")
}

fn to_json(report: &CheckpointReport) -> Value {
    json!({
        "tables_linked": integer(report.tables_linked),
        "bytes_linked": integer(report.bytes_linked),
        "tables_copied": integer(report.tables_copied),
        "bytes_copied": integer(report.bytes_copied),
        "segments_linked": integer(report.segments_linked),
        "bytes_segments_linked": integer(report.bytes_segments_linked),
        "segments_copied": integer(report.segments_copied),
        "bytes_segments_copied": integer(report.bytes_segments_copied),
        "logs": integer(report.logs),
        "bytes_logs": integer(report.bytes_logs),
    })
}
