//! `restore`: makes a new database from a dump.
//!
//! Invariant: the new database has its name only if the dump was whole, and every entry was read
//! back equal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use foldb::Db;
use foldb::dump::DumpReport;

use crate::args::{Common, Restore};
use crate::command::dump::{STANDARD, tell};
use crate::command::import_entries::{TEMPLATE, check_interrupt};
use crate::exit::{Exit, Outcome};
use crate::interrupt::Watch;
use crate::location::shown;
use crate::progress;
use crate::staging::Staging;
use crate::stream::Stream;

/// Restores, and reports.
pub(super) fn run(args: &Restore, common: &Common) -> Outcome {
    let (started, watch) = (Instant::now(), Watch::start());
    let staging = Staging::begin(&args.db, &args.file)?;
    let path = staging.path();
    let restored = if args.file == Path::new(STANDARD) {
        let bar = progress::spinner("restoring", "{prefix} {spinner} {bytes}, {elapsed}");
        let from = Stream { inner: io::stdin().lock(), bar, watch: &watch };
        restore(from, Path::new("standard input"), &path, common)
    } else {
        let (file, len) = open(&args.file)?;
        let bar = progress::bar(len, "restoring", TEMPLATE);
        restore(Stream { inner: file, bar, watch: &watch }, &args.file, &path, common)
    };
    check_interrupt(&watch)?;
    let report = restored?;
    staging.finish()?;
    tell("restored", &report, started, common.json)
}

fn restore(from: impl Read, name: &Path, to: &Path, common: &Common) -> Outcome<DumpReport> {
    Ok(Db::restore(from, to, common.options()).map_err(|error| error.in_file(name))?)
}

fn open(path: &Path) -> Outcome<(File, u64)> {
    let name = shown(path);
    let failed = |error: io::Error| Exit::failed(format!("cannot read {name}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if found.is_dir() {
        return Err(Exit::failed(format!("{name} is a directory, and not a dump")));
    }
    Ok((file, found.len()))
}
