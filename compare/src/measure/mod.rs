//! What is looked at while a workload runs: time, memory, bytes written and read, space, the machine.

mod files;
mod machine;
mod process;
mod recorder;

pub use self::files::{drop_machines_page_cache, drop_page_cache, space};
pub use self::machine::{commit, machine};
pub use self::process::{Written, peak_memory, peak_memory_of};
pub use self::recorder::{Clock, Recorded, Recorder};
