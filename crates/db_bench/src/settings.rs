//! Turns flags into the engine's options, and checks them.

use foldb::internals::Knobs;
use foldb::limits::{MAX_VALUE_BYTES, max_batch_bytes};
use foldb::{CompactionPreset, Compression, KeyspaceOptions, Options};

use crate::benchmark::Request;
use crate::failure::Failure;
use crate::flags::Flags;
use crate::workload::Sizes;

/// Block cache without `--cache_size`, as in RocksDB's releases with the published figures.
const DEFAULT_CACHE_SIZE: &str = "8388608";
/// Bytes that a batch counts for each entry besides its key and value.
const PER_ENTRY: u64 = 64;
/// The levels that a tree may have.
const LEVELS: std::ops::RangeInclusive<u64> = 2..=32;
/// Tables held open when all may be.
const ALL_TABLES: usize = 1 << 20;

/// Checks the flags of the workload.
///
/// # Errors
/// A value out of its range.
pub(crate) fn check_workload(flags: &Flags) -> Result<(), Failure> {
    if flags.sync && flags.disable_wal {
        return Err(Failure::new("--sync needs the log: leave out --disable_wal"));
    }
    let percent = 0..=100;
    let checks = [
        (flags.num >= 1, "num", "at least 1"),
        (flags.merge_keys != 0, "merge_keys", "at least 1, or negative for --num"),
        ((1..=1024).contains(&flags.threads), "threads", "between 1 and 1024"),
        ((1..=65536).contains(&flags.key_size), "key_size", "between 1 and 65536"),
        (flags.value_size <= MAX_VALUE_BYTES as u64, "value_size", "at most 268435456"),
        (flags.batch_size >= 1, "batch_size", "at least 1"),
        (percent.contains(&flags.mergereadpercent), "mergereadpercent", "between 0 and 100"),
        (percent.contains(&flags.readwritepercent), "readwritepercent", "between 0 and 100"),
        ((0.0..=1.0).contains(&flags.compression_ratio), "compression_ratio", "between 0 and 1"),
        (flags.block_size != Some(0), "block_size", "at least 1"),
        (flags.numdistinct >= 1, "numdistinct", "at least 1"),
        (percent.contains(&flags.deletepercent), "deletepercent", "between 0 and 100"),
        (flags.key_id_range >= 1, "key_id_range", "at least 1"),
        ((1..=9999).contains(&flags.transaction_sets), "transaction_sets", "between 1 and 9999"),
        (flags.overwrite_window_size >= 1, "overwrite_window_size", "at least 1"),
        (
            ["fixed", "uniform", "normal"].contains(&flags.value_size_distribution_type.as_str()),
            "value_size_distribution_type",
            "fixed, uniform or normal",
        ),
        (flags.value_size_min <= flags.value_size_max, "value_size_min", "at most value_size_max"),
        (flags.value_size_max <= MAX_VALUE_BYTES as u64, "value_size_max", "at most 268435456"),
        (flags.expire_style != "compaction_filter", "expire_style", "none or delete"),
    ];
    match checks.into_iter().find(|(holds, ..)| !holds) {
        None => Ok(()),
        Some((_, name, range)) => {
            Err(Failure::new(format!("--{name} must be {range}, not {}", flags.show(name))))
        }
    }
}

/// Checks that the batches of the benchmarks fit into the database.
///
/// # Errors
/// A batch that the engine would refuse, after the benchmark destroyed the database.
pub(crate) fn check_batches(
    flags: &Flags,
    requests: &[Request],
    options: &Options,
) -> Result<(), Failure> {
    let most = max_batch_bytes(options.write_buffer_size) as u64;
    let benchmarks = requests.iter().map(|request| request.benchmark);
    for benchmark in benchmarks.filter(|benchmark| benchmark.writes_batches()) {
        let sizes = Sizes::of(benchmark, flags);
        let entry = PER_ENTRY + sizes.key.size as u64 + sizes.values.most() as u64;
        let bytes = sizes.batch.saturating_mul(entry);
        if bytes > most {
            return Err(Failure::new(format!(
                "{} writes batches of {} entries with {bytes} bytes together, and a batch may have \
                 {most}: lower --batch_size or --value_size",
                benchmark.name, sizes.batch
            )));
        }
    }
    Ok(())
}

