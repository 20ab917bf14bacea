//! `verify`: checks everything in a closed database.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use foldb::repair::VerifyReport;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::args::{Common, Verify};
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::location::shown;
use crate::output::Output;
use crate::progress;
use crate::reverse::ReverseBytewise;

/// Verifies, and prints one fault on each line.
pub(super) fn run(args: &Verify, common: &Common) -> Outcome {
    let started = Instant::now();
    let bar = progress::bar(0, "verifying", "{prefix} {bar:30} {bytes} of {total_bytes} {elapsed}");
    let verify = |options| {
        foldb::repair::verify_with_progress(&args.db, options, |progress| {
            bar.set_length(progress.bytes_total);
            bar.set_position(progress.bytes_done);
        })
    };
    let mut report = verify(common.options())?;
    // The keyspace `default` takes its order from the options.
    if report.faults.iter().any(|fault| fault.to_string().contains(ReverseBytewise::NAME)) {
        let mut options = common.options();
        options.default.comparator = Some(Arc::new(ReverseBytewise));
        report = verify(options)?;
    }
    bar.finish_and_clear();
    let mut output = Output::new();
    if common.json {
        output.json(&to_json(&report))?;
    } else {
        for fault in &report.faults {
            output.text(&format!("{fault}\n"))?;
        }
    }
    output.flush()?;
    if !common.json {
        let seconds = started.elapsed().as_secs_f64();
        let _ = writeln!(io::stderr(), "{} in {seconds:.1} s", summary(&report));
    }
    match report.faults.len() {
        0 => Ok(()),
        n => {
            let s = if n == 1 { "" } else { "s" };
            Err(Exit::failed(format!("{} has {n} fault{s}", shown(&args.db))))
        }
    }
}

fn summary(report: &VerifyReport) -> String {
    let files = report.files.len();
    let s = if files == 1 { " is" } else { "s are" };
    let mut text = format!(
        "{files} file{s} sound: {}, {} records",
        HumanBytes(report.bytes()),
        HumanCount(report.records())
    );
    if report.unchecked_operands > 0 {
        let n = HumanCount(report.unchecked_operands);
        text += &format!(", {n} operands of unknown operators among them");
    }
    if !report.leftovers.is_empty() {
        let n = report.leftovers.len();
        let s = if n == 1 { " is" } else { "s are" };
        text += &format!(", {n} more file{s} not needed");
    }
    text
}

fn to_json(report: &VerifyReport) -> Value {
    let files = report.files.iter().map(|file| {
        json!({
            "file": file.file.display().to_string(),
            "bytes": integer(file.bytes),
            "records": integer(file.records),
        })
    });
    let faults = report.faults.iter().map(|fault| {
        json!({
            "file": fault.path().map(|path| path.display().to_string()),
            "offset": fault.offset().map(integer),
            "error": fault.to_string(),
        })
    });
    let leftovers = report.leftovers.iter().map(|path| path.display().to_string());
    json!({
        "sound": report.is_sound(),
        "bytes": integer(report.bytes()),
        "records": integer(report.records()),
        "unchecked_operands": integer(report.unchecked_operands),
        "faults": faults.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
        "leftovers": leftovers.collect::<Vec<_>>(),
    })
}
