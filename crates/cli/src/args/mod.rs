//! What may be asked: commands, arguments and flags, with their help.
//!
//! [`order`] lets flags stand anywhere and values begin with a hyphen; [`usage`] turns what cannot
//! be understood into one line with the nearest name.

pub mod nearest;
mod order;
mod usage;

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use foldb::Profile;

use crate::exit::Outcome;
use crate::form::{Form, KeyFormat, ValueFormat};
use crate::keyspace;

/// Understands the arguments, the program's name first.
///
/// # Errors
/// A usage error of one line, or the help or version that was asked for.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Outcome<Cli> {
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
    about = "Looks into, changes and demonstrates foldb databases",
    override_usage = "foldb COMMAND DB [ARGS] [FLAGS]",
    after_help = "\
Flags may stand anywhere. Whatever begins with one hyphen, such as -5, is an argument; -- ends the
flags, so that arguments behind it may begin with two.

Examples:
  foldb demo                                        count words, prove it, compare with get + put
  tr ' ' '\\n' < book.txt | foldb count words.db     count real input
  foldb scan words.db --prefix th --limit 5         look at it
  foldb merge stock.db apples -3 --operator int64add

Exit codes: 0 done; 1 failed (missing key or database, bad operand, corruption, lock);
2 not understood; 130 interrupted, with everything committed kept.",
    max_term_width = 100,
    disable_help_subcommand = true,
    args_override_self = true
)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub command: Command,
    /// How it is written.
    #[command(flatten)]
    pub common: Common,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common flags")]
pub struct Common {
    /// How keys are written, in and out
    #[arg(long, global = true, value_name = "FORMAT", default_value = "utf8")]
    pub key_format: KeyFormat,
    /// How values are written, in and out; numbers are 8 bytes, little-endian; auto is the number
    /// type of the database's operator, else utf8
    #[arg(long = "as", global = true, value_name = "FORMAT", default_value = "auto")]
    pub value_format: ValueFormat,
    /// What the database is tuned for while it is open
    #[arg(long, global = true, value_name = "NAME", default_value = Profile::Balanced.name(),
          value_parser = profiles())]
    pub profile: Profile,
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    /// How keys are written.
    pub fn key_form(&self) -> Form {
        self.key_format.into()
    }

    /// How databases are opened.
    pub fn options(&self) -> foldb::Options {
        foldb::Options::profile(self.profile)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prints the value of a key
    #[command(
        override_usage = "foldb get DB KEY [FLAGS]",
        after_help = "\
A missing key exits 1. Text is printed as it is stored, numbers as decimals.

Examples:
  foldb get words.db the
  foldb get words.db the --as hex
  foldb get words.db 746865 --key-format hex --json"
    )]
    Get(Get),
    /// Sets the value of a key, and creates the database where there is none
    #[command(
        override_usage = "foldb put DB KEY VALUE [FLAGS]",
        after_help = "\
Examples:
  foldb put notes.db today 'buy apples'
  foldb put words.db the 1000 --as u64
  foldb put notes.db -- --odd-key --odd-value"
    )]
    Put(Put),
    /// Deletes a key; one that is not there is no error
    #[command(
        override_usage = "foldb delete DB KEY [FLAGS]",
        after_help = "\
Example:
  foldb delete notes.db today"
    )]
    Delete(Delete),
    /// Merges an operand into a key without reading it, and creates the database where there is none
    #[command(
        override_usage = "foldb merge DB KEY OPERAND [--operator OP] [FLAGS]",
        after_help = "\
The first merge of a database fixes its default operator. Another one given later holds for that
merge only. Operands of number operators are decimals, those of the others are the bytes given.
`foldb operators` lists the operators.

