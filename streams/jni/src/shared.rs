//! The engine runtimes of this process: threads, block cache, table handles and memory budget that
//! all its databases share.
//!
//! Databases with the same memory budget share one runtime. It exists while one of them is open.

use std::collections::BTreeMap;

use foldb::{Result, Runtime, RuntimeOptions};
use parking_lot::Mutex;

/// The runtimes by memory budget, and how many databases use each.
static RUNTIMES: Mutex<BTreeMap<usize, (Runtime, usize)>> = Mutex::new(BTreeMap::new());

/// The numbers of [`memory`].
pub const MEMORY: usize = 7;

/// One database's share of a runtime.
#[derive(Debug)]
pub struct Share {
    budget: usize,
    /// The runtime to open the database with.
    pub runtime: Runtime,
}

impl Share {
    /// Joins the runtime with this memory budget in bytes, and makes it first if there is none.
    /// The block cache takes what memtables, background work and open tables leave.
    ///
    /// # Errors
    /// `InvalidArgument` for a budget out of range.
    pub fn join(budget: usize) -> Result<Share> {
        let mut runtimes = RUNTIMES.lock();
        if let Some((runtime, users)) = runtimes.get_mut(&budget) {
            *users += 1;
            return Ok(Share { budget, runtime: runtime.clone() });
        }
        let runtime = Runtime::new(RuntimeOptions {
            memory_budget: budget,
            block_cache_size: budget,
            compaction_memory_budget: budget / 16,
            ..RuntimeOptions::default()
        })?;
        runtimes.insert(budget, (runtime.clone(), 1));
        Ok(Share { budget, runtime })
    }
}

/// Returns the memory of the runtime with this budget, in the order of the components of the Java
/// record `Memory`. All are 0 if no database uses that runtime.
pub fn memory(budget: usize) -> [u64; MEMORY] {
    let runtime = RUNTIMES.lock().get(&budget).map(|(runtime, _)| runtime.clone());
    let Some(runtime) = runtime else { return [0; MEMORY] };
    let memory = runtime.memory();
    [
        memory.total(),
        memory.active_memtables
            + memory.sealed_memtables
            + memory.pinned_memtables
            + memory.spare_memtables,
        memory.block_cache,
        memory.indexes + memory.filters,
        memory.background,
        memory.logs,
        memory.reserved,
    ]
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut runtimes = RUNTIMES.lock();
        if let Some((_, users)) = runtimes.get_mut(&self.budget) {
            *users -= 1;
            if *users == 0 {
                runtimes.remove(&self.budget);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(budget: usize) -> Option<usize> {
        RUNTIMES.lock().get(&budget).map(|(_, users)| *users)
    }

    #[test]
    fn a_runtime_lives_as_long_as_its_last_share() {
        let budget = 17 << 20;
        let first = Share::join(budget).unwrap();
        let second = Share::join(budget).unwrap();
        assert_eq!(users(budget), Some(2));
        drop(first);
        assert_eq!(users(budget), Some(1));
        drop(second);
        assert_eq!(users(budget), None);
    }

    #[test]
    fn the_memory_of_a_runtime_is_the_sum_of_its_parts() {
        let budget = 18 << 20;
        assert_eq!(memory(budget), [0; MEMORY]);
        let share = Share::join(budget).unwrap();
        let mut reservation = share.runtime.reserve();
        reservation.set(12_345);
        let [total, parts @ ..] = memory(budget);
        assert_eq!(total, parts.iter().sum::<u64>());
        assert_eq!(parts[MEMORY - 2], 12_345);
    }

    #[test]
    fn a_budget_below_the_smallest_is_refused() {
        assert!(Share::join(1).unwrap_err().to_string().contains("memory_budget"));
    }
}
