//! Whether unsynced commits survive a kill of the process, engine by engine.
//!
//! The program calls itself with hidden commands. One commits and waits to be killed, the other
//! opens the store again and counts. `tests/survival.rs` runs both.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use clap::Parser;

use crate::data::key;
use crate::engine::{Name, Nominal, Preset};
use crate::failure::{Failure, Result};
use crate::store::{Setup, Store, on_store};

/// First arguments of the command lines.
const COMMIT: &str = "commit-and-wait";
const COUNT: &str = "count-commits";
/// Keys of the commits.
const KEYS: u64 = 10;

/// The task of a process.
#[derive(Clone, Debug, Parser)]
pub struct Order {
    /// Name of the engine.
    engine: String,
    /// Directory of the store, which must exist.
    directory: PathBuf,
    /// Number of commits.
    commits: u64,
}

/// Carries out the hidden command of this process, if it has one.
pub fn obeyed() -> Option<Result<()>> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let first = arguments.peek()?.to_owned();
    if first != COMMIT && first != COUNT {
        return None;
    }
    let Order { engine, directory, commits } = Order::parse_from(arguments);
    Some(Name::named(&engine).and_then(|engine| {
        if first == COMMIT {
            on_store!(engine, S => commit_and_wait::<S>(&directory, commits))
        } else {
            on_store!(engine, S => count::<S>(&directory))
        }
    }))
}

fn open<S: Store>(directory: &Path) -> Result<S> {
    let nominal = Nominal::preset(Preset::Defaults);
    S::open(&Setup { nominal, synced: false }, directory)
}

/// Commits, says so, and waits for its end.
fn commit_and_wait<S: Store>(directory: &Path, commits: u64) -> Result<()> {
    let store = open::<S>(directory)?;
    for number in 0..commits {
        store.add(&key(number % KEYS))?;
    }
    println!("committed {commits}");
    io::stdout().flush().map_err(Failure::during("standard output"))?;
    loop {
        thread::park();
    }
}

/// Prints the number of commits that the store holds.
fn count<S: Store>(directory: &Path) -> Result<()> {
    let mut commits = 0_u64;
    open::<S>(directory)?.each(|_, value| {
        commits += value.try_into().map_or(0, u64::from_le_bytes);
    })?;
    println!("{commits}");
    Ok(())
}
