//! The commands, one module each.

mod checkpoint;
mod compact;
mod completions;
mod count;
mod demo;
mod dump;
mod explain;
mod finalize;
mod keyspaces;
mod load;
mod merge_segments;
mod operators;
mod options;
mod point;
mod repair;
mod restore;
mod scan;
mod stats;
mod verify;

use std::ffi::OsStr;

use crate::args::{Cli, Command, Common};
use crate::exit::{Exit, Outcome};
use crate::form::Form;
use crate::form::escape::quoted;
use crate::interrupt;

/// Does what was asked.
pub fn run(cli: Cli) -> Outcome {
    interrupt::install()?;
    let common = &cli.common;
    match &cli.command {
        Command::Get(args) => point::get(args, common),
        Command::Put(args) => point::put(args, common),
        Command::Delete(args) => point::delete(args, common),
        Command::Merge(args) => point::merge(args, common),
        Command::Scan(args) => scan::run(args, common),
        Command::Dump(args) => dump::run(args, common),
        Command::Count(args) => count::run(args, common),
        Command::Load(args) => load::run(args, common),
        Command::Stats(args) => stats::run(args, common),
        Command::Keyspaces(args) => keyspaces::run(args, common),
        Command::Options(args) => options::run(args, common),
        Command::Compact(args) => compact::run(args, common),
        Command::MergeSegments(args) => merge_segments::run(args, common),
        Command::Repair(args) => repair::run(args, common),
        Command::Verify(args) => verify::run(args, common),
        Command::Finalize(args) => finalize::run(args, common),
        Command::Explain(args) => explain::run(args, common),
        Command::Checkpoint(args) => checkpoint::run(args, common),
        Command::Operators => operators::run(common),
        Command::Demo(args) => demo::run(args, common),
        Command::Completions(args) => completions::run(args),
    }
}

/// The key that an argument stands for.
fn key(text: &OsStr, common: &Common) -> Outcome<Vec<u8>> {
    parsed("key", common.key_form(), text)
}

/// The bytes that an argument stands for.
fn parsed(what: &str, form: Form, text: &OsStr) -> Outcome<Vec<u8>> {
    bytes_of(what, form, text.as_encoded_bytes())
}

/// The bytes that a text stands for.
fn bytes_of(what: &str, form: Form, text: &[u8]) -> Outcome<Vec<u8>> {
    form.parse(text).ok_or_else(|| {
        let (text, name, expected) = (quoted(text), form.name(), form.expected());
        Exit::failed(format!("{what} {text} is not {name}: expected {expected}"))
    })
}
