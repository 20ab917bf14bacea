//! The `foldb` command: `foldb COMMAND DB [ARGS] [FLAGS]`.
//!
//! Reading order: [`args`] (what may be asked, and how wrong questions are answered), [`exit`] (how
//! a command ends), [`form`] (how keys and values are written), [`location`], [`keyspace`] and
//! [`operator`] (what stands at a path, where in it, what merges there), [`ingest`] (lines into a
//! database), [`command`] (one module a command).
//!
//! Invariants: standard output carries data only; standard error carries exactly one line
//! `foldb: …` when a command does not end well; nothing is touched before the question is
//! understood.
#![forbid(unsafe_code)]

mod args;
mod columns;
mod command;
mod exit;
mod form;
mod ingest;
mod interrupt;
mod keyspace;
mod location;
mod operator;
mod output;
mod progress;

use std::process::ExitCode;

fn main() -> ExitCode {
    exit::guarded(|| command::run(args::parse(std::env::args_os())?))
}