/// Returns the options of the database; `operator` is already checked.
///
/// # Errors
/// A value that foldb does not know or accept.
pub(crate) fn options(flags: &Flags, operator: Option<String>) -> Result<Options, Failure> {
    let mut named = match &flags.profile {
        Some(profile) => vec![("profile", profile.as_str())],
        None => vec![("block_cache_size", DEFAULT_CACHE_SIZE)],
    };
    named.extend(flags.options.iter().map(|(name, value)| (*name, value.as_str())));
    let own = Options::named(named).map_err(|error| Failure::new(format!("--profile: {error}")))?;
    let options = Options {
        create_if_missing: !flags.use_existing_db,
        default: KeyspaceOptions {
            merge_operator: operator,
            bloom_bits: match flags.bloom_bits {
                bits if bits < 0.0 => own.default.bloom_bits,
                bits => Some(bits.round() as u32),
            },
            compression: compression(flags)?.or(own.default.compression),
            compaction: compaction(flags)?.or(own.default.compaction),
            value_separation_min: separation(flags, own.default.value_separation_min),
            ..own.default
        },
        block_cache_size: usize::try_from(flags.cache_size).unwrap_or(own.block_cache_size),
        block_size: flags.block_size.map_or(own.block_size, size),
        knobs: Knobs {
            min_level_to_compress: usize::try_from(flags.min_level_to_compress).unwrap_or(0),
            ..own.knobs
        },
        max_open_files: open_files(flags, own.max_open_files),
        num_levels: flags.num_levels.map_or(own.num_levels, |levels| size(in_range(levels))),
        max_background_compactions: background_compactions(flags, own.max_background_compactions),
        ..own
    };
    options.validate().map_err(|error| Failure::new(error.to_string()))?;
    Ok(options)
}

/// Returns the number of levels that foldb has in place of another engine's.
fn in_range(levels: u64) -> u64 {
    levels.clamp(*LEVELS.start(), *LEVELS.end())
}

