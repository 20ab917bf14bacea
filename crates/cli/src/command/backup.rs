//! `backup`: incremental backups of a closed database in one directory.
//!
//! Invariant: the commands change nothing but the directory of backups, or the restored database.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foldb::backup::{BackupInfo, Backups};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::args::{Backup, BackupAction, Common};
use crate::columns::{Side, align};
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::location::{self, shown};
use crate::output::Output;
use crate::progress;

/// Runs one of the commands.
pub(super) fn run(args: &Backup, common: &Common) -> Outcome {
    let paths: Vec<&Path> = args.paths.iter().map(AsRef::as_ref).collect();
    if args.id.is_some() && !matches!(args.action, BackupAction::Restore | BackupAction::Delete) {
        return Err(Exit::usage("--id belongs to backup restore and backup delete"));
    }
    match (args.action, &paths[..]) {
        (BackupAction::Create, [db, dir]) => create(db, dir, common),
        (BackupAction::List, [dir]) => list(dir, common),
        (BackupAction::Restore, [dir, to]) => restore(dir, args.id, to, common),
        (BackupAction::Verify, [dir]) => verify(dir, common),
        (BackupAction::Delete, [dir]) => delete(dir, args.id, common),
        (action, _) => Err(Exit::usage(format!("expected foldb backup {}", action.usage()))),
    }
}

fn at(dir: &Path, common: &Common) -> Backups {
    Backups::at(dir, &common.options())
}

fn create(db: &Path, dir: &Path, common: &Common) -> Outcome {
    let started = Instant::now();
    let open = location::open(db, common.options())?;
    let spinner = progress::spinner("backing up", "{prefix} {spinner} {elapsed}");
    let made = at(dir, common).create(&open);
    spinner.finish_and_clear();
    let made = made?;
    open.close()?;
    tell(&made, true, started, common)
}

fn restore(dir: &Path, id: Option<u64>, to: &Path, common: &Common) -> Outcome {
    let started = Instant::now();
    let spinner = progress::spinner("restoring", "{prefix} {spinner} {elapsed}");
    let restored = at(dir, common).restore(id, to);
    spinner.finish_and_clear();
    tell(&restored?, false, started, common)
}

fn delete(dir: &Path, id: Option<u64>, common: &Common) -> Outcome {
    let id = id.ok_or_else(|| Exit::usage("--id N is missing: it names the backup to delete"))?;
    Ok(at(dir, common).delete(id)?)
}

fn list(dir: &Path, common: &Common) -> Outcome {
    let all = at(dir, common).list()?;
    let mut output = Output::new();
    if common.json {
        for own in &all {
            output.json(&to_json(own))?;
        }
        return output.flush();
    }
    let mut rows = vec![["ID", "FILES", "SIZE", "NEW FILES", "NEW"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|own| {
        let (bytes, new) = (HumanBytes(own.bytes), HumanBytes(own.new_bytes));
        vec![
            own.id.to_string(),
            own.files.to_string(),
            bytes.to_string(),
            own.new_files.to_string(),
            new.to_string(),
        ]
    }));
    output.text(&align("", &[Side::Right; 5], &rows))?;
    output.flush()
}

fn verify(dir: &Path, common: &Common) -> Outcome {
    let spinner = progress::spinner("verifying", "{prefix} {spinner} {elapsed}");
    let check = at(dir, common).verify();
    spinner.finish_and_clear();
    let check = check?;
    let mut output = Output::new();
    for fault in &check.faults {
        match common.json {
            true => output.json(&json!({ "fault": fault.to_string() }))?,
            false => output.text(&format!("{fault}\n"))?,
        }
    }
    if common.json {
        output.json(&json!({
            "backups": integer(check.backups),
            "files": integer(check.files),
            "bytes": integer(check.bytes),
            "faults": integer(check.faults.len() as u64),
        }))?;
    }
    output.flush()?;
    match check.faults.len() {
        0 => {
            let all = match check.backups {
                1 => "1 backup is".to_owned(),
                all => format!("{all} backups are"),
            };
            let (files, bytes) = (check.files, HumanBytes(check.bytes));
            if !common.json {
                let _ = writeln!(io::stderr(), "{all} sound: {files} files ({bytes})");
            }
            Ok(())
        }
        1 => Err(Exit::failed(format!("{} has a fault", shown(dir)))),
        more => Err(Exit::failed(format!("{} has {more} faults", shown(dir)))),
    }
}

fn tell(own: &BackupInfo, is_new: bool, started: Instant, common: &Common) -> Outcome {
    let what = if is_new { "backed up as" } else { "restored" };
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(own))?;
        return output.flush();
    }
    let (id, files, bytes) = (own.id, own.files, HumanBytes(own.bytes));
    let seconds = started.elapsed().as_secs_f64();
    let mut line = format!("{what} backup {id} in {seconds:.1} s: {files} files ({bytes})");
    if is_new {
        let (files, bytes) = (own.new_files, HumanBytes(own.new_bytes));
        line += &format!(", {files} of them new ({bytes})");
    }
    let _ = writeln!(io::stderr(), "{line}");
    Ok(())
}

fn to_json(own: &BackupInfo) -> Value {
    json!({
        "id": integer(own.id),
        "files": integer(own.files),
        "bytes": integer(own.bytes),
        "new_files": integer(own.new_files),
        "new_bytes": integer(own.new_bytes),
    })
}
