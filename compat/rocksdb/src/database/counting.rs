//! Counts calls for the statistics of the program, and for the perf context of its thread.
//!
//! Invariant: a call has the same result whether it is counted or not. A call that fails is
//! measured, and counts as nothing read or written.

use foldb::Value;

use crate::database::{Database, Family};
use crate::objects::statistics::{Count, Measure};
use crate::options::calls::rocksdb_readoptions_t;
use crate::perf;
use crate::status::Outcome;

/// What a read of several keys found.
type Found = Vec<Outcome<Option<Value>>>;

impl Database {
    /// Reads a key, counts the read, and makes something of the value.
    #[inline]
    pub(crate) fn counted_get<T>(
        &self,
        family: &Family,
        options: &rocksdb_readoptions_t,
        key: &[u8],
        then: impl FnOnce(Option<Value>) -> T,
    ) -> Outcome<T> {
        let len = |found: &Option<Value>| found.as_ref().map_or(0, |value| value.len());
        let Some(statistics) = &self.options.statistics else {
            return family.get_then(options, key, |found| {
                perf::note_get(|| len(&found));
                then(found)
            });
        };
        let found = statistics.timed(Measure::Get, || family.get(options, key))?;
        statistics.count(Count::KeysRead, 1);
        if found.is_some() {
            statistics.count(Count::BytesRead, len(&found) as u64);
            statistics.measure_bytes(Measure::BytesPerRead, len(&found) as u64);
            perf::note_get(|| len(&found));
        }
        Ok(then(found))
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
