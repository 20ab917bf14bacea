//! The benchmark of transactions.
//!
//! Each set has as many numbers as the database has keys. One operation adds the same amount to one
//! number of each set. So the sums of the sets stay equal, unless an operation was not atomic.

use foldb::{Db, ErrorKind, Result, WriteBatch};

use super::Task;
use crate::histogram::Operation;

/// A number is between 1 and this.
const MOST_ADDED: u64 = 100;

impl Task<'_> {
    /// Adds to a number of each set (RocksDB: `RandomTransaction`). Without `--transaction_db`,
    /// reads and writes are not protected from each other.
    pub(super) fn transactions(&mut self) -> Result<()> {
        let protected = self.flags.transaction_db || self.flags.optimistic_transaction_db;
        let mut aborts = 0_u64;
        self.repeat(self.sizes.read_writes, |task, _| {
            let added = 1 + task.draws.below(MOST_ADDED);
            let keys: Vec<_> = (0..task.flags.transaction_sets)
                .map(|set| key_of(set, task.draws.below(task.sizes.num)))
                .collect();
            if protected {
                aborts += u64::from(!task.add_in_transaction(&keys, added)?);
            } else {
                task.add_in_batch(&keys, added)?;
            }
            Ok(Operation::Other)
        })?;
        let done = self.recorder.done();
        self.recorder.message(&match protected {
            true => format!("( transactions:{done} aborts:{aborts})"),
            false => format!("( batches:{done} )"),
        });
        Ok(())
    }

    /// Returns whether the transaction committed. One that loses is not run again, as in RocksDB.
    fn add_in_transaction(&mut self, keys: &[String], added: u64) -> Result<bool> {
        let options = foldb::TransactionOptions { write: self.sizes.write, ..Default::default() };
        let transaction = self.db.with(&options).begin()?;
        let mut bytes = 0;
        for key in keys {
            let number = number_of(transaction.get_for_update(key)?.as_deref()) + added;
            let text = number.to_string();
            bytes += key.len() + text.len();
            transaction.put(key, text)?;
        }
        match transaction.commit() {
            Ok(()) => {
                self.recorder.bytes(bytes);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn add_in_batch(&mut self, keys: &[String], added: u64) -> Result<()> {
        let mut batch = WriteBatch::new();
        for key in keys {
            let number = number_of(self.db.get(key)?.as_deref()) + added;
            let text = number.to_string();
            self.recorder.bytes(key.len() + text.len());
            batch.put(key, text);
        }
        self.db.with(&self.sizes.write).write(&batch)
    }
}

/// Returns the key of a number, in RocksDB's form: the digits of the set, then those of the number.
fn key_of(set: u64, number: u64) -> String {
    format!("{:04}{number}", set + 1)
}

fn number_of(text: Option<&[u8]>) -> u64 {
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns whether all sets have the same sum.
///
/// # Errors
/// The first error of the database.
pub(crate) fn sums_agree(db: &Db, sets: u64) -> Result<bool> {
    let mut sums = Vec::new();
    for set in 0..sets {
        let (prefix, mut sum) = (format!("{:04}", set + 1), 0_u64);
        let mut iter = db.prefix(&prefix)?;
        let mut valid = iter.seek_to_first()?;
        while valid {
            sum = sum.wrapping_add(number_of(Some(iter.value()?)));
            valid = iter.advance()?;
        }
        sums.push(sum);
    }
    Ok(sums.windows(2).all(|pair| pair[0] == pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_with_another_sum_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let db = Db::create(directory.path().join("db")).unwrap();
        for set in 0..3 {
            db.put(key_of(set, 5 + set), "7").unwrap();
            db.put(key_of(set, 3), "20").unwrap();
        }
        assert!(sums_agree(&db, 3).unwrap());
        db.put(key_of(1, 3), "21").unwrap();
        assert!(!sums_agree(&db, 3).unwrap());
    }
}