Examples:
  foldb merge stock.db apples 12 --operator int64add
  foldb merge stock.db apples -5
  foldb merge tags.db post red --operator 'stringappend:;'"
    )]
    Merge(Merge),
    /// Prints entries in the order of their keys: key, TAB, value
    #[command(
        override_usage = "foldb scan DB [--from K] [--to K] [--prefix P] [--limit N] [--reverse] \
                          [--count] [FLAGS]",
        after_help = "\
In utf8 form TAB, newline, carriage return, backslash and bytes that are not UTF-8 are written
\\t \\n \\r \\\\ \\xHH. A value that does not fit --as ends the scan with exit 1.

Examples:
  foldb scan words.db --prefix th
  foldb scan words.db --from a --to b --limit 10
  foldb scan words.db --reverse --limit 3 --json
  foldb scan words.db --prefix th --count
  foldb scan words.db --as hex > words.dump         foldb load reads it"
    )]
    Scan(Scan),
    /// Adds one to each key read: every line is a key, or a key, a TAB and an operand
    #[command(
        override_usage = "foldb count DB [FILE…] [--operator OP] [--ack] [--resume] [FLAGS]",
        after_help = "\
Without a FILE, or with -, it reads standard input. Lines end in newline or CR newline and may hold
any bytes; empty ones are skipped. Up to 4,096 lines are written at once, all or nothing, at the
latest 50 ms after the first of them was read. Whatever stops it, the database holds exactly the
first lines of the input, at least as many as --ack last printed. A new database counts with
uint64add; operators that are not numbers need an operand on each line. With --resume the number of
lines of each FILE is written together with them, and the next count with --resume goes on behind
them, whatever stopped the last.

Examples:
  foldb count visitors.db visitors.log --resume
  tr ' ' '\\n' < book.txt | foldb count words.db
  printf 'apples\\t12\\npears\\t-3\\n' | foldb count stock.db --operator int64add
  tail -f visitors.log | foldb count visitors.db --ack"
    )]
    Count(Count),
    /// Loads what scan printed: with it, a dump and its restoration
    #[command(
        override_usage = "foldb load DB [FILE…] [--operator OP] [FLAGS]",
        after_help = "\
A line is an entry: key, TAB, value, with scan's escapes, or with --json an object; it must end in
newline. Values are put, whatever was there. --key-format and --as must be those of the scan; where
they were left out, --operator with the operator of the scanned database says the same. Without a
FILE, or with -, it reads standard input. Empty lines are skipped. The lines before a bad one are
loaded.

Examples:
  foldb scan words.db | foldb load copy.db --operator uint64add
  foldb scan words.db --as hex --key-format hex > words.dump
  foldb load copy.db words.dump --as hex --key-format hex
  foldb scan notes.db --json | foldb load copy.db --json"
    )]
    Load(Load),
    /// Prints what the engine did and what shape the tree is in
    #[command(
        override_usage = "foldb stats DB [--keys] [FLAGS]",
        after_help = "\
Totals are those since the database was created.

Examples:
  foldb stats words.db
  foldb stats words.db --keys --json"
    )]
    Stats(Stats),
    /// Lists the keyspaces of a database, creates one or drops one
    #[command(
        override_usage = "foldb keyspaces DB [--create NAME [--operator OP] [--separate BYTES] | \
                          --drop NAME] [FLAGS]",
        after_help = "\
A keyspace is an ordered map with an operator of its own. Every database has 'default', in which
commands work that name none.

Examples:
  foldb keyspaces shop.db --create visits --operator uint64add
  foldb keyspaces shop.db --create pages --separate 1000
  foldb merge shop.db index.html 1 --keyspace visits
  foldb keyspaces shop.db
  foldb keyspaces shop.db --drop visits"
    )]
    Keyspaces(Keyspaces),
    /// Prints every option in effect: its value, where that comes from, what more or less costs
    #[command(
        override_usage = "foldb options [DB] [--profile NAME] [FLAGS]",
        after_help = "\
Without a DB it prints those of a database to be created. A profile holds while the database is open;
the database does not keep it.

