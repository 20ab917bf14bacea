//! Opens the database of a program, with its settings.

use std::sync::Arc;

use foldb::env::{Env, MemFs};
use foldb::internals::Knobs;
use foldb::{Db, Keyspace, KeyspaceOptions, LogAdoption, Options};

use super::fading::DayClock;
use super::program::{Place, Settings};
use crate::support::{PATH, operators};

pub(super) fn open(fs: &MemFs, settings: Settings, clock: &Arc<DayClock>, seed: u64) -> Db {
    #[cfg(debug_assertions)]
    foldb::faults::keep_few_notes(settings.few_notes);
    let db = Db::open(PATH, options(fs, settings, clock, seed));
    #[cfg(debug_assertions)]
    foldb::faults::keep_few_notes(false);
    db.expect("open")
}

pub(super) fn options(fs: &MemFs, settings: Settings, clock: &Arc<DayClock>, seed: u64) -> Options {
    let in_memory = Env::in_memory(fs.clone());
    Options {
        create_if_missing: true,
        env: Env { clock: Arc::clone(clock) as _, seed: Some(seed), ..in_memory },
        wal_retention_bytes: if settings.feed { 1 << 40 } else { 0 },
        default: KeyspaceOptions {
            merge_operator: Some(settings.default_operator.name().into_owned()),
            compaction: Some(settings.preset),
            compression: Some(settings.compression),
            bloom_bits: Some(settings.bloom_bits),
            value_separation_min: settings.separation,
            ..KeyspaceOptions::default()
        },
        operators: operators::all(),
        write_buffer_size: settings.write_buffer,
        target_file_size: settings.target_file,
        block_size: settings.block,
        block_cache_size: settings.cache,
        max_open_files: settings.open_files,
        wal_limit: settings.wal_limit,
        level0_compaction_trigger: settings.level0_trigger,
        level0_slowdown_trigger: settings.level0_trigger + 4,
        level0_stop_trigger: settings.level0_trigger + 8,
        max_bytes_for_level_base: settings.level_base,
        max_bytes_for_level_multiplier: 2.0,
        num_levels: settings.levels,
        knobs: Knobs {
            tier_fan_in: settings.fan_in,
            segment_size: settings.segment_size,
            value_hints: settings.hints,
            ..Knobs::default()
        },
        adopt_logs: LogAdoption::Always,
        max_dead_fraction: settings.dead_fraction,
        ..Options::default()
    }
}

/// Returns handles of the keyspaces that exist.
pub(super) fn keyspaces(db: &Db) -> [Option<Keyspace>; Place::COUNT] {
    let mut keyspaces = [const { None }; Place::COUNT];
    for place in Place::all() {
        keyspaces[place.index()] = db.keyspace(place.name()).ok();
    }
    keyspaces
}
