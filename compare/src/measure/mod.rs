//! Measurements during a workload, in addition to those of `foldb_report::system`: the time of
//! every operation, bytes read, other processes, and the page cache.

mod commit;
mod files;
mod offered;
mod process;
mod recorder;

pub use self::commit::commit;
pub use self::files::{drop_machines_page_cache, drop_page_cache};
pub use self::offered::OfferedRate;
pub use self::process::{Processor, Written, peak_memory_of};
pub use self::recorder::{Clock, Recorded, Recorder};
