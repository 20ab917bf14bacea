//! The command line: commands, arguments and flags, with their help.
//!
//! [`command`] lists the commands; [`entries`], [`input`], [`database`], [`transfer`] and [`rows`]
//! hold the arguments of each. [`order`] allows flags anywhere, and arguments that begin with a
//! hyphen.
//! [`usage`] turns an error of the command line into one line of text with the nearest valid name.

mod command;
mod database;
mod entries;
mod input;
pub(crate) mod nearest;
mod number;
mod order;
mod queue;
mod rows;
mod transfer;
mod usage;
mod watching;

pub(crate) use self::command::Command;
pub(crate) use self::database::{
    Checkpoint, Clock, Compact, Completions, Finalize, Gc, Keyspaces, Options, Repair, Stats,
    Updates, Verify,
};
pub(crate) use self::entries::{
    Delete, Dump, Ends, Explain, Get, Keys, Merge, Operands, OperandsAction, Put, Restore, Scan,
    Touch, Ttl,
};
pub(crate) use self::input::{Count, Demo, Load};
pub(crate) use self::queue::{Queue, QueueAction};
pub(crate) use self::rows::{ImportRows, Table};
pub(crate) use self::transfer::{Backup, BackupAction, Export, Foreign, Import};
pub(crate) use self::watching::{Doctor, Report, Top};

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use foldb::Profile;

use crate::exit::Outcome;
use crate::form::{Form, KeyFormat, ValueFormat};
use crate::reverse::ReverseBytewise;

/// Parses the arguments; the first argument is the program's name.
///
/// # Errors
/// A usage error of one line, or the requested help or version.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Outcome<Cli> {
    let command = Cli::command();
    let ordered = order::canonical(args, &command)?;
    command
        .try_get_matches_from(ordered)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| usage::explain(&error))
}

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "foldb",
    version,
    about = "Reads, changes and demonstrates foldb databases",
    override_usage = "foldb COMMAND DB [ARGS] [FLAGS]",
    after_help = "\
Flags may stand anywhere. A word that begins with one hyphen, such as -5, is an argument. After
the word --, every word is an argument, also a word that begins with two hyphens.

Examples:
  foldb demo                                        # count words and check the counts
  tr ' ' '\\n' < book.txt | foldb count words.db     # count the words of a file
  foldb scan words.db --prefix th --limit 5         # print some of the counts
  foldb merge stock.db apples -3 --operator int64add

Exit codes: 0 done; 1 failed (missing key or database, bad operand, corruption, lock);
2 error in the command line; 3 done, but something is missing (lost in a repair, skipped by a
scan); 130 interrupted, with everything committed kept.",
    max_term_width = 100,
    disable_help_subcommand = true,
    args_override_self = true
)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Its common flags.
    #[command(flatten)]
    pub common: Common,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common flags")]
pub(crate) struct Common {
    /// Form of keys, in input and output; typed is that of the types in the keyspace's schema, for
    /// get, delete, scan, keys and rows
    #[arg(long, global = true, value_name = "FORMAT", default_value = "utf8")]
    pub key_format: KeyFormat,
    /// Form of values, in input and output; numbers are 8 bytes, little-endian; auto is the form of
    /// the keyspace's operator, or utf8 if the keyspace has no operator
    #[arg(long = "as", global = true, value_name = "FORMAT", default_value = "auto")]
    pub value_format: ValueFormat,
    /// Profile of options while the database is open
    #[arg(long, global = true, value_name = "NAME", default_value = Profile::Balanced.name(),
          value_parser = profiles())]
    pub profile: Profile,
    /// An option while the database is open; foldb options lists all. The flag may be given again
    #[arg(long = "option", global = true, value_name = "NAME=VALUE", value_parser = named_option)]
    pub named: Vec<(String, String)>,
    /// Print JSON, one object on each line
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    /// Returns the form of keys.
    pub(crate) fn key_form(&self) -> Form {
        self.key_format.into()
    }

    /// Returns the options with which commands open databases.
    pub(crate) fn options(&self) -> foldb::Options {
        // Only calls that need a missing operator fail.
        let own = [("profile", self.profile.name()), ("allow_unresolved_operators", "true")];
        let given = self.named.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let named = foldb::Options::named(own.into_iter().chain(given));
        let mut options = named.expect("the parser accepted each");
        options.comparators.push(std::sync::Arc::new(ReverseBytewise));
        options
    }
}

/// Parses an option. The error says what is expected.
fn named_option(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let known = foldb::Options::default().explain();
    let names = || known.iter().filter(|option| !option.is_handle).map(|option| option.name);
    if names().all(|known| known != name) {
        let nearest = nearest::hint(name, names());
        return Err(format!("no option has this name{nearest} (foldb options lists all)"));
    }
    foldb::Options::named([(name, value)]).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses profiles by their names.
fn profiles() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name)).try_map(|name| name.parse())
}

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
