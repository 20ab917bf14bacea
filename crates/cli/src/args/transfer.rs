//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// Another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// LevelDB.
    #[value(name = "leveldb")]
    LevelDb,
}

/// `import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Directory of the database to import
    #[arg(value_name = "SRC", value_hint = ValueHint::DirPath)]
    pub src: PathBuf,
    /// Directory of the new foldb database, which must be empty or not exist
    #[arg(value_name = "DST", value_hint = ValueHint::DirPath)]
    pub dst: PathBuf,
    /// Engine that wrote SRC
    #[arg(long, value_name = "ENGINE")]
    pub from: Engine,
    /// Default merge operator of the new database, NAME or NAME:PARAM
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
}

/// `export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Directory of the new database, which must be empty or not exist
    #[arg(value_name = "DST", value_hint = ValueHint::DirPath)]
    pub dst: PathBuf,
    /// Engine that will read DST
    #[arg(long, value_name = "ENGINE")]
    pub to: Engine,
    /// Export only this keyspace
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
}
