//! Runs foldb on a machine made of one seed, and checks every answer.
//!
//! ```text
//!  world ── lives of one database: open, compare, work, stop
//!    ├─ client ── threads that write, read and copy, and record the answers (history)
//!    ├─ checker ── finds one order of all calls that explains every answer
//!    ├─ damage ── misdirected writes, in a database that was closed
//!    ├─ disk ── files in memory; calls take time, fail, hang; the power fails
//!    └─ machine ── one scheduler owns threads, locks, time and randomness
//! ```
//!
//! Invariant: a run is a function of its seed. The seed alone reproduces a wrong answer.

#![deny(unsafe_code)]
// Only builds with debug assertions have the points where the simulator takes over.
#![cfg(debug_assertions)]

mod aftermath;
pub mod checker;
pub mod client;
mod clock_moves;
mod conditions;
pub mod copies;
pub mod counts;
pub mod damage;
pub mod day;
pub mod disk;
pub mod features;
pub mod follower;
pub mod history;
pub mod machine;
pub mod pairs;
pub mod report;
pub mod world;
