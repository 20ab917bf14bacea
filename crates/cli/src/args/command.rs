//! The commands, and the help of each.

use clap::Subcommand;

use super::{
    Backup, Checkpoint, Clock, Compact, Completions, Count, Delete, Demo, Doctor, Dump, Explain,
    Export, Finalize, Gc, Get, Import, Keys, Keyspaces, Load, Merge, Operands, Options, Put, Queue,
    Repair, Report, Restore, Scan, Stats, Top, Touch, Ttl, Updates, Verify,
};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints the value of a key
    #[command(
        override_usage = "foldb get DB KEY [--no-newline | --operands] [FLAGS]",
        after_help = "\
If the key is missing, get exits with 1. It prints text as stored, and numbers as decimals. With
--operands, each line is the base or an operand, with the operator that folds it. Flushes and
compactions may have folded several merges into one operand, or into the base.

Examples:
  foldb get words.db the
  foldb get words.db the --as hex
  foldb get words.db the --operands
  foldb get words.db 746865 --key-format hex --json"
    )]
    Get(Get),
    /// Sets the value of a key, and creates the database if it does not exist
    #[command(
        override_usage = "foldb put DB KEY (VALUE | --file FILE) [--if-absent | --if-value OLD] \
                          [--expires SECONDS|never] [FLAGS]",
        after_help = "\
Examples:
  foldb put notes.db today 'buy apples'
  foldb put words.db the 1000 --as u64
  foldb put jobs.db leader 'node 7' --if-absent
  foldb put jobs.db leader 'node 9' --if-value 'node 7'
  foldb put shop.db ann 'two pears' --keyspace sessions --expires 600
  foldb put notes.db -- --odd-key --odd-value"
    )]
    Put(Put),
    /// Deletes a key; a missing key is no error
    #[command(
        override_usage = "foldb delete DB KEY [FLAGS]",
        after_help = "\
Example:
  foldb delete notes.db today"
    )]
    Delete(Delete),
    /// Renews when an entry expires, or changes it
    #[command(
        override_usage = "foldb touch DB KEY --keyspace NAME [--expires SECONDS|never] [FLAGS]",
        after_help = "\
The entry keeps its value, and expires as if that value were put now. If the key has no value, touch
exits with 1. `foldb explain` shows when an entry expires.

Examples:
  foldb touch shop.db ann --keyspace sessions
  foldb touch shop.db ann --keyspace sessions --expires 600
  foldb touch shop.db ann --keyspace sessions --expires never"
    )]
    Touch(Touch),
    /// Prints how many seconds an entry has left
    #[command(
        override_usage = "foldb ttl DB KEY --keyspace NAME [FLAGS]",
        after_help = "\
It prints never if the entry never expires. If the key has no value, ttl exits with 1.

Example:
  foldb ttl shop.db ann --keyspace sessions"
    )]
    Ttl(Ttl),
    /// Merges an operand into a key, and creates the database if it does not exist
    #[command(
        override_usage = "foldb merge DB KEY OPERAND [--operator OP] [--get | --blind] \
                          [--expires SECONDS|never] [FLAGS]",
        after_help = "\
Merge first reads the key. If the operator cannot fold the operand onto its value, merge writes
nothing and exits with 1. --blind reads nothing. `foldb operands drop-last` takes an operand off.

The first merge of a database sets its default operator. A different --operator later applies to
that merge only. Operands of number operators are decimals; other operators take the given
bytes. `foldb operators` lists the operators.

Examples:
  foldb merge stock.db apples 12 --operator int64add
  foldb merge stock.db apples -5
  foldb merge tickets.db next 1 --get
  foldb merge tags.db post red --operator 'stringappend:;'"
    )]
    Merge(Merge),
    /// Takes the newest operands off a key, so that a key that cannot be folded is read again
    #[command(
        override_usage = "foldb operands drop-last DB KEY [--newest N] [FLAGS]",
        after_help = "\
Get --operands shows the operands. The key keeps its base and its older operands, or is
absent if it has neither. Flushes and compactions may have folded several merges into one operand,
which goes as a whole. If the key has fewer than N operands, nothing is written, and the exit code
is 1. Keyspaces with an expiry are refused: the entry would get another end.