Examples:
  foldb options words.db
  foldb options --profile small_memory
  foldb options words.db --json"
    )]
    Options(Options),
    /// Compacts the whole database down to the last level
    #[command(
        override_usage = "foldb compact DB [FLAGS]",
        after_help = "\
Example:
  foldb compact words.db"
    )]
    Compact(Compact),
    /// Gives back the space of separated values that were overwritten or deleted
    #[command(
        override_usage = "foldb merge-segments DB [--dead PERCENT] [FLAGS]",
        after_help = "\
In the background this happens by itself, within looser bounds. Interrupted, it keeps what it did.

Examples:
  foldb merge-segments pages.db
  foldb merge-segments pages.db --dead 0 --json"
    )]
    MergeSegments(MergeSegments),
    /// Makes a database that opens of one with files missing or damaged, and tells what is lost
    #[command(
        override_usage = "foldb repair DB [FLAGS]",
        after_help = "\
Opening never repairs: it names the file that is missing or damaged. Restoring that from a copy is
better. A repair takes tables that cannot be read out of the tree, finds separated values again by
what their segments say, and passes over logs that are missing. Damaged tables are kept beside the
others as NNNNNN.tbl.damaged.

Examples:
  foldb repair words.db
  foldb repair words.db --json"
    )]
    Repair(Repair),
    /// Shows the records of a key: where each lies, and why it is not folded yet
    #[command(
        override_usage = "foldb explain DB KEY [FLAGS]",
        after_help = "\
The newest record comes first. Sequence numbers are positions in the order of all writes; 0 says that
nobody needs to know it any more.

Examples:
  foldb explain words.db the
  foldb explain words.db the --json"
    )]
    Explain(Explain),
    /// Folds every operand to a plain value, so that a program without the operators can take over
    #[command(
        override_usage = "foldb finalize DB [FLAGS]",
        after_help = "\
Exits 1 where keys are left whose operators reject their operands; it names them.

Example:
  foldb finalize words.db"
    )]
    Finalize(Finalize),
    /// Makes DIR a database of its own that holds what this one holds now
    #[command(
        override_usage = "foldb checkpoint DB DIR [FLAGS]",
        after_help = "\
DIR must not exist or be empty. Tables are hard links, or copies in another file system; the log is
copied. Neither database notices what is done to the other. If it fails nothing is left of it.

Examples:
  foldb checkpoint words.db words.monday
  foldb checkpoint words.db /backup/words.db --json"
    )]
    Checkpoint(Checkpoint),
    /// Lists the merge operators: name, parameter, operand text and an example
    #[command(
        override_usage = "foldb operators [FLAGS]",
        after_help = "\
Examples:
  foldb operators
  foldb operators --json"
    )]
    Operators,
    /// Counts two million words, proves the counts, and compares with get + put
    #[command(
        override_usage = "foldb demo [FILE…|-] [--keep DIR] [--words N] [FLAGS]",
        after_help = "\
Without a FILE it counts the words of foldb's own documents, again and again until there are enough;
FILEs (- is standard input) are counted once. A word is one merge. A database that is reopened must
agree with a plain hash map in every count, or the demo exits 1.

Examples:
  foldb demo
  foldb demo book.txt --keep words.db
  curl -s https://www.gutenberg.org/files/2701/2701-0.txt | foldb demo -"
    )]
    Demo(Demo),
    /// Prints what a shell needs to complete foldb's commands and flags
    #[command(
        override_usage = "foldb completions SHELL",
        after_help = "\
Examples:
  foldb completions bash > ~/.local/share/bash-completion/completions/foldb
  foldb completions zsh > \"${fpath[1]}/_foldb\"
  foldb completions fish > ~/.config/fish/completions/foldb.fish"
    )]
    Completions(Completions),
}

/// The keyspace in which a command works.
#[derive(Debug, Args)]
pub struct Within {
    /// The keyspace in which to work (foldb keyspaces lists them)
    #[arg(long, value_name = "NAME", default_value = keyspace::DEFAULT)]
    pub keyspace: String,
}

