//! Databases in memory whose entries expire by a clock that a test sets.

use std::sync::Arc;
use std::time::Duration;

use foldb_env::{Env, ManualClock, MemFs};

use crate::options::{KeyspaceOptions, Options, WriteOptions};
use crate::settings::{Expires, Expiry};
use crate::{Db, Keyspace};

/// Opens a database at this second, with a keyspace whose writes say when their entries expire.
pub(crate) fn open_at(second: u64) -> (Arc<Db>, Keyspace, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    clock.set_time_of_day(second);
    let env = Env { clock: clock.clone(), ..Env::in_memory(MemFs::new()) };
    let options = Options { create_if_missing: true, env, ..Options::default() };
    let db = Arc::new(Db::open("db", options).unwrap());
    let expiry = Some(Expiry::per_write());
    let own = db.create_keyspace("own", KeyspaceOptions { expiry, ..Default::default() }).unwrap();
    (db, own, clock)
}

/// Returns the options of a write whose entry lives this long.
pub(crate) fn lives(seconds: u64) -> WriteOptions {
    let expires = Some(Expires::After(Duration::from_secs(seconds)));
    WriteOptions { expires, ..WriteOptions::default() }
}