Examples:
  foldb get words.db the --operands
  foldb operands drop-last words.db the
  foldb operands drop-last words.db the --newest 2 --json"
    )]
    Operands(Operands),
    /// Prints entries in the order of their keys: key, TAB, value
    #[command(
        override_usage = "foldb scan DB [--from K] [--to K] [--prefix P] [--limit N] [--reverse] \
                          [--count] [FLAGS]",
        after_help = "\
In utf8 form scan writes TAB, newline, carriage return, backslash and bytes that are not
UTF-8 as \\t \\n \\r \\\\ \\xHH. A value that does not fit --as ends the scan with exit code 1.

Examples:
  foldb scan words.db --prefix th
  foldb scan words.db --from a --to b --limit 10
  foldb scan words.db --reverse --limit 3 --json
  foldb scan words.db --prefix th --count
  foldb scan words.db --as hex > words.dump         # for foldb load"
    )]
    Scan(Scan),
    /// Shows where the bytes of a keyspace are: the largest entries, prefixes, or longest chains
    #[command(
        override_usage = "foldb keys DB --largest N | --longest-chains N | --by-prefix CUT \
                          [--largest N] [FLAGS]",
        after_help = "\
The size of an entry is the bytes of its key and of its value as a read returns it: operands are
folded, and a separated value counts by its length. On the disk, compression and older records make
another size. Keys without the text CUT count together, with an empty prefix.

A chain is the operands that a read of a key folds; compaction folds them too. --longest-chains
reads each key once more.

A line has the bytes (or operands), for a prefix also its entries, and the key or prefix, with TABs
between. Entries that cannot be read are left out, and the exit code is then 3.

Examples:
  foldb keys words.db --largest 10
  foldb keys shop.db --by-prefix / --largest 5
  foldb keys stock.db --longest-chains 3 --json
  foldb keys events.db --by-prefix 1 --keyspace events --key-format typed"
    )]
    Keys(Keys),
    /// Adds one to each key that it reads, or the operand that a line has after a TAB
    #[command(
        override_usage = "foldb count DB [FILE…] [--operator OP] [--ack] [--resume] \
                          [--expires SECONDS|never] [FLAGS]",
        after_help = "\
Without a FILE, or with -, count reads standard input. Lines end in newline or CR newline and
may hold any bytes. Count skips empty lines. It writes up to 4,096 lines as one atomic batch, at
the latest 50 ms after it read the first line of the batch. However the process ends, the
database holds the first N lines of the input, and no line twice. N is at least the last number
that --ack printed. A new database counts with uint64add. Operators that are not for numbers need
an operand on each line. With --resume, a batch also stores how many lines of its FILE are
counted, and the next count with --resume skips those lines.

Examples:
  foldb count visitors.db visitors.log --resume
  tr ' ' '\\n' < book.txt | foldb count words.db
  printf 'apples\\t12\\npears\\t-3\\n' | foldb count stock.db --operator int64add
  tail -f visitors.log | foldb count visitors.db --ack
  foldb count shop.db visits.log --keyspace today --expires 86400"
    )]
    Count(Count),
    /// Writes the whole database as one file: keyspaces with their operators and options, and all
    /// entries
    #[command(
        override_usage = "foldb dump DB [--output FILE|-] [--text [--skip-failed]] [FLAGS]",
        after_help = "\
`foldb restore` creates an equal database from the dump, and so does every later version of foldb.
The dump shows one moment and has checksums. A key whose operands cannot be folded is dumped with
its operands. FILE appears when it is complete.

With --text, each line is a JSON object: first the keyspaces, then the entries of each, then their
number. `foldb load` creates a new database from it. Operands are folded. An entry that cannot be
folded ends the dump with exit code 1.

Examples:
  foldb dump shop.db --output shop.dump
  foldb restore shop.dump copy.db
  foldb dump shop.db | zstd > shop.dump.zst
  foldb dump shop.db --text | less"
    )]
    Dump(Dump),
    /// Creates a database from a dump, and compares the two
    #[command(
        override_usage = "foldb restore FILE|- DB [FLAGS]",
        after_help = "\
Restore checks every checksum of the dump, and reads all keys and values of the new database back.
DB appears only then, so after a failure or a kill run the restore again. For a dump as text, use
`foldb load`.

