//! What the tests share.

use foldb_typed::foldb::env::{Env, MemFs};
use foldb_typed::foldb::{Db, Options};

/// Path of databases in memory.
pub(crate) const PATH: &str = "db";

pub(crate) fn options(fs: &MemFs) -> Options {
    Options { create_if_missing: true, env: Env::in_memory(fs.clone()), ..Options::default() }
}

pub(crate) fn open(fs: &MemFs) -> Db {
    Db::open(PATH, options(fs)).unwrap()
}

/// Returns an empty database in memory.
pub(crate) fn new() -> Db {
    open(&MemFs::new())
}
