//! The commands, and the help of each.

use clap::Subcommand;

use super::{
    Checkpoint, Compact, Completions, Count, Delete, Demo, Dump, Explain, Finalize, Gc, Get,
    Keyspaces, Load, Merge, Options, Put, Repair, Scan, Stats, Verify,
};

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prints the value of a key
    #[command(
        override_usage = "foldb get DB KEY [--no-newline] [FLAGS]",
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
        override_usage = "foldb put DB KEY (VALUE | --file FILE) [FLAGS]",
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
    /// Merges an operand into a key without reading it, and creates the database where there is
    /// none
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
    /// Prints the whole database as text: its keyspaces with their operators and options, and all
    /// entries
    #[command(
        override_usage = "foldb dump DB [--skip-failed] [FLAGS]",
        after_help = "\
One JSON object a line: the keyspaces, then the entries of each, then their number. `foldb load` makes
a new database of it. Operands are folded. An entry that cannot be folded ends the dump with exit 1.

Examples:
  foldb dump shop.db > shop.dump
  foldb load copy.db shop.dump
  foldb dump shop.db | gzip > shop.dump.gz"
    )]
    Dump(Dump),
    /// Loads what dump or scan printed
    #[command(
        override_usage = "foldb load DB [FILE…] [--operator OP] [FLAGS]",
        after_help = "\
What dump printed makes a new database with all keyspaces, operators and options. Of what scan printed
a line is an entry: key, TAB, value, with scan's escapes, or with --json an object; it must end in
newline. Values are put, whatever was there. --key-format and --as must be those of the scan; where
they were left out, --operator with the operator of the scanned database says the same. Without a
FILE, or with -, it reads standard input. Empty lines are skipped. The lines before a bad one are
loaded.

Examples:
  foldb dump words.db | foldb load copy.db
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
    /// Lists the keyspaces of a database, creates one, drops one or takes one its operator
    #[command(
        override_usage = "foldb keyspaces DB [--create NAME [--operator OP] [--separate BYTES] | \
                          --unset-operator NAME | --drop NAME] [FLAGS]",
        after_help = "\
A keyspace is an ordered map with an operator of its own. Every database has 'default', in which
commands work that name none. One that is created without --operator has that of 'default'; `none` is
none. --unset-operator leaves what is stored as it is: operands name their operators themselves.

Examples:
  foldb keyspaces shop.db --create visits --operator uint64add
  foldb keyspaces shop.db --create pages --separate 1000
  foldb merge shop.db index.html 1 --keyspace visits
  foldb keyspaces shop.db
  foldb keyspaces shop.db --unset-operator visits
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
        override_usage = "foldb gc DB [--dead PERCENT] [FLAGS]",
        after_help = "\
In the background this happens by itself, within looser bounds. Interrupted, it keeps what it did.

Examples:
  foldb gc pages.db
  foldb gc pages.db --dead 0 --json"
    )]
    Gc(Gc),
    /// Makes a database that opens of one with files missing or damaged, and tells what is lost
    #[command(
        override_usage = "foldb repair DB [--in-place | --to DIR] [--dry-run] \
                          [--cut-log FILE@OFFSET] [FLAGS]",
        after_help = "\
Opening never repairs: it names the file that is missing or damaged. Restoring that from a copy is
better. A repair makes a copy, DB.repaired, in which whole tables and segments are hard links. It
writes anew what can be read of damaged tables, finds separated values again by what their segments
say, and passes over logs that are missing. Damaged tables are kept as NNNNNN.tbl.damaged. Without a
manifest one is made, in which keyspaces are called keyspace-1 and so on.

Exits 3 where something is lost, after naming its keys.

Examples:
  foldb repair words.db --dry-run
  foldb repair words.db
  foldb repair words.db --in-place --json
  foldb repair words.db --cut-log 000012.log@4096"
    )]
    Repair(Repair),
    /// Checks every byte of a database that is closed, and changes nothing
    #[command(
        override_usage = "foldb verify DB [FLAGS]",
        after_help = "\
Every checksum of every file, the order of all records, filters, references to separated values,
operands, and the manifest against the directory. Prints a line for each fault, and exits 1 if there
is one.

Examples:
  foldb verify words.db
  foldb verify words.db --json"
    )]
    Verify(Verify),
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