Examples:
  foldb restore shop.dump copy.db
  zstd -d < shop.dump.zst | foldb restore - copy.db --json"
    )]
    Restore(Restore),
    /// Loads the output of dump --text or scan
    #[command(
        override_usage = "foldb load DB [FILE…] [--operator OP] [--expires SECONDS|never] \
                          [FLAGS]",
        after_help = "\
The output of dump --text becomes a new database with all keyspaces, operators and options. In the
output of scan, each line is an entry: key, TAB, value, with scan's escapes; with --json it is
an object. Each line must end in newline. Load replaces existing values. --key-format and --as
must be those of the scan. If the scan had no --as, pass the operator of the scanned database as
--operator. Without a FILE, or with -, load reads standard input. It skips empty lines. A bad
line ends the load; the lines before it are loaded.

Examples:
  foldb dump words.db --text | foldb load copy.db
  foldb scan words.db | foldb load copy.db --operator uint64add
  foldb scan words.db --as hex --key-format hex > words.dump
  foldb load copy.db words.dump --as hex --key-format hex
  foldb scan notes.db --json | foldb load copy.db --json
  foldb load shop.db tokens.txt --keyspace tokens --expires 600"
    )]
    Load(Load),
    /// Prints what the engine did and the shape of the tree
    #[command(
        override_usage = "foldb stats DB [--keys | --watch] [FLAGS]",
        after_help = "\
Totals count from the creation of the database. With --watch, stats opens no database: it reads the
flight recording that a running program writes, and prints a line a second until Ctrl-C. Rates of
gets are estimated from the calls that are timed, about one in 64.

Examples:
  foldb stats words.db
  foldb stats words.db --keys --json
  foldb stats words.db --watch"
    )]
    Stats(Stats),
    /// Shows a running database live: rates, times of calls, memory, tree, keys, events
    #[command(
        override_usage = "foldb top DB [--once] [FLAGS]",
        after_help = "\
Top opens no database: it reads the flight recording that a running program writes. q ends it.
Without a terminal, or with --once, it prints one screen; with --json, one object. A database
records itself while a program has it open to write for more than a second. The figures are of the
last ten seconds, the findings (lines with !) of the last minute.

Examples:
  foldb top words.db
  foldb top words.db --once
  foldb top words.db --json"
    )]
    Top(Top),
    /// Says in words what is wrong with a database, and what to do about it
    #[command(
        override_usage = "foldb doctor DB [--last TIME] [FLAGS]",
        after_help = "\
Doctor reads the flight recording, so the database may be open, closed, or left by a killed program.
It exits with 1 if it finds anything. It looks for a full disk, damage, failed background work,
operands that cannot be folded, stalls, old snapshots, filters and blocks without room in memory,
long chains, deleted keys that walks step over, dead values, and a clock that went back.

Examples:
  foldb doctor words.db
  foldb doctor words.db --last 2h --json"
    )]
    Doctor(Doctor),
    /// Writes one HTML page of a database's last hours
    #[command(
        override_usage = "foldb report DB [--output FILE|-] [--from TIME] [--to TIME] \
                          [--last TIME] [FLAGS]",
        after_help = "\
The page needs no network and no script: timelines with stalls and compactions marked, times of
calls, memory, the tree, keyspaces, keys that stand out, and the findings of doctor. It shows what
the flight recording holds, about two hours of steady work. Times are UTC.

Examples:
  foldb report words.db
  foldb report words.db --output words.html --last 30m
  foldb report words.db --output - --from '2026-05-01 12:00:00' --to '2026-05-01 12:10:00'"
    )]
    Report(Report),
    /// Lists the keyspaces of a database, creates or drops one, or removes the operator of one
    #[command(
        override_usage = "foldb keyspaces DB [--create NAME [--operator OP] [--separate BYTES | \
                          --expiry SPEC] | --unset-operator NAME | --set-lifetime NAME \
                          --lifetime SECONDS | --drop NAME] [FLAGS]",
        after_help = "\
A keyspace is an ordered map with its own operator. Every database has the keyspace 'default',
which commands use unless --keyspace names another. A keyspace created without --operator takes
the operator of 'default'; `--operator none` sets none. --unset-operator changes no stored data,
because each operand names its own operator.

