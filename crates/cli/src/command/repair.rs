//! `repair`: what is left of a database becomes one that opens.

use std::io::{self, Write};

use foldb::{Db, LostTable, RepairReport};
use serde_json::{Value, json};

use crate::args::{Common, Repair};
use crate::exit::Outcome;
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::location::shown;
use crate::output::Output;
use crate::progress;

/// Repairs, and says what is lost.
pub fn run(args: &Repair, common: &Common) -> Outcome {
    let spinner = progress::spinner("repairing", "{prefix} {spinner} {elapsed}");
    let report = Db::repair(&args.db, common.options());
    spinner.finish_and_clear();
    let report = report?;
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(&report))?;
        return output.flush();
    }
    for line in to_lines(&report) {
        let _ = writeln!(io::stderr(), "{line}");
    }
    Ok(())
}

fn to_lines(report: &RepairReport) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(error) = &report.manifest {
        let what = match report.rebuilt {
            true => {
                "a manifest was made of what the other files tell, in which keyspaces are called keyspace-1 and so on"
            }
            false => "the newest manifest that can be read is in force",
        };
        lines.push(format!("{what}: {error}"));
    }
    for log in &report.lost_logs {
        lines.push(format!("lost {}, and the writes in it", shown(log)));
    }
    for table in &report.lost_tables {
        if table.keyspace.is_empty() {
            // No manifest tells what it was.
            lines.push(format!(
                "lost {}, whatever keys it held: {}",
                shown(&table.file),
                table.error
            ));
            continue;
        }
        lines.push(format!(
            "lost {} of keyspace {}, keys {} to {}; what only it held of them is unknown, deletes too, but \
             for separated values: {}",
            shown(&table.file),
            quoted(table.keyspace.as_bytes()),
            quoted(&table.first_key),
            quoted(&table.last_key),
            table.error,
        ));
    }
    for name in &report.incomplete_keyspaces {
        lines.push(format!(
            "tables of keyspace {} are lost; what only they held of its keys is unknown, deletes too, but for \
             separated values",
            quoted(name.as_bytes())
        ));
    }
    for segment in &report.lost_segments {
        lines.push(format!("lost {}: reads of the values in it fail", shown(segment)));
    }
    let s = if report.tables == 1 { " is" } else { "s are" };
    lines.push(match report.lost_tables.is_empty() && report.incomplete_keyspaces.is_empty() {
        true => format!("{} table{s} whole", report.tables),
        false => format!(
            "{} table{s} whole, {} separated values were found again",
            report.tables, report.values_recovered
        ),
    });
    lines
}

fn to_json(report: &RepairReport) -> Value {
    let paths = |paths: &[std::path::PathBuf]| -> Vec<String> {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    let table = |lost: &LostTable| {
        json!({
            "keyspace": lost.keyspace,
            "file": lost.file.display().to_string(),
            "error": lost.error.to_string(),
            "first_key": String::from_utf8_lossy(&lost.first_key),
            "last_key": String::from_utf8_lossy(&lost.last_key),
        })
    };
    json!({
        "rebuilt": report.rebuilt,
        "manifest": report.manifest.as_ref().map(ToString::to_string),
        "tables": integer(report.tables),
        "lost_tables": report.lost_tables.iter().map(table).collect::<Vec<_>>(),
        "incomplete_keyspaces": report.incomplete_keyspaces,
        "lost_logs": paths(&report.lost_logs),
        "lost_segments": paths(&report.lost_segments),
        "values_recovered": integer(report.values_recovered),
    })
}
