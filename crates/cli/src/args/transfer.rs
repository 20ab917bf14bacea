//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::rows::{ExportRows, ImportRows};
use crate::exit::{Exit, Outcome};

/// What an import reads, and what an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Foreign {
    /// A LevelDB database.
    #[value(name = "leveldb")]
    LevelDb,
    /// A RocksDB database.
    #[value(name = "rocksdb")]
    RocksDb,
    /// The text that RocksDB's tool ldb prints with --hex; only to import.
    LdbDump,
    /// Tables that RocksDB ingests; only to export.
    #[value(name = "rocksdb-sst")]
    RocksDbSst,
    /// A table of text with commas.
    Csv,
    /// JSON objects, one on each line.
    Jsonl,
    /// A table of columns with types.
    Parquet,
}

/// `import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Directory of the LevelDB or RocksDB database, or the file of rows; - is standard input
    #[arg(value_name = "SRC", value_hint = ValueHint::AnyPath)]
    pub src: PathBuf,
    /// Directory of the foldb database. From leveldb or rocksdb, it must be empty or not
    /// exist
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub dst: PathBuf,
    /// What SRC is
    #[arg(long, value_name = "FORMAT")]
    pub from: Foreign,
    /// From leveldb: default merge operator of the new database, NAME or NAME:PARAM. From rocksdb:
    /// that of a column family, FAMILY=NAME or FAMILY=NAME:PARAM, instead of the stored one
    #[arg(long, value_name = "OP")]
    pub operator: Vec<String>,
    /// From rocksdb: order of the keys of a column family, FAMILY=NAME, instead of the stored one
    #[arg(long, value_name = "ORDER")]
    pub comparator: Vec<String>,
    /// From rocksdb: leave out what is damaged, and say what was left out
    #[arg(long)]
    pub skip_damaged: bool,
    /// From rocksdb: of values with several columns, keep only the default column
    #[arg(long)]
    pub only_default_column: bool,
    /// From rocksdb: directory of the logs, if it is another one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub wal_dir: Option<PathBuf>,
    /// How rows become entries.
    #[command(flatten)]
    pub rows: ImportRows,
}

impl Import {
    /// # Errors
    /// A usage error for a flag that only imports from RocksDB have.
    pub(crate) fn check_not_of_rocksdb(&self) -> Outcome {
        let given = [
            ("--comparator", !self.comparator.is_empty()),
            ("--skip-damaged", self.skip_damaged),
            ("--only-default-column", self.only_default_column),
            ("--wal-dir", self.wal_dir.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(Exit::usage(format!("{flag} is for --from rocksdb"))),
            None => Ok(()),
        }
    }
}

/// What `backup` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackupAction {
    /// Backs up a database.
    Create,
    /// Lists the backups.
    List,
    /// Makes a database of a backup.
    Restore,
    /// Reads and checks every file.
    Verify,
    /// Deletes a backup.
    Delete,
}

impl BackupAction {
    /// Returns how the action is called.
    pub(crate) fn usage(self) -> &'static str {
        match self {
            BackupAction::Create => "create DB DIR",
            BackupAction::List => "list DIR",
            BackupAction::Restore => "restore DIR DST [--id N]",
            BackupAction::Verify => "verify DIR",
            BackupAction::Delete => "delete DIR --id N",
        }
    }
}

/// `backup`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// What to do
    #[arg(value_name = "ACTION")]
    pub action: BackupAction,
    /// Directories: DB DIR for create, DIR DST for restore, DIR for the others
    #[arg(value_name = "DIR", required = true, num_args = 1..=2, value_hint = ValueHint::DirPath)]
    pub paths: Vec<PathBuf>,
    /// Number of the backup to restore, by default the newest, or to delete
    #[arg(long, value_name = "N")]
    pub id: Option<u64>,
}

/// `export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Directory of the new LevelDB database or of the tables, which must be empty or not exist, or
    /// the file of rows; - is standard output
    #[arg(value_name = "DST", value_hint = ValueHint::AnyPath)]
    pub dst: PathBuf,
    /// What DST becomes
    #[arg(long, value_name = "FORMAT")]
    pub to: Foreign,
    /// Export only this keyspace
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
    /// How entries become rows.
    #[command(flatten)]
    pub rows: ExportRows,
}