Entries of a keyspace created with --expiry expire. SPEC is after-last-write:SECONDS,
after-first-write:SECONDS (merges do not renew the entry) or per-write (only writes with --expires
expire). /BUCKET rounds ends up to a multiple of this many seconds. --set-lifetime changes SECONDS
for later writes; foldb touch gives a stored entry the new lifetime.

Examples:
  foldb keyspaces shop.db --create visits --operator uint64add
  foldb keyspaces shop.db --create sessions --expiry after-last-write:3600
  foldb keyspaces shop.db --set-lifetime sessions --lifetime 600
  foldb keyspaces shop.db --create pages --separate 1000
  foldb merge shop.db index.html 1 --keyspace visits
  foldb keyspaces shop.db
  foldb keyspaces shop.db --unset-operator visits
  foldb keyspaces shop.db --drop visits"
    )]
    Keyspaces(Keyspaces),
    /// Prints every option in effect: its value, the origin of the value, and what a larger or
    /// smaller value costs
    #[command(
        override_usage = "foldb options [DB] [--profile NAME] [--option NAME=VALUE]... [FLAGS]",
        after_help = "\
Without a DB, it prints the options of a new database. A profile and options hold while the
database is open; the database does not store them.

Examples:
  foldb options words.db
  foldb options --profile small_memory --option block_cache_size=0
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
Garbage collection in the background also gives back this space, but leaves more of it. After
Ctrl-C, the space that gc gave back so far stays free.

Examples:
  foldb gc pages.db
  foldb gc pages.db --dead 0 --json"
    )]
    Gc(Gc),
    /// Rebuilds a database whose files are missing or damaged, and reports what is lost
    #[command(
        override_usage = "foldb repair DB [--in-place | --to DIR] [--dry-run] \
                          [--cut-log FILE@OFFSET] [FLAGS]",
        after_help = "\
An open never repairs; it names the missing or damaged file. If a backup has that file, restore
the file instead. Repair makes a copy, DB.repaired, in which undamaged tables and segments are
hard links. It rewrites the readable parts of damaged tables, restores separated values from
their segments, and skips missing logs. Damaged tables stay as NNNNNN.tbl.damaged. If there is no
manifest, repair builds one, in which keyspaces are called keyspace-1 and so on.

If data is lost, repair names its keys and exits with 3.

Examples:
  foldb repair words.db --dry-run
  foldb repair words.db
  foldb repair words.db --in-place --json
  foldb repair words.db --cut-log 000012.log@4096"
    )]
    Repair(Repair),
    /// Checks every byte of a closed database, and changes nothing
    #[command(
        override_usage = "foldb verify DB [FLAGS]",
        after_help = "\
Verify checks every checksum of every file, the order of all records, filters, references to
separated values, operands, and the manifest against the directory. It prints a line for each
fault, and exits with 1 if there is one.

Examples:
  foldb verify words.db
  foldb verify words.db --json"
    )]
    Verify(Verify),
    /// Shows the records of a key: where each lies, and why it is not folded yet
    #[command(
        override_usage = "foldb explain DB KEY [FLAGS]",
        after_help = "\
The newest record comes first. A sequence number is the position of a write in the order of all
writes; 0 means that no reader needs the position any more. In a keyspace with an expiry, the last
line says when the key expires, in seconds since 1970.

Examples:
  foldb explain words.db the
  foldb explain words.db the --json"
    )]
    Explain(Explain),
    /// Folds every operand into a plain value, so that a program without the operators can read it
    #[command(
        override_usage = "foldb finalize DB [FLAGS]",
        after_help = "\
If operators reject operands, finalize names their keys and exits with 1.

Example:
  foldb finalize words.db"
    )]
    Finalize(Finalize),
    /// Shows the time by which entries expire; --reset ends the effect of a clock that was ahead
    #[command(
        override_usage = "foldb clock DB [--reset] [FLAGS]",
        after_help = "\
The time of a database follows the machine's clock and does not fall. While it is ahead, nothing
expires. --reset sets it back to the machine's clock, so check that clock first. Entries that have
expired by the false time are back until their end, except those that are no longer stored. No other
program may have the database open for --reset; a program that has it open can call Db::reset_clock.
Times are in seconds since 1970.

