//! `dump`: writes a whole database as one stream, from which `restore` makes an equal database.
//!
//! Invariant: a file of the given name is a complete dump.

use std::error::Error as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use foldb::dump::DumpReport;
use foldb::{Error, ReadOnlyDb};
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::args::{Common, Dump};
use crate::command::dump_text;
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::location;
use crate::new_file::NewFile;
use crate::output::Output;
use crate::progress;
use crate::stream::Stream;

/// The argument that stands for standard output or standard input.
pub(super) const STANDARD: &str = "-";

/// Dumps, and reports.
pub(super) fn run(args: &Dump, common: &Common) -> Outcome {
    if args.text {
        return dump_text::run(args, common);
    }
    let to_stdout = args.output == Path::new(STANDARD);
    if to_stdout && io::stdout().is_terminal() {
        return Err(Exit::usage(
            "a dump is not text: give --output FILE, send standard output to a file, or give \
             --text",
        ));
    }
    if to_stdout && common.json {
        return Err(Exit::usage(
            "--json prints a report to standard output, which takes the dump: give --output FILE, \
             or --text for entries in JSON",
        ));
    }
    let db = open(args, common)?;
    let (started, watch) = (Instant::now(), Watch::start());
    let report = if to_stdout {
        write(&db, io::stdout().lock(), &watch).map_err(|failed| match io_error(&failed) {
            Some(error) => incomplete(Exit::stdout(error)),
            None => failed.into(),
        })
    } else {
        let new = NewFile::begin(&args.output)?;
        let written = write(&db, &new.file, &watch);
        let written = written.map_err(|failed| Exit::from(failed.in_file(&args.output)));
        written.and_then(|report| new.finish().map(|()| report))
    };
    let report = match watch.interrupted() {
        true => Err(Exit::Interrupted("interrupted; the dump is incomplete".to_owned())),
        false => report,
    }?;
    db.close()?;
    tell("dumped", &report, started, common.json)
}

/// Turns the quiet end of a command whose reader closed standard output into a failure: the
/// user may keep what arrived, and must learn that it is a part.
pub(super) fn incomplete(exit: Exit) -> Exit {
    match exit {
        Exit::ClosedPipe => Exit::failed("standard output was closed: the dump is incomplete"),
        other => other,
    }
}

/// Opens the database. An error about a comparator says which program can dump the database.
fn open(args: &Dump, common: &Common) -> Outcome<ReadOnlyDb> {
    location::open_to_read(&args.db, common.options()).map_err(|failed| {
        let is_of_order = matches!(&failed, Exit::Failed(why) if why.contains("comparator '"));
        match is_of_order {
            true => failed.and("; a program that has this comparator can call Db::dump"),
            false => failed,
        }
    })
}

fn write(db: &ReadOnlyDb, to: impl Write, watch: &Watch) -> foldb::Result<DumpReport> {
    let bar = progress::spinner("dumping", "{prefix} {spinner} {bytes}, {elapsed}");
    db.dump(Stream { inner: to, bar, watch })
}

/// Returns the error of the operating system.
fn io_error(error: &Error) -> Option<&io::Error> {
    error.source()?.downcast_ref()
}

/// Prints what was dumped or restored.
pub(super) fn tell(what: &str, report: &DumpReport, started: Instant, as_json: bool) -> Outcome {
    if as_json {
        let mut output = Output::new();
        output.json(&to_json(report))?;
        return output.flush();
    }
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let _ = writeln!(
        io::stderr(),
        "{what} {} keyspace{}, {} key{} ({}) in {:.1} s",
        HumanCount(report.keyspaces),
        s(report.keyspaces),
        HumanCount(report.keys),
        s(report.keys),
        HumanBytes(report.bytes),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn to_json(report: &DumpReport) -> Value {
    json!({
        "keyspaces": integer(report.keyspaces),
        "keys": integer(report.keys),
        "operands": integer(report.operands),
        "bytes": integer(report.bytes),
    })
}
