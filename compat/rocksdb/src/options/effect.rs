//! What the engine makes of the program's options.
//!
//! Invariant: an option that would change data or answers is honoured or refused. Only options that
//! tune speed, memory or space are left out.

use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::env::Env;
use foldb::{CompactionPreset, Compression, KeyspaceOptions, Options};

use crate::objects::cache::RuntimeNeeds;
use crate::objects::merge_operator::{FamilyOperator, operator_name};
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};

/// RocksDB: `kCompactionStyleUniversal`.
const UNIVERSAL: i32 = 1;

/// RocksDB: `kCompactionStyleFIFO`.
const FIFO: i32 = 2;

/// RocksDB: `kNoCompression`.
const NO_COMPRESSION: i32 = 0;

/// The engine's limits of `bloom_bits`.
const MOST_FILTER_BITS: f64 = 32.0;

/// Refuses options of a family that would change data or answers, and that the engine lacks.
///
/// # Errors
/// `Not implemented`, naming the option.
pub(crate) fn check(options: &rocksdb_options_t) -> Outcome<()> {
    if options.comparator.as_ref().is_some_and(|order| order.has_timestamps) {
        return Err(Status::unsupported(
            "a comparator with user-defined timestamps: store the time in the key",
        ));
    }
    if options.values.compaction_style == FIFO {
        return Err(Status::unsupported(
            "FIFO compaction, which drops the oldest entries: open with a time to live",
        ));
    }
    Ok(())
}

/// Returns the order of a family's keys.
pub(crate) fn comparator(options: &rocksdb_options_t) -> Arc<dyn Comparator> {
    match &options.comparator {
        Some(own) => own.clone(),
        None => Arc::new(BytewiseComparator),
    }
}

/// Returns the operator of a family, as the engine names it.
///
/// # Errors
/// `Not implemented` for a merge operator in a family with a long name.
pub(crate) fn operator_spec(name: &str, options: &rocksdb_options_t) -> Outcome<Option<String>> {
    Ok(match &options.merge_operator {
        Some(FamilyOperator::Builtin(spec)) => Some((**spec).to_owned()),
        Some(FamilyOperator::Foreign(_)) => Some(operator_name(name)?),
        None => None,
    })
}

/// Returns the engine's options of a family.
///
/// # Errors
/// `Not implemented` for a merge operator in a family with a long name.
pub(crate) fn keyspace_options(
    name: &str,
    options: &rocksdb_options_t,
) -> Outcome<KeyspaceOptions> {
    let merge_operator = operator_spec(name, options)?;
    let values = &options.values;
    let codec = options.compression_per_level.last().copied().unwrap_or(values.compression);
    let is_compressed = codec != NO_COMPRESSION;
    let separates = values.enable_blob_files != 0;
    Ok(KeyspaceOptions {
        merge_operator,
        comparator: Some(comparator(options)),
        compression: Some(if is_compressed { Compression::Lz4 } else { Compression::None }),
        bloom_bits: options.table.filter_bits.map(|bits| bits.clamp(0.0, MOST_FILTER_BITS) as u32),
        compaction: (values.compaction_style == UNIVERSAL).then_some(CompactionPreset::Tiered),
        value_separation_min: Some(if separates {
            usize::try_from(values.min_blob_size).unwrap_or(usize::MAX)
        } else {
            usize::MAX
        }),
        ..KeyspaceOptions::default()
    })
}

/// Returns the engine's options of a database, without operators and families.
///
/// # Errors
/// `Invalid argument` for sizes that the engine does not take.
pub(crate) fn open_options(options: &rocksdb_options_t) -> Outcome<Options> {
    let values = &options.values;
    let write_buffer_size = write_buffer_size(options);
    let max_write_buffers = usize::try_from(values.max_write_buffer_number).unwrap_or(2).max(2);
    // The engine's own choice for large buffers is two as well, and seals them early in a burst.
    let leaves_sealing = max_write_buffers == 2 && write_buffer_size > SMALL_WRITE_BUFFER;
    let max_open_files = usize::try_from(values.max_open_files).unwrap_or(MANY_FILES).max(64);
    let threads = usize::try_from(values.max_background_jobs).unwrap_or(2).clamp(2, MOST_THREADS);
    let mut engine = Options {
        create_if_missing: values.create_if_missing != 0,
        error_if_exists: values.error_if_exists != 0,
        write_buffer_size,
        max_write_buffers: if leaves_sealing { 0 } else { max_write_buffers },
        max_open_files,
        max_background_compactions: threads - 1,
        disable_auto_compactions: values.disable_auto_compactions != 0,
        wal_limit: values.max_total_wal_size,
        wal_retention_seconds: values.WAL_ttl_seconds,
        // At least the newest log: `rocksdb_get_updates_since` reads it, whatever the program set.
        wal_retention_bytes: values.WAL_size_limit_MB.saturating_mul(1 << 20).max(1),
        block_size: options.table.values.block_size.clamp(256, 64 << 20),
        env: options.env.as_ref().map_or_else(Env::system, |env| env.for_engine()),
        allow_unresolved_operators: true,
        ..Options::default()
    };
    match &options.table.cache {
        _ if options.table.values.no_block_cache != 0 => engine.block_cache_size = 0,
        Some(cache) => {
            let write_buffers = write_buffer_size * max_write_buffers;
            let needs = RuntimeNeeds { write_buffers, open_tables: max_open_files, threads };
            engine.runtime = Some(cache.runtime(needs)?);
        }
        None => {}
    }
    Ok(engine)
}

/// Lets the program's logger hear the events of a database.
pub(crate) fn register_events(engine: &mut Options, options: &rocksdb_options_t) {
    if let Some(logger) = &options.logger {
        engine.listeners.push(logger.clone());
    }
}

/// The largest write buffer of which the engine itself would take more than two.
const SMALL_WRITE_BUFFER: usize = 32 << 20;

/// What "no limit" of open files becomes.
const MANY_FILES: usize = 100_000;

/// The most threads that an open asks for.
const MOST_THREADS: usize = 32;

/// Returns the bytes of a write buffer: the smallest of the limits that the program set.
fn write_buffer_size(options: &rocksdb_options_t) -> usize {
    let shared = options.write_buffers.as_ref().map_or(0, |buffers| buffers.size());
    let limits = [options.values.db_write_buffer_size, shared];
    let limits = limits.into_iter().filter(|&limit| limit > 0);
    let size = limits.fold(options.values.write_buffer_size, usize::min);
    size.clamp(64 << 10, 4 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the engine's option is, for a size and a number of write buffers.
    fn write_buffers(size: usize, number: i32) -> usize {
        let mut options = rocksdb_options_t::default();
        options.values.write_buffer_size = size;
        options.values.max_write_buffer_number = number;
        open_options(&options).expect("options of an open").max_write_buffers
    }

    #[test]
    fn two_large_write_buffers_are_the_choice_of_the_engine() {
        let defaults = rocksdb_options_t::default().values;
        let (size, number) = (defaults.write_buffer_size, defaults.max_write_buffer_number);
        assert_eq!((size, number), (64 << 20, 2));
        assert_eq!(write_buffers(size, number), 0, "automatic");
        assert_eq!(write_buffers(size, 4), 4);
        assert_eq!(write_buffers(4 << 20, 2), 2, "the engine itself would take 16");
    }
}
