//! Settings at which a second of writes reaches every level.

use foldb::internals::Knobs;
use foldb::{CompactionPreset, Compression, KeyspaceOptions, LogAdoption, Options};

/// Returns options drawn from `rng` that create the database. All buffers and files are small.
pub fn small_options(rng: &mut fastrand::Rng) -> Options {
    let presets =
        [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled];
    let adoption = [LogAdoption::Never, LogAdoption::InKeyOrder, LogAdoption::Always];
    let trigger = rng.usize(1..=4);
    let stop = trigger + rng.usize(0..=8);
    let (mut default, mut knobs) = (KeyspaceOptions::default(), Knobs::default());
    // The order of the draws stays, so that older seeds draw the same options.
    Options {
        create_if_missing: true,
        write_buffer_size: 4096 << rng.u32(0..=10),
        max_write_buffers: [0, 2, 4][rng.usize(..3)],
        wal_limit: [0, 4096 << rng.u32(0..=10)][rng.usize(..2)],
        block_cache_size: 1 << rng.u32(12..=24),
        block_size: 256 << rng.u32(0..=8),
        target_file_size: {
            default.bloom_bits = Some([0, 1, 10][rng.usize(..3)]);
            default.compression = Some([Compression::None, Compression::Lz4][rng.usize(..2)]);
            (64 << 10) << rng.u32(0..=6)
        },
        max_open_files: [1, 10, 1000][rng.usize(..3)],
        num_levels: {
            default.compaction = Some(presets[rng.usize(..3)]);
            rng.usize(2..=7)
        },
        level0_compaction_trigger: {
            knobs.tier_fan_in = rng.usize(2..=8);
            trigger
        },
        level0_slowdown_trigger: stop,
        level0_stop_trigger: stop,
        max_bytes_for_level_base: [16 << 10, 256 << 20][rng.usize(..2)],
        max_bytes_for_level_multiplier: [1.5, 4.0, 10.0][rng.usize(..3)],
        max_background_compactions: {
            // An option that is gone took this draw. Older seeds draw the same other options.
            let _gone = rng.usize(..3);
            rng.usize(1..=3)
        },
        default: {
            default.value_separation_min = [None, Some(24), Some(300), Some(3000)][rng.usize(..4)];
            default
        },
        knobs: {
            knobs.segment_size = (64 << 10) << rng.u32(0..=6);
            knobs.value_hints = rng.bool();
            knobs
        },
        // Drawn from copies, so that older seeds draw the same other options.
        visible_when_durable: rng.clone().bool(),
        scrub_io_budget: [0, 64 << 10, 64 << 20][rng.clone().usize(..3)],
        adopt_logs: adoption[rng.usize(..3)],
        max_dead_fraction: [0.05, 0.25, 0.9][rng.usize(..3)],
        ..Options::default()
    }
}

/// Returns `options` with the smallest memtables, and with writers that stop at the first runs of
/// level 0.
pub fn at_the_edges(options: Options, rng: &mut fastrand::Rng) -> Options {
    let trigger = rng.usize(1..=2);
    let stop = trigger + rng.usize(0..=1);
    Options {
        write_buffer_size: 4096,
        level0_compaction_trigger: trigger,
        level0_slowdown_trigger: stop,
        level0_stop_trigger: stop,
        num_levels: [2, 7][rng.usize(..2)],
        ..options
    }
}
