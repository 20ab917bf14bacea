//! The commands, one in each module.

mod backup;
mod checkpoint;
mod clock;
mod compact;
mod completions;
mod count;
mod demo;
mod dump;
mod dump_text;
mod ends;
mod explain;
mod export;
#[cfg(feature = "parquet")]
mod export_parquet;
mod export_rocksdb;
mod export_rows;
mod finalize;
mod gc;
mod import;
mod import_entries;
mod import_ldb;
mod import_leveldb;
mod import_rocksdb;
mod import_rows;
mod import_target;
mod keys;
mod keyspaces;
mod load;
mod operands;
mod operators;
mod options;
mod point;
mod queue;
mod repair;
mod restore;
mod restore_text;
mod scan;
mod stats;
mod typed;
mod updates;
mod verify;
mod watching;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Outcome};
use crate::form::KeyFormat;
use crate::interrupt;

/// Runs the command.
pub(crate) fn run(cli: Cli) -> Outcome {
    interrupt::install()?;
    let common = &cli.common;
    let takes_types = match &cli.command {
        Command::Get(_) | Command::Delete(_) | Command::Scan(_) | Command::Keys(_) => true,
        Command::Import(args) => args.rows.table.layout(args.from).is_some(),
        Command::Export(args) => args.rows.table.layout(args.to).is_some(),
        _ => false,
    };
    if common.key_format == KeyFormat::Typed && !takes_types {
        return Err(Exit::usage("--key-format typed is for get, delete, scan, keys and rows"));
    }
    match &cli.command {
        Command::Get(args) => point::get(args, common),
        Command::Put(args) => point::put(args, common),
        Command::Delete(args) => point::delete(args, common),
        Command::Touch(args) => point::touch(args, common),
        Command::Merge(args) => point::merge(args, common),
        Command::Operands(args) => operands::run(args, common),
        Command::Scan(args) => scan::run(args, common),
        Command::Keys(args) => keys::run(args, common),
        Command::Dump(args) => dump::run(args, common),
        Command::Restore(args) => restore::run(args, common),
        Command::Count(args) => count::run(args, common),
        Command::Load(args) => load::run(args, common),
        Command::Stats(args) if args.watch => watching::stats(&args.db, common),
        Command::Stats(args) => stats::run(args, common),
        Command::Top(args) => watching::top(args, common),
        Command::Doctor(args) => watching::doctor(args, common),
        Command::Report(args) => watching::report(args, common),
        Command::Keyspaces(args) => keyspaces::run(args, common),
        Command::Options(args) => options::run(args, common),
        Command::Compact(args) => compact::run(args, common),
        Command::Gc(args) => gc::run(args, common),
        Command::Repair(args) => repair::run(args, common),
        Command::Verify(args) => verify::run(args, common),
        Command::Clock(args) => clock::run(args, common),
        Command::Finalize(args) => finalize::run(args, common),
        Command::Explain(args) => explain::run(args, common),
        Command::Checkpoint(args) => checkpoint::run(args, common),
        Command::Backup(args) => backup::run(args, common),
        Command::Queue(args) => queue::run(args, common),
        Command::Ttl(args) => point::ttl(args, common),
        Command::Updates(args) => updates::run(args, common),
        Command::Import(args) => import::run(args, common),
        Command::Export(args) => export::run(args, common),
        Command::Operators => operators::run(common),
        Command::Demo(args) => demo::run(args, common),
        Command::Completions(args) => completions::run(args),
    }
}
