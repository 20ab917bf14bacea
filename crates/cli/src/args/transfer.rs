//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::rows::{ExportRows, ImportRows};

/// What an import reads, and what an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Foreign {
    /// A LevelDB database.
    #[value(name = "leveldb")]
    LevelDb,
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
    /// Directory of the LevelDB database, or the file of rows; - is standard input
    #[arg(value_name = "SRC", value_hint = ValueHint::AnyPath)]
    pub src: PathBuf,
    /// Directory of the foldb database. From leveldb, it must be empty or not exist
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub dst: PathBuf,
    /// What SRC is
    #[arg(long, value_name = "FORMAT")]
    pub from: Foreign,
    /// From leveldb: default merge operator of the new database, NAME or NAME:PARAM
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// How rows become entries.
    #[command(flatten)]
    pub rows: ImportRows,
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
    /// Directory of the new LevelDB database, which must be empty or not exist, or the file of
    /// rows; - is standard output
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