Examples:
  foldb clock words.db
  foldb clock words.db --json
  foldb clock words.db --reset"
    )]
    Clock(Clock),
    /// Creates a separate database in DIR with the current contents of this one
    #[command(
        override_usage = "foldb checkpoint DB DIR [FLAGS]",
        after_help = "\
DIR must be empty or not exist. Tables are hard links, or copies in another file system; the log
is copied. Writes to one database do not affect the other. A failed checkpoint leaves no files.

Examples:
  foldb checkpoint words.db words.monday
  foldb checkpoint words.db /backup/words.db --json"
    )]
    Checkpoint(Checkpoint),
    /// Keeps backups of a database in one directory; each copies only new files
    #[command(
        override_usage = "foldb backup create DB DIR | list DIR | restore DIR DST [--id N] | \
                          verify DIR | delete DIR --id N",
        after_help = "\
A backup shares tables and segments with the other backups of DIR. create reads the whole database
to compare it with DIR, and copies what DIR lacks. No other program may have the database open; a
program that has it open can call Backups::create. restore and verify check every byte. After a
failure or a kill, a backup is whole or absent. verify exits with 1 if a file is damaged.

Examples:
  foldb backup create words.db /backups/words
  foldb backup list /backups/words
  foldb backup verify /backups/words
  foldb backup restore /backups/words words.restored
  foldb backup restore /backups/words words.monday --id 3
  foldb backup delete /backups/words --id 1"
    )]
    Backup(Backup),
    /// Keeps jobs in a queue: with leases, retries and dead letters
    #[command(
        override_usage = "foldb queue push DB QUEUE BODY [--priority N] [--delay TIME] | claim DB \
                          QUEUE [--worker NAME] [--lease TIME] | ack|extend|retry DB QUEUE ID \
                          TOKEN | fail DB QUEUE ID TOKEN WHY | revive|discard DB QUEUE ID | \
                          depth|dead|list DB QUEUE",
        after_help = "\
push creates the database and the queue if they do not exist, and prints the id of the job. claim
prints the id, the token of the lease and the body of the first ready job, with TABs between them;
without a ready job it exits with 1. A job that is not ended before its lease ends goes to the next
claim. ack, extend, retry and fail want the id and the token; a lease that another claim has ended
is an error, and nothing is written. extend prints a new token. After --max-attempts claims, retry
and fail make the job a dead letter. list prints id, state, priority, attempts, worker or reason,
and body.

No other program may have the database open. Every command syncs what it wrote, except claim and
extend.

Examples:
  foldb queue push jobs.db mails 'to ann' --priority 1
  foldb queue claim jobs.db mails --worker ann --lease 5m
  foldb queue ack jobs.db mails 1 1.18c5d1a3b2c40000.9f3ac0de12345678
  foldb queue fail jobs.db mails 1 1.18c5d1a3b2c40000.9f3ac0de12345678 'no such address'
  foldb queue dead jobs.db mails --json"
    )]
    Queue(Queue),
    /// Prints the change feed: every write after a position, in order
    #[command(
        override_usage = "foldb updates DB [--since POSITION] [--follow] [--unsynced] [FLAGS]",
        after_help = "\
The database must keep its logs (Options::wal_retention_bytes). A line has the position after the
update, what happened, and for a write keyspace, key, value and operator, with TABs between them.
The writes of one batch have one position. Another process may write to the database meanwhile.
Without --unsynced, an update appears once it is known to be on the disk.

Examples:
  foldb updates words.db
  foldb updates words.db --since 17.3.9.8f1c0a52d37b6e44 --follow --json"
    )]
    Updates(Updates),
    /// Copies a LevelDB or RocksDB database into a new database, or the rows of CSV, JSON lines or
    /// Parquet into one
    #[command(
        override_usage = "foldb import --from leveldb SRC DST [--operator OP] | --from rocksdb \
                          SRC DST [--operator FAMILY=OP] | --from csv|jsonl|parquet FILE|- DB \
                          --key COLUMNS [--value COLUMN|json] [--merge OP] [FLAGS]",
        after_help = "\
From leveldb: no program may have SRC open, and import changes nothing in it. Import checks every
checksum, and refuses SRC if anything is damaged or missing. If a killed program left an incomplete
write at the end of the newest log, import leaves it out, as LevelDB does, and reports it. Import
compares all keys and values at the end. DST appears only then, so after a failure or a kill run the
import again. SRC must order its keys by their bytes, which is LevelDB's default.

