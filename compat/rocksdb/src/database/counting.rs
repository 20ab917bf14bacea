//! Counts calls for the statistics of the program, and for the perf context of its thread.
//!
//! Invariant: a call has the same result whether it is counted or not. A call that fails is
//! measured, and counts as nothing read or written.

use foldb::Value;

use crate::database::Database;
use crate::objects::statistics::{Count, Measure};
use crate::perf;
use crate::status::Outcome;

/// What a read of several keys found.
type Found = Vec<Outcome<Option<Value>>>;

impl Database {
    /// Reads a key, and counts the read.
    #[inline]
    pub(crate) fn counted_get(
        &self,
        read: impl FnOnce() -> Outcome<Option<Value>>,
    ) -> Outcome<Option<Value>> {
        let Some(statistics) = &self.options.statistics else {
            let found = read()?;
            perf::note_get(found.as_ref().map_or(0, |value| value.len()));
            return Ok(found);
        };
        let found = statistics.timed(Measure::Get, read)?;
        statistics.count(Count::KeysRead, 1);
        if let Some(value) = &found {
            statistics.count(Count::BytesRead, value.len() as u64);
            statistics.measure_bytes(Measure::BytesPerRead, value.len() as u64);
            perf::note_get(value.len());
        }
        Ok(found)
    }

    /// Reads several keys, and counts the read.
    pub(crate) fn counted_multi_get(
        &self,
        read: impl FnOnce() -> Outcome<Found>,
    ) -> Outcome<Found> {
        let Some(statistics) = &self.options.statistics else {
            let found = read()?;
            perf::note_multi_get(|| bytes_of(&found));
            return Ok(found);
        };
        let found = statistics.timed(Measure::MultiGet, read)?;
        let (values, bytes) = (found.iter().flatten().flatten().count(), bytes_of(&found));
        statistics.count(Count::MultiGets, 1);
        statistics.count(Count::MultiGetKeys, found.len() as u64);
        statistics.count(Count::MultiGetFound, values as u64);
        statistics.count(Count::MultiGetBytes, bytes);
        statistics.measure_bytes(Measure::BytesPerMultiGet, bytes);
        perf::note_multi_get(|| bytes);
        Ok(found)
    }

    /// Does a write, and counts it. The engine counts its keys and bytes.
    #[inline]
    pub(crate) fn counted_write(
        &self,
        options: &foldb::WriteOptions,
        write: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<()> {
        let Some(statistics) = &self.options.statistics else { return write() };
        statistics.timed(Measure::Write, write)?;
        statistics.count(Count::WritesWithWal, u64::from(!options.disable_wal));
        Ok(())
    }
}

/// Returns the bytes of the values that a read of several keys found.
fn bytes_of(found: &Found) -> u64 {
    found.iter().flatten().flatten().map(|value| value.len() as u64).sum()
}
