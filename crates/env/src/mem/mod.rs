//! A file system in memory that keeps exactly what an operating system promises, and drops the rest
//! on demand.
//!
//! Every file is two images: its bytes now, and its bytes as of its last `sync`. Every directory is
//! two listings: its entries now, and as of its last `sync_dir`. [`MemFs::crash`] keeps the second
//! of each pair, [`MemFs::crash_with`] something random in between, [`MemFs::kill`] the first.
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
//! It does not model two things. Within one page of 4 KiB there is no state between two writes: the
//! page survives as of the last sync or as of the crash. And no directory is lost: directories
//! themselves are durable at once, as
//! [`FileSystem::create_dir_all`](crate::FileSystem::create_dir_all) promises. To see the first,
//! crash earlier: make every call from the n-th on fail ([`Fault::on_mutation`]) for each n.

mod content;
mod crash;
mod directory;
mod faults;
mod file_system;
mod handles;

pub use faults::{Counts, Fault, Operation};
pub use file_system::MemFs;
