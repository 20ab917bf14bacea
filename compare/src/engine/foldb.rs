//! foldb, through its public interface.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use foldb::events::{Event, EventListener};
use foldb::internals::Knobs;
use foldb::stats::Stats;
use foldb::{Compression, Db, KeyspaceOptions, Options, WriteOptions};
use foldb_report::results::BackgroundEvent;

use super::{Engine, Nominal, Scan, State};
use crate::failure::{Failure, Result};

/// foldb.
#[derive(Debug)]
pub struct Foldb {
    db: Db,
    write: WriteOptions,
    listener: Arc<Listener>,
    /// Bytes written by earlier opens: the statistics count from the creation of the database.
    before: u64,
    log_before: Logged,
    maps_log: AtomicBool,
}

/// Bytes of the log that are mapped at a time (`env::posix::mapped`).
const LOG_WINDOW: u64 = 256 << 10;

/// Bytes written to the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    bytes: u64,
    records: u64,
}

impl Logged {
    fn of(stats: &Stats) -> Logged {
        Logged { bytes: stats.bytes_log, records: stats.puts + stats.merges + stats.deletes }
    }

    /// Returns the bytes stored into the log's mapped window since `before`. One record in each
    /// window reaches over its end; a write call writes that record.
    fn mapped_since(self, before: Logged) -> u64 {
        let (bytes, records) = (self.bytes - before.bytes, self.records - before.records);
        let record = bytes.checked_div(records).unwrap_or(0);
        bytes.saturating_sub(bytes / LOG_WINDOW * record)
    }
}

impl Engine for Foldb {
    fn open(nominal: &Nominal, directory: &Path) -> Result<Foldb> {
        let listener = Arc::new(Listener::new());
        let mut options = options(nominal);
        options.listeners.push(listener.clone());
        let db = Db::open(directory, options).map_err(Failure::during("foldb: open"))?;
        let write = WriteOptions { disable_wal: !nominal.wal, ..WriteOptions::default() };
        let stats = db.stats();
        let maps_log = AtomicBool::new(stats.memory.logs > 0);
        Ok(Foldb {
            db,
            write,
            listener,
            before: stats.bytes_written(),
            log_before: Logged::of(&stats),
            maps_log,
        })
    }

    fn settings(nominal: &Nominal) -> String {
        format!("{} compression=lz4 compaction=lazy_leveled", nominal.describe())
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.with(&self.write).put(key, value).map_err(Failure::during("foldb: put"))
    }

    #[inline]
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.db.with(&self.write).merge(key, operand).map_err(Failure::during("foldb: merge"))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.db.get(key).map_err(Failure::during("foldb: get"))?;
        Ok(value.map(|value| read(&value)))
    }

    fn scan(&self, scan: Scan<'_>, visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        walk(&self.db, scan, visit).map_err(Failure::during("foldb: scan"))
    }

    fn rest(&self, flush: bool) -> Result<()> {
        // The window of a log exists as long as the log, so read the figure before the flush
        // removes the log.
        if self.db.memory().logs > 0 {
            self.maps_log.store(true, Ordering::Relaxed);
        }
        if flush {
            self.db.flush().map_err(Failure::during("foldb: flush"))?;
        }
        self.db.wait_for_background().map_err(Failure::during("foldb: background work"))
    }

    fn state(&self) -> State {
        let stats = self.db.stats();
        let maps_log = self.maps_log.load(Ordering::Relaxed) || stats.memory.logs > 0;
        State {
            owed: Some(stats.compaction_debt + stats.memtable_bytes),
            runs_per_read: u32::try_from(stats.runs_per_read()).ok(),
            own: Some(stats.bytes_written() - self.before),
            mapped: if maps_log { Logged::of(&stats).mapped_since(self.log_before) } else { 0 },
        }
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        self.listener.events.lock().expect("no listener panics").clone()
    }

    fn close(self) -> Result<()> {
        self.db.close().map_err(Failure::during("foldb: close"))
    }
}

/// foldb's options for a workload.
pub fn options(nominal: &Nominal) -> Options {
    let own = Options::default();
    let shape = &nominal.shape;
    Options {
        create_if_missing: true,
        default: KeyspaceOptions {
            merge_operator: nominal.operator.map(|operator| operator.name().to_owned()),
            bloom_bits: Some(nominal.bloom_bits),
            compression: Some(Compression::Lz4),
            value_separation_min: nominal.separated.then_some(0),
            ..KeyspaceOptions::default()
        },
        write_buffer_size: nominal.write_buffer,
        block_cache_size: nominal.cache,
        block_size: nominal.block,
        max_open_files: nominal.open_files.unwrap_or(own.max_open_files),
        knobs: Knobs { min_level_to_compress: shape.compress_from, ..own.knobs },
        num_levels: shape.levels,
        level0_compaction_trigger: shape.trigger,
        level0_slowdown_trigger: shape.slowdown,
        level0_stop_trigger: shape.stop,
        max_bytes_for_level_base: shape.level_base,
        max_background_compactions: shape.background.unwrap_or(own.max_background_compactions),
        disable_auto_compactions: !nominal.compactions,
        ..own
    }
}

fn walk(db: &Db, scan: Scan<'_>, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> foldb::Result<()> {
    let mut iter = db.iter()?;
    let mut valid = match scan {
        Scan::Forward => iter.seek_to_first()?,
        Scan::Reverse => iter.seek_to_last()?,
        Scan::From(key) => iter.seek(key)?,
    };
    let reverse = matches!(scan, Scan::Reverse);
    while valid && visit(iter.key(), iter.value()?) {
        valid = if reverse { iter.retreat()? } else { iter.advance()? };
    }
    Ok(())
}

/// Notes flushes and compactions.
#[derive(Debug)]
struct Listener {
    opened: Instant,
    events: Mutex<Vec<BackgroundEvent>>,
}

impl Listener {
    fn new() -> Listener {
        Listener { opened: Instant::now(), events: Mutex::default() }
    }
}

impl EventListener for Listener {
    fn on_event(&self, event: &Event) {
        let (kind, bytes, duration) = match event {
            Event::Flush { bytes_written, duration, .. } => ("flush", *bytes_written, *duration),
            Event::Compaction { bytes_written, duration, .. } => {
                ("compaction", *bytes_written, *duration)
            }
            Event::GarbageCollection { bytes_written, duration, .. } => {
                ("garbage collection", *bytes_written, *duration)
            }
            _ => return,
        };
        let ended = self.opened.elapsed().as_secs_f64();
        let began = (ended - duration.as_secs_f64()).max(0.0);
        let event = BackgroundEvent { kind: kind.to_owned(), began, ended, bytes };
        self.events.lock().expect("no listener panics").push(event);
    }
}