/// `get`.
#[derive(Debug, Args)]
pub struct Get {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `finalize`.
#[derive(Debug, Args)]
pub struct Finalize {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
}

/// `put`.
#[derive(Debug, Args)]
pub struct Put {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The value
    #[arg(value_name = "VALUE", value_parser = ValueParser::os_string())]
    pub value: OsString,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// What is merged into it
    #[arg(value_name = "OPERAND", value_parser = ValueParser::os_string())]
    pub operand: OsString,
    /// Merge operator, NAME or NAME:PARAM; by default the database's own
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `scan`.
#[derive(Debug, Args)]
pub struct Scan {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// First key, included
    #[arg(long, value_name = "K", value_parser = ValueParser::os_string())]
    pub from: Option<OsString>,
    /// Last key, excluded
    #[arg(long, value_name = "K", value_parser = ValueParser::os_string())]
    pub to: Option<OsString>,
    /// Only keys that begin with P
    #[arg(long, value_name = "P", value_parser = ValueParser::os_string())]
    pub prefix: Option<OsString>,
    /// At most N entries
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=u64::MAX))]
    pub limit: Option<u64>,
    /// From the last key to the first
    #[arg(long)]
    pub reverse: bool,
    /// Print how many entries there are instead of them
    #[arg(long)]
    pub count: bool,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `count`.
#[derive(Debug, Args)]
pub struct Count {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// What to read; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Merge operator, NAME or NAME:PARAM; by default the database's own, else uint64add
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// Print "committed N", the lines so far, after each write
    #[arg(long)]
    pub ack: bool,
    /// Skip the lines of each FILE that a count with --resume added before
    #[arg(long)]
    pub resume: bool,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `load`.
#[derive(Debug, Args)]
pub struct Load {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// What to read; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Default merge operator of a database that has none, NAME or NAME:PARAM
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `stats`.
#[derive(Debug, Args)]
pub struct Stats {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Count the keys exactly, by a scan
    #[arg(long)]
    pub keys: bool,
}

/// `keyspaces`.
#[derive(Debug, Args)]
pub struct Keyspaces {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Create a keyspace, and the database where there is none
    #[arg(long, value_name = "NAME")]
    pub create: Option<String>,
    /// Merge operator of the keyspace that is created, NAME or NAME:PARAM; it stays
    #[arg(long, value_name = "OP", requires = "create")]
    pub operator: Option<String>,
    /// Separate its values of BYTES bytes and more from the tree; it stays
    #[arg(long, value_name = "BYTES", requires = "create")]
    pub separate: Option<usize>,
    /// Drop a keyspace, with all that is in it
    #[arg(long, value_name = "NAME", conflicts_with = "create")]
    pub drop: Option<String>,
}

/// `options`.
#[derive(Debug, Args)]
pub struct Options {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: Option<PathBuf>,
    /// Where in the database.
    #[command(flatten)]
    pub within: Within,
}

/// `compact`.
#[derive(Debug, Args)]
pub struct Compact {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Only this keyspace
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
}

/// `merge-segments`.
#[derive(Debug, Args)]
pub struct MergeSegments {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Most bytes of value segments that may be left dead, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub dead: u8,
}

/// `repair`.
#[derive(Debug, Args)]
pub struct Repair {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
}

/// `checkpoint`.
#[derive(Debug, Args)]
pub struct Checkpoint {
    /// Directory of the database
    #[arg(value_name = "DB")]
    pub db: PathBuf,
    /// Directory of the checkpoint
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Texts to count instead of foldb's own documents; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Keep the database in DIR, which must be empty or not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// How many words to count where no FILE is given
    #[arg(long, value_name = "N", default_value_t = 2_000_000,
          value_parser = |text: &str| whole_number(text, 1..=1_000_000_000))]
    pub words: u64,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Profiles by their names.
fn profiles() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name)).try_map(|name| name.parse())
}

/// A number in a range; what was expected, if it is none.
fn whole_number(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
}

#[cfg(test)]
mod tests;
