//! What is looked at while a workload runs, beyond what `foldb_report::system` tells: the time of
//! every operation, bytes read, other processes, the page cache.

mod commit;
mod files;
mod process;
mod recorder;

pub use self::commit::commit;
pub use self::files::{drop_machines_page_cache, drop_page_cache};
pub use self::process::{Written, peak_memory_of};
pub use self::recorder::{Clock, Recorded, Recorder};
