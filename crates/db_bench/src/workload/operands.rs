//! Benchmarks that read operands without folding them.

use std::time::Instant;

use foldb::Result;
use foldb::operators::Base;

use super::Task;
use crate::histogram::Operation;

/// Numbers of `getmergeoperands`, and numbers of one operand.
const NUMBERS: u64 = 100_000;
const LIST_LEN: u64 = 100;
/// The key that has them.
const LIST_KEY: &str = "my_key";
/// The number to find.
const SOUGHT: u64 = 1;

impl Task<'_> {
    /// Reads the operands of random keys (RocksDB: `ReadRandom` with operands).
    pub(super) fn read_operands(&mut self) -> Result<()> {
        let mut found = 0_u64;
        self.repeat(self.sizes.reads, |task, key| {
            task.draws.skip();
            let number = task.skewed(task.sizes.num);
            task.await_reads(1);
            let operands = task.db.get_operands(key.set(number))?;
            let mut bytes: usize = operands.newest_first().map(|it| it.value().len()).sum();
            if let Base::Put(value) = operands.base() {
                bytes += value.len();
            }
            if !operands.is_empty() || matches!(operands.base(), Base::Put(_)) {
                found += 1;
                task.recorder.bytes(task.sizes.key.size + bytes);
            }
            Ok(Operation::Read)
        })?;
        self.tell_found(found, self.recorder.done());
        Ok(())
    }

    /// Merges sorted lists of numbers on one key. Then searches a number in the folded value, and
    /// in the operands one by one (RocksDB: `GetMergeOperands`). The lists ascend, so their
    /// concatenation is sorted too.
    pub(super) fn search_operands(&mut self) -> Result<()> {
        let operator = self.db.operator("stringappend")?;
        for first in (1..NUMBERS).step_by(LIST_LEN as usize) {
            let last = (first + LIST_LEN - 2).min(NUMBERS - 1);
            let list: Vec<String> = (first..=last).map(|number| number.to_string()).collect();
            self.db.with(&self.sizes.write).merge_with(&operator, LIST_KEY, list.join(","))?;
        }
        let note = |task: &mut Self, what: &str, found: bool, begun: Instant| {
            let seconds = begun.elapsed().as_secs_f64();
            task.recorder.note(format!("Found key? {}", u8::from(found)));
            task.recorder.note(format!("{what}: {seconds} seconds"));
            task.recorder.finished(1, Operation::Read);
        };
        self.recorder.restart();
        self.recorder.note("--- Get API call ---");
        let begun = Instant::now();
        let found = self.db.get(LIST_KEY)?.is_some_and(|list| has(&list));
        note(self, "Get", found, begun);
        self.recorder.note("--- GetMergeOperands API ---");
        let begun = Instant::now();
        let operands = self.db.get_operands(LIST_KEY)?;
        let in_base = matches!(operands.base(), Base::Put(list) if has(list));
        let found = in_base || operands.oldest_first().any(|list| has(list.value()));
        note(self, "Get Merge operands", found, begun);
        Ok(())
    }
}

/// Searches a sorted list of numbers with commas between.
fn has(list: &[u8]) -> bool {
    let numbers: Vec<u64> = list
        .split(|byte| *byte == b',')
        .filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        .collect();
    numbers.binary_search(&SOUGHT).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_only_where_it_is() {
        assert!(has(b"1"));
        assert!(has(b"0,1,11"));
        assert!(!has(b"11,12,21"));
        assert!(!has(b""));
    }
}