/// Prints a line for each number that foldb takes as another one. Published command lines have
/// them, and their results do not depend on the difference.
pub(crate) fn note_other_numbers(flags: &Flags) {
    if let Some(levels) = flags.num_levels.filter(|levels| !LEVELS.contains(levels)) {
        eprintln!("db_bench: --num_levels={levels} is taken as {}", in_range(levels));
    }
    let bits = flags.bloom_bits;
    if bits >= 0.0 && bits.fract() != 0.0 {
        eprintln!("db_bench: --bloom_bits={bits} is taken as {}", bits.round());
    }
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn compression(flags: &Flags) -> Result<Option<Compression>, Failure> {
    let Some(name) = &flags.compression_type else { return Ok(None) };
    match name.to_ascii_lowercase().as_str() {
        "none" => Ok(Some(Compression::None)),
        "lz4" => Ok(Some(Compression::Lz4)),
        "snappy" => Ok(Some(Compression::Snappy)),
        "zstd" => Ok(Some(Compression::Zstd)),
        _ => Err(Failure::new(format!(
            "--compression_type must be none, snappy, lz4 or zstd, not '{name}'"
        ))),
    }
}

fn compaction(flags: &Flags) -> Result<Option<CompactionPreset>, Failure> {
    match flags.compaction_style {
        None => Ok(None),
        Some(0) => Ok(Some(CompactionPreset::Leveled)),
        Some(1) => Ok(Some(CompactionPreset::Tiered)),
        Some(other) => Err(Failure::new(format!(
            "--compaction_style must be 0 (leveled) or 1 (tiered), not {other}"
        ))),
    }
}

fn separation(flags: &Flags, own: Option<usize>) -> Option<usize> {
    match flags.enable_blob_files {
        None => own,
        Some(false) => None,
        Some(true) => Some(size(flags.min_blob_size)),
    }
}

fn open_files(flags: &Flags, own: usize) -> usize {
    match flags.open_files {
        None | Some(0) => own,
        Some(files) => usize::try_from(files).unwrap_or(ALL_TABLES),
    }
}

fn background_compactions(flags: &Flags, own: usize) -> usize {
    match flags.max_background_compactions.map(usize::try_from) {
        Some(Ok(threads)) if threads > 0 => threads,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use foldb::LogAdoption;
    use foldb::explain::OptionValue;

    use super::*;
    use crate::flags::HONOURED;

    fn from(arguments: &[&str]) -> Result<Options, Failure> {
        let parsed = crate::flags::parse(arguments.iter().map(Into::into))?;
        options(&parsed.flags, None)
    }

    #[test]
    fn absent_flags_leave_rocksdbs_sizes_and_foldbs_shape() {
        let (options, own) = (from(&[]).unwrap(), Options::default());
        assert!(options.create_if_missing);
        assert_eq!(options.write_buffer_size, 64 << 20);
        assert_eq!(options.block_cache_size, 8 << 20);
        assert_eq!(options.block_size, 4096);
        assert_eq!(options.max_write_buffers, own.max_write_buffers);
        assert_eq!(options.default.bloom_bits, own.default.bloom_bits);
        assert_eq!(options.default.compaction, own.default.compaction);
        assert_eq!(options.default.compression(), Compression::Lz4);
        assert_eq!(options.max_open_files, own.max_open_files);
    }

    #[test]
    fn a_profile_is_what_absent_flags_default_to() {
        let small = Options::small_memory();
        let options = from(&["--profile=small_memory"]).unwrap();
        assert_eq!(options.explain()[0].value, small.explain()[0].value);
        assert_eq!(options.write_buffer_size, small.write_buffer_size);
        assert_eq!(options.block_cache_size, small.block_cache_size);
        assert_eq!(options.max_open_files, small.max_open_files);
        assert_eq!(options.wal_limit, small.wal_limit);
        let options = from(&["--profile=small_memory", "--cache_size=0"]).unwrap();
        assert_eq!(options.block_cache_size, 0);
        let options = from(&["--write_buffer_size=67108864", "--profile=small_memory"]).unwrap();
        assert_eq!(options.write_buffer_size, 64 << 20);
        let Err(Failure::Message(message)) = from(&["--profile=tiny"]) else { panic!("taken") };
        assert_eq!(
            message,
            "--profile: option profile=tiny: unknown profile 'tiny': expected one of balanced, \
             write_heavy, small_memory, small"
        );
    }

    #[test]
    fn given_flags_reach_the_options() {
        let options = from(&[
            "--use_existing_db",
            "--write_buffer_size=2097152",
            "--max_write_buffer_number=4",
            "--cache_size=104857600",
            "--block_size=65536",
            "--bloom_bits=0",
            "--open_files=-1",
            "--num_levels=6",
            "--max_bytes_for_level_base=10485760",
            "--max_bytes_for_level_multiplier=8",
            "--level0_file_num_compaction_trigger=3",
            "--level0_slowdown_writes_trigger=8",
            "--level0_stop_writes_trigger=12",
            "--min_level_to_compress=2",
            "--compression_type=Snappy",
            "--disable_auto_compactions",
            "--compaction_style=1",
            "--max_background_compactions=20",
        ])
        .unwrap();
        assert!(!options.create_if_missing);
        assert!(options.disable_auto_compactions);
        assert_eq!(options.write_buffer_size, 2 << 20);
        assert_eq!(options.max_write_buffers, 4);
        assert_eq!(options.block_cache_size, 100 << 20);
        assert_eq!(options.block_size, 65536);
        assert_eq!(options.default.bloom_bits, Some(0));
        assert_eq!(options.max_open_files, ALL_TABLES);
        assert_eq!(options.num_levels, 6);
        assert_eq!(options.max_bytes_for_level_base, 10 << 20);
        assert!((options.max_bytes_for_level_multiplier - 8.0).abs() < f64::EPSILON);
        assert_eq!(options.level0_compaction_trigger, 3);
        assert_eq!(options.level0_slowdown_trigger, 8);
        assert_eq!(options.level0_stop_trigger, 12);
        assert_eq!(options.knobs.min_level_to_compress, 2);
        assert_eq!(options.default.compression, Some(Compression::Snappy));
        assert_eq!(options.default.compaction, Some(CompactionPreset::Tiered));
        assert_eq!(options.max_background_compactions, 20);
    }

    /// Walks the engine's list, so an option that is added later is tested too.
    #[test]
    fn every_option_is_a_flag() {
        for option in Options::default().explain().iter().filter(|option| !option.is_handle) {
            let name = option.name;
            let steers = format!("Options::{name}");
            if HONOURED.iter().any(|flag| flag.steers.ends_with(&steers) && flag.name != name) {
                continue;
            }
            let value = match &option.value {
                OptionValue::Flag(on) => (!on).to_string(),
                OptionValue::Number(0) => (1 << 20).to_string(),
                OptionValue::Number(number) => (number + 1).to_string(),
                OptionValue::Fraction(number) => (number / 2.0).to_string(),
                other => other.to_string(),
            };
            let explained = from(&[&format!("--{name}={value}")]).unwrap().explain();
            let set = explained.into_iter().find(|set| set.name == name).unwrap();
            if name != "merge_operator" {
                assert_eq!(set.value.to_string(), value, "{name}");
            }
        }
        let options = from(&["--max_write_buffer_number=3", "--scrub_io_budget=0x2000"]).unwrap();
        assert_eq!((options.max_write_buffers, options.scrub_io_budget), (3, 8192));
        assert!(!from(&["--nomap_log"]).unwrap().map_log);
    }

    #[test]
    fn values_are_separated_as_rocksdbs_flags_say() {
        let separated = |arguments: &[&str]| from(arguments).unwrap().default.value_separation_min;
        let own = Options::default().default.value_separation_min;
        assert_eq!(separated(&[]), own);
        assert_eq!(separated(&["--min_blob_size=4096"]), own, "RocksDB's does nothing alone");
        assert_eq!(separated(&["--enable_blob_files=0"]), None);
        assert_eq!(separated(&["--enable_blob_files"]), Some(0));
        assert_eq!(separated(&["--enable_blob_files=1", "--min_blob_size=4096"]), Some(4096));
    }

    #[test]
    fn logs_are_adopted_as_is_asked_for() {
        assert_eq!(from(&[]).unwrap().adopt_logs, LogAdoption::InKeyOrder);
        assert_eq!(from(&["--adopt_logs=always"]).unwrap().adopt_logs, LogAdoption::Always);
        let Err(Failure::Message(message)) = from(&["--adopt_logs=yes"]) else { panic!("taken") };
        assert_eq!(
            message,
            "--adopt_logs: option adopt_logs=yes: unknown value 'yes' for adopt_logs: expected one of \
             never, in_key_order, always"
        );
    }

    #[test]
    fn what_the_engine_refuses_is_refused_before_it_runs() {
        for arguments in [
            ["--write_buffer_size=1"],
            ["--compaction_style=2"],
            ["--compression_type=zlib"],
            ["--max_write_buffer_number=1"],
        ] {
            assert!(from(&arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn zstd_is_refused_by_a_build_without_it() {
        match (from(&["--compression_type=zstd"]), cfg!(feature = "zstd")) {
            (Ok(options), true) => assert_eq!(options.default.compression(), Compression::Zstd),
            (Err(Failure::Message(message)), false) => {
                assert!(message.contains("build foldb with its cargo feature `zstd`"), "{message}");
            }
            (other, feature) => panic!("with the feature {feature}: {other:?}"),
        }
    }

    #[test]
    fn numbers_of_published_command_lines_are_taken_as_the_nearest() {
        let levels = |levels: &str| from(&[&format!("--num_levels={levels}")]).unwrap().num_levels;
        assert_eq!([levels("1"), levels("6"), levels("40")], [2, 6, 32]);
        let bits =
            |bits: &str| from(&[&format!("--bloom_bits={bits}")]).unwrap().default.bloom_bits();
        assert_eq!([bits("9.9"), bits("10"), bits("0")], [10, 10, 0]);
        assert_eq!(bits("-1"), Options::default().default.bloom_bits());
    }

    #[test]
    fn workload_ranges_are_checked() {
        for argument in [
            "--num=0",
            "--merge_keys=0",
            "--value_size=300000000",
            "--threads=0",
            "--compression_ratio=1.5",
        ] {
            let parsed = crate::flags::parse([argument.into()]).unwrap();
            let Err(Failure::Message(message)) = check_workload(&parsed.flags) else {
                panic!("{argument} accepted")
            };
            let (name, value) = argument.split_once('=').unwrap();
            assert!(message.starts_with(&format!("{name} must be ")), "{message}");
            assert!(message.ends_with(&format!("not {value}")), "{message}");
        }
        check_workload(&Flags::default()).unwrap();
    }
}
