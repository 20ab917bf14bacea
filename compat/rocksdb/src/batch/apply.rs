//! Writing a batch to a database.

use std::cmp::Ordering;

use foldb::WriteBatch;

use crate::batch::rep::{Kind, Op, Rep};
use crate::database::{Database, Family};
use crate::options::calls::rocksdb_writeoptions_t;
use crate::status::{Outcome, Status};

impl Database {
    /// Writes a batch, all of it or nothing.
    ///
    /// # Errors
    /// `Invalid argument` for an unknown family, unless the options say to ignore its writes.
    pub(crate) fn write(&self, options: &rocksdb_writeoptions_t, rep: &Rep) -> Outcome<()> {
        let engine = options.for_engine()?;
        let batch = self.engine_batch(options, rep)?;
        self.counted_write(&engine, || Ok(self.writable()?.with(&engine).write(&batch)?))
    }

    /// Returns the batch of the engine.
    pub(crate) fn engine_batch(
        &self,
        options: &rocksdb_writeoptions_t,
        rep: &Rep,
    ) -> Outcome<WriteBatch> {
        let ignores_missing = options.values.ignore_missing_column_families != 0;
        let mut batch = WriteBatch::new();
        for op in rep.ops() {
            let op = op?;
            if op.family == 0 {
                add(&mut batch, &self.default, op)?;
                continue;
            }
            match self.family(op.family) {
                Ok(family) => add(&mut batch, &family, op)?,
                Err(_) if ignores_missing => {}
                Err(status) => return Err(status),
            }
        }
        Ok(batch)
    }
}

/// Adds a write to the engine's batch.
pub(crate) fn add(batch: &mut WriteBatch, family: &Family, op: Op<'_>) -> Outcome<()> {
    let keyspace = family.writable()?;
    match op.kind {
        Kind::Put => drop(batch.put_in(keyspace, op.key, op.value)),
        Kind::Delete | Kind::SingleDelete => drop(batch.delete_in(keyspace, op.key)),
        Kind::DeleteRange => match keyspace.comparator().compare(op.key, op.value) {
            Ordering::Less => drop(batch.delete_range_in(keyspace, op.key..op.value)),
            Ordering::Equal => {}
            Ordering::Greater => return Err(Status::invalid("end key comes before start key")),
        },
        Kind::Merge => match &family.operator {
            Some(operator) => {
                batch.merge_with_in(operator, keyspace, op.key, op.value);
            }
            None => return Err(no_operator()),
        },
    }
    Ok(())
}

/// Returns the error of an operand in a family without an operator.
pub(crate) fn no_operator() -> Status {
    Status::invalid("Merge requires `ColumnFamilyOptions::merge_operator != nullptr`")
}
