//! A file system in memory. A simulated crash keeps exactly what an operating system promises.
//!
//! Every file is two images: its current bytes, and its bytes as of its last `sync`. Every
//! directory is two listings: its current entries, and its entries as of its last `sync_dir`.
//! [`MemFs::crash`] keeps the synced state, [`MemFs::kill`] the current state, and
//! [`MemFs::crash_with`] a random state in between.
//!
//! ```text
//!                    f.WRITE.a  f.SYNC  f.WRITE.b  dir.SYNC  f.RENAME.g
//!   now                  a        a        ab         ab         ab
//!                        f        f        f          f          g
//!   crash()              -        -        -          a          a
//!                                                     f          f
//!   crash_with()         -     - or a   - or a      a or ab    a or ab
//!                              - or f   - or f        f        f or g
//! ```
//!
//! This file system does not model two things. First, a page of 4 KiB has no state between two
//! writes: it survives as of the last sync or as of the crash. Second, no directory is lost: a new
//! directory is durable at once, as
//! [`FileSystem::create_dir_all`](crate::FileSystem::create_dir_all) promises. To test states
//! between two writes, crash earlier: for each n, make every call from the n-th on fail
//! ([`Fault::on_mutation`]).

mod content;
mod crash;
mod directory;
mod faults;
mod file_system;
mod handles;

pub use faults::{Counts, Fault, Operation};
pub use file_system::MemFs;
