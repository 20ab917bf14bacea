//! `repair`: rebuilds a damaged database so that it opens.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldb::repair::{LostTable, RepairOptions, RepairReport};
use foldb::{Db, ErrorKind};
use serde_json::{Value, json};

use crate::args::{Common, Repair};
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::location::shown;
use crate::output::Output;
use crate::progress;

/// Repairs, and reports what is lost.
pub(super) fn run(args: &Repair, common: &Common) -> Outcome {
    let options = RepairOptions {
        copy_to: (!args.in_place).then(|| args.to.clone().unwrap_or_else(|| beside(&args.db))),
        dry_run: args.dry_run,
        cut_log: args.cut_log.clone(),
        ..common.options().into()
    };
    let spinner = progress::spinner("repairing", "{prefix} {spinner} {elapsed}");
    let report = Db::repair(&args.db, options);
    spinner.finish_and_clear();
    let report = report.map_err(|error| Exit::failed(format!("{error}{}", advice(&error))))?;
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(&report))?;
        output.flush()?;
    } else {
        for line in to_lines(&report) {
            let _ = writeln!(io::stderr(), "{line}");
        }
        if let Some(copy) = &report.copy {
            let (copy, db) = (shown(copy), shown(&args.db));
            let _ = writeln!(io::stderr(), "the repaired copy is {copy}; {db} is unchanged");
        }
    }
    if report.lost_nothing() {
        return Ok(());
    }
    Err(Exit::Partial(match args.dry_run {
        true => format!("a repair of {} would lose data; nothing was changed", shown(&args.db)),
        false => {
            let repaired = report.copy.as_deref().unwrap_or(&args.db);
            format!("{} opens, but data is lost", shown(repaired))
        }
    }))
}

/// Returns `words.db.repaired` for `words.db`.
fn beside(db: &Path) -> PathBuf {
    let mut name = db.components().as_path().as_os_str().to_owned();
    name.push(".repaired");
    name.into()
}

/// Advises how to get past a log that stops a repair.
fn advice(error: &foldb::Error) -> String {
    let (Some(path), Some(offset)) = (error.path(), error.offset()) else { return String::new() };
    match (error.kind(), path.extension().is_some_and(|it| it == "log"), path.file_name()) {
        (ErrorKind::Corruption, true, Some(log)) => format!(
            "; to give up the writes from there on: --cut-log {}@{offset}",
            log.to_string_lossy()
        ),
        _ => String::new(),
    }
}

fn to_lines(report: &RepairReport) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(error) = &report.manifest {
        let what = match report.rebuilt {
            true => {
                "repair built a manifest from the other files, in which keyspaces are called \
                 keyspace-1 and so on"
            }
            false => "repair used the newest readable manifest",
        };
        lines.push(format!("{what}: {error}"));
    }
    for error in &report.cut {
        lines.push(format!(
            "a file changed after the last close, and its missing part is lost: {error}"
        ));
    }
    if let Some(cut) = &report.cut_log {
        let (log, later) = (shown(&cut.file), cut.later_logs.len());
        lines.push(format!(
            "cut {log} at offset {}: lost the writes after it, and {later} later logs",
            cut.offset
        ));
    }
    for part in &report.skipped {
        lines.push(match part.lost_nothing() {
            true => format!("mended the header of {}: no write is lost", shown(&part.file)),
            false => format!(
                "skipped {} damaged bytes of {} at offset {}, with the writes in {} frames: the writes \
                 around them are kept",
                part.bytes,
                shown(&part.file),
                part.offset,
                part.frames
            ),
        });
    }
    for log in &report.lost_logs {
        lines.push(format!("lost {}, and the writes in it", shown(log)));
    }
    for table in &report.lost_tables {
        if table.keyspace.is_empty() {
            // Without a manifest, the keys of a table are unknown.
            lines.push(format!("lost {} and all its keys: {}", shown(&table.file), table.error));
            continue;
        }
        lines.extend(table_lines(table));
    }
    for name in &report.incomplete_keyspaces {
        lines.push(format!(
            "tables of keyspace {} are lost: their deletes and inline values are unknown, so older \
             values may show",
            quoted(name.as_bytes())
        ));
    }
    for segment in &report.lost_segments {
        lines.push(format!("lost {}: reads of the values in it fail", shown(segment)));
    }
    if report.may_lack_newest {
        lines.push(
            "the newest tables may be missing: no log has writes that follow on those in tables"
                .to_owned(),
        );
    }
    if report.lost_keyspace_names {
        lines.push("lost the names and options of keyspaces".to_owned());
    }
    let s = if report.tables == 1 { " is" } else { "s are" };
    lines.push(match report.lost_tables.is_empty() && report.incomplete_keyspaces.is_empty() {
        true => format!("{} table{s} whole", report.tables),
        false => format!(
            "{} table{s} whole, {} separated values were restored",
            report.tables, report.values_recovered
        ),
    });
    lines
}

/// Says what the repair did with a table.
fn table_lines(table: &LostTable) -> Vec<String> {
    let file = shown(&table.file);
    let keyspace = quoted(table.keyspace.as_bytes());
    let mut lines = Vec::new();
    if table.records_salvaged > 0 {
        let n = table.records_salvaged;
        let (s, be) = if n == 1 { ("", "was") } else { ("s", "were") };
        lines.push(format!("{n} record{s} of {file} {be} rewritten: {}", table.error));
    }
    for range in &table.lost {
        let error = match table.records_salvaged {
            0 => format!(": {}", table.error),
            _ => String::new(),
        };
        lines.push(format!(
            "lost keys {} to {} of {file} in keyspace {keyspace}: its deletes and inline values are \
             unknown, so older values may show{error}",
            quoted(&range.first_key),
            quoted(&range.last_key),
        ));
    }
    if table.lost_range_deletes {
        lines.push(format!(
            "lost range deletes of {file} in keyspace {keyspace}: keys from {} to {} that they deleted \
             may show again",
            quoted(&table.first_key),
            quoted(&table.last_key),
        ));
    }
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
            "records_salvaged": integer(lost.records_salvaged),
            "lost": lost.lost.iter().map(|range| json!({
                "first_key": String::from_utf8_lossy(&range.first_key),
                "last_key": String::from_utf8_lossy(&range.last_key),
            })).collect::<Vec<_>>(),
            "lost_range_deletes": lost.lost_range_deletes,
        })
    };
    let cut = report.cut_log.as_ref().map(|cut| {
        json!({
            "file": cut.file.display().to_string(),
            "offset": integer(cut.offset),
            "bytes": integer(cut.bytes),
            "later_logs": paths(&cut.later_logs),
        })
    });
    json!({
        "lost_nothing": report.lost_nothing(),
        "copy": report.copy.as_ref().map(|copy| copy.display().to_string()),
        "cut_log": cut,
        "may_lack_newest": report.may_lack_newest,
        "lost_keyspace_names": report.lost_keyspace_names,
        "rebuilt": report.rebuilt,
        "manifest": report.manifest.as_ref().map(ToString::to_string),
        "skipped": report.skipped.iter().map(|part| json!({
            "file": part.file.display().to_string(),
            "offset": integer(part.offset),
            "bytes": integer(part.bytes),
            "frames": integer(part.frames),
        })).collect::<Vec<_>>(),
        "cut": report.cut.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "tables": integer(report.tables),
        "lost_tables": report.lost_tables.iter().map(table).collect::<Vec<_>>(),
        "incomplete_keyspaces": report.incomplete_keyspaces,
        "lost_logs": paths(&report.lost_logs),
        "lost_segments": paths(&report.lost_segments),
        "values_recovered": integer(report.values_recovered),
    })
}