From rocksdb: as from leveldb, for databases of RocksDB 5 to 11. Column families become keyspaces,
and operands stay operands: the operators that come with RocksDB become those of foldb with the same
answers, and --operator maps others. FAMILY=librocksdb keeps the operands for a program that brings
its operator and opens the database with foldb's librocksdb. What foldb lacks is refused by name.
With --skip-damaged, import leaves out what is damaged, says what that was, and ends with code 3.

From ldb-dump: SRC is the text of one column family, as RocksDB's ldb dump --hex or ldb scan --hex
prints it; - is standard input. DST appears only if it is complete.

From csv, jsonl and parquet: each row becomes an entry of DB, which is created if it does not exist.
With --merge or --key-types, a missing keyspace is created too. Without --value and --merge, the
value is the whole row as JSON. Several key columns are joined by --separator, or make a key of the
keyspace's types. Rows are written in atomic batches, in their order. The first row that cannot be
imported ends the import; --rejected keeps such rows aside. After a failure or Ctrl-C, the message
says how many rows are in, for --skip.

From parquet: foldb must be built with the cargo feature parquet. A row is read as a line of JSON.

Examples:
  foldb import --from leveldb old.ldb words.db
  foldb import --from leveldb counts.ldb counts.db --operator uint64add --json
  foldb import --from rocksdb old.rdb shop.db --operator visits=uint64add
  ldb --db=old.rdb dump --hex | foldb import --from ldb-dump - shop.db
  foldb import --from csv towns.csv towns.db --key country,town --value people --as u64
  foldb import --from csv visits.csv visits.db --key page --merge uint64add
  zcat events.jsonl.gz | foldb import --from jsonl - events.db --key user,time \\
    --key-types str,u64 --keyspace events --rejected bad.jsonl
  foldb import --from parquet sales.parquet sales.db --key country --value cents \\
    --merge int64add --keyspace cents"
    )]
    Import(Import),
    /// Copies the entries of a keyspace into a new LevelDB database, tables for RocksDB, or a file
    /// of CSV, JSON lines or Parquet
    #[command(
        override_usage = "foldb export --to leveldb|rocksdb-sst DB DST [--keyspace NAME] | \
                          --to csv|jsonl|parquet DB FILE|- [--key COLUMNS] [--value COLUMN|json] \
                          [FLAGS]",
        after_help = "\
To leveldb: each entry is exported with its folded value. Export refuses what LevelDB cannot hold: a
key whose operands cannot be folded, a keyspace with another comparator, and a database with several
keyspaces unless --keyspace names one. Export compares all keys and values at the end. DST appears
only then, so after a failure or a kill run the export again.

To rocksdb-sst: DST gets a directory of sorted tables for each keyspace. The lines of output are the
commands of RocksDB's ldb that create the column families and ingest the tables; DB in them stands
for the RocksDB database. Otherwise as to leveldb.

To csv, jsonl and parquet: each entry becomes a row, in the order of the keys. --key and --value
name the columns. With --value json, each value is a whole row, which an import with the same option
stored. An entry that does not fit ends the export with code 1. FILE appears when it is complete.

To parquet: foldb must be built with the cargo feature parquet. The export reads the entries twice:
the first pass finds the types of the columns.

Examples:
  foldb export --to leveldb words.db words.ldb
  foldb export --to leveldb shop.db visits.ldb --keyspace visits --json
  foldb export --to rocksdb-sst shop.db tables
  foldb export --to csv towns.db towns.csv --key country,town --value people --as u64
  foldb export --to jsonl events.db - --keyspace events --value json --prefix ann
  foldb export --to parquet words.db words.parquet --as u64"
    )]
    Export(Export),
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
Without a FILE, the demo counts words of a text that it makes of a word list, and repeats it until
it has counted --words. It counts FILEs (- is standard input) once. Each word is one merge. The demo
then reopens the database and compares every count with a plain hash map. If a count differs, the
demo exits with 1.

Examples:
  foldb demo
  foldb demo book.txt --keep words.db
  curl -s https://www.gutenberg.org/files/2701/2701-0.txt | foldb demo -"
    )]
    Demo(Demo),
    /// Prints the script with which a shell completes foldb's commands and flags
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
