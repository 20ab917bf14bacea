//! Options: rejected values, and the numbers of automatic options.

use std::sync::Arc;

use foldb_env::{Env, MemFs};

use crate::db::Db;
use crate::error::ErrorKind;
use crate::key::Comparator;
use crate::options::declared::{DECLARED, Declared, listed};
use crate::options::{KeyspaceOptions, OptionSource, OptionValue, Options, Profile};
use crate::settings::range::Range;
use crate::settings::{
    CompactionPreset, Compression, Expiry, KeyspaceSettings, LogAdoption, MAX_LEVELS,
};

const MIB: usize = 1 << 20;

fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

#[test]
fn the_defaults_are_valid() {
    Options::default().validate().unwrap();
}

/// Each bound, from both sides: the error names the option and its value.
#[test]
fn what_is_out_of_range_is_refused_by_name() {
    type Set = fn(&mut Options);
    #[rustfmt::skip]
    let cases: &[(&str, Set, Set)] = &[
        ("write_buffer_size is 4095", |o| o.write_buffer_size = 4095, |o| o.write_buffer_size = 4096),
        #[cfg(target_pointer_width = "64")]
        ("write_buffer_size is 4294967297", |o| o.write_buffer_size = (4 << 30) + 1,
                                            |o| o.write_buffer_size = 4 << 30),
        ("max_write_buffers is 1", |o| o.max_write_buffers = 1, |o| o.max_write_buffers = 2),
        ("block_size is 255", |o| o.block_size = 255, |o| o.block_size = 256),
        ("block_size is 67108865", |o| o.block_size = (64 << 20) + 1, |o| o.block_size = 64 << 20),
        ("bloom_bits is 65", |o| o.default.bloom_bits = Some(65),
                               |o| o.default.bloom_bits = Some(64)),
        ("max_open_files is 0", |o| o.max_open_files = 0, |o| o.max_open_files = 1),
        ("num_levels is 1", |o| o.num_levels = 1, |o| o.num_levels = 2),
        ("num_levels is 33", |o| o.num_levels = MAX_LEVELS + 1, |o| o.num_levels = MAX_LEVELS),
        ("tier_fan_in is 1", |o| o.knobs.tier_fan_in = 1, |o| o.knobs.tier_fan_in = 2),
        ("staging_ratio is 0", |o| o.knobs.staging_ratio = 0.0, |o| o.knobs.staging_ratio = 0.001),
        ("staging_ratio is 10.5", |o| o.knobs.staging_ratio = 10.5, |o| o.knobs.staging_ratio = 10.0),
        ("staging_ratio is NaN", |o| o.knobs.staging_ratio = f64::NAN, |_| {}),
        ("level0_compaction_trigger is 0", |o| o.level0_compaction_trigger = 0,
                                           |o| o.level0_compaction_trigger = 1),
        ("level0_stop_trigger is 3", |o| o.level0_stop_trigger = 3, |o| o.level0_stop_trigger = 4),
        ("max_bytes_for_level_multiplier is 0.5", |o| o.max_bytes_for_level_multiplier = 0.5,
                                                  |o| o.max_bytes_for_level_multiplier = 1.0),
        ("max_bytes_for_level_multiplier is NaN", |o| o.max_bytes_for_level_multiplier = f64::NAN,
                                                  |_| {}),
        ("max_bytes_for_level_multiplier is inf",
         |o| o.max_bytes_for_level_multiplier = f64::INFINITY, |_| {}),
        ("wal_limit is 4095", |o| o.wal_limit = 4095, |o| o.wal_limit = 4096),
        ("target_file_size is 1023", |o| o.target_file_size = 1023, |o| o.target_file_size = 1024),
        ("memory_budget is 8388607", |o| o.memory_budget = (8 << 20) - 1,
                                     |o| o.memory_budget = 8 << 20),
        ("compaction_memory_budget is 1048575", |o| o.compaction_memory_budget = (1 << 20) - 1,
                                                |o| o.compaction_memory_budget = 1 << 20),
        ("max_background_compactions is 1025", |o| o.max_background_compactions = 1025,
                                               |o| o.max_background_compactions = 0),
    ];
    for (message, outside, inside) in cases {
        let error = with(outside).validate().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().starts_with(&format!("{message}, but must be ")), "{error}");
        with(inside).validate().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn entries_of_default_cannot_expire() {
    let error = with(|o| o.default.expiry = Some(Expiry::per_write())).validate().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("'default' never expire: create a keyspace"), "{error}");
}

#[test]
fn a_schema_has_at_most_a_kilobyte() {
    let of = |len: usize| with(|o| o.default.schema = Some("s".repeat(len))).validate();
    of(1024).unwrap();
    let error = of(1025).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let expected = "a schema has at most 1024 bytes, and this one has 1025";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// What `None` takes: the value of the keyspace `default`, and there the declared default.
#[test]
fn options_of_a_keyspace_fall_back_to_those_of_default() {
    let default = KeyspaceOptions::named([("bloom_bits", "8"), ("compaction", "tiered")]).unwrap();
    let own = KeyspaceOptions { bloom_bits: Some(0), ..KeyspaceOptions::default() }.or(&default);
    let settings = own.settings();
    assert_eq!((settings.bloom_bits, settings.compaction), (0, CompactionPreset::Tiered));
    assert_eq!(settings.compression, Compression::Lz4);
    assert_eq!(own.comparator().name(), "foldb.bytewise");
    let expiring = KeyspaceOptions { expiry: Some(Expiry::per_write()), ..own };
    assert_eq!(expiring.settings().value_separation_min, Some(usize::MAX), "none is separated");
}

#[test]
fn options_of_a_keyspace_are_set_by_their_names() {
    for declared in listed().filter(|option| option.is_of_keyspace && !option.is_handle()) {
        let name = declared.name;
        let text = another_text(declared);
        let default = KeyspaceOptions::named([(name, &text)]).unwrap();
        let options = Options { default, ..Options::default() };
        assert_eq!((declared.value)(&options).to_string(), text, "{name}");
    }
    let error = KeyspaceOptions::named([("block_size", "4096")]).unwrap_err().to_string();
    assert!(
        error.contains("no option of a keyspace is called 'block_size': it has merge_operator")
    );
    let error = KeyspaceOptions::named([("bloom_bits", "many")]).unwrap_err().to_string();
    assert!(error.contains("option bloom_bits=many: expected a whole number"), "{error}");
    // `None` means the value of the keyspace `default`, which may separate values.
    for name in ["value_separation_min", "expiry"] {
        let error = KeyspaceOptions::named([(name, "none")]).unwrap_err().to_string();
        assert!(error.contains(&format!("option {name}=none: ")), "{error}");
    }
}

#[test]
fn zstd_without_its_feature_is_refused_by_name() {
    let validated = with(|o| o.default.compression = Some(Compression::Zstd)).validate();
    if cfg!(feature = "zstd") {
        return validated.unwrap();
    }
    let error = validated.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("its cargo feature `zstd`"), "{error}");
}

#[test]
fn profiles_are_valid_and_found_by_their_names() {
    for profile in Profile::ALL {
        let options = Options::profile(profile);
        options.validate().unwrap();
        assert_eq!(options.profile, profile);
        assert_eq!(profile.to_string().parse::<Profile>().unwrap(), profile);
    }
    let error = "balance".parse::<Profile>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "unknown profile 'balance': expected one of balanced, write_heavy, small_memory, small"
    );
}

/// Memtables, block cache and background blocks together stay small.
#[test]
fn small_memory_is_small() {
    let options = Options::small_memory();
    let memtables = options.write_buffer_size * options.resolve().write_buffers.most;
    assert!(memtables + options.block_cache_size <= 12 * MIB);
    assert!(options.resolve().wal_limit <= 16 << 20);
}

/// Memtables with their key order, the block cache, and what open tables may always use.
#[test]
fn small_has_a_mebibyte_and_one_thread() {
    let shares = Options::small().memory_shares();
    assert!(shares.memtables + shares.cache + shares.tables <= MIB, "{shares:?}");
    assert_eq!(shares.threads, 1);
    Options::small().validate().unwrap();
}

fn explained(options: &Options, name: &str) -> (String, OptionSource) {
    let explained = options.explain();
    let option = explained.iter().find(|option| option.name == name).unwrap();
    (option.value.to_string(), option.source)
}

#[test]
fn options_tell_where_they_come_from() {
    let options = Options {
        default: KeyspaceOptions { bloom_bits: Some(12), ..KeyspaceOptions::default() },
        ..Options::small_memory()
    };
    let profile = OptionSource::Profile(Profile::SmallMemory);
    assert_eq!(explained(&options, "bloom_bits"), ("12".to_owned(), OptionSource::Given));
    assert_eq!(explained(&options, "write_buffer_size"), ("2097152".to_owned(), profile));
    assert_eq!(explained(&options, "num_levels"), ("7".to_owned(), OptionSource::Default));
    assert_eq!(explained(&options, "profile"), ("small_memory".to_owned(), profile));
    // Set back to the default, against the profile.
    let options = Options { block_size: 4096, ..Options::small_memory() };
    assert_eq!(explained(&options, "block_size"), ("4096".to_owned(), OptionSource::Given));
    // An automatic option has its computed number, not 0.
    let options = Options::default();
    assert_eq!(explained(&options, "max_write_buffers"), ("2".to_owned(), OptionSource::Derived));
    let given = with(|o| o.max_write_buffers = 3);
    assert_eq!(explained(&given, "max_write_buffers"), ("3".to_owned(), OptionSource::Given));
    let given = with(|o| o.default.merge_operator = Some("list".to_owned()));
    assert_eq!(explained(&given, "merge_operator"), ("list".to_owned(), OptionSource::Given));
    assert!(
        Options::default().explain().iter().all(|option| {
            matches!(option.source, OptionSource::Default | OptionSource::Derived)
        })
    );
}

/// Walks the declarations, so an option that is added later is tested too.
#[test]
fn every_option_is_explained_and_is_read_as_it_is_written() {
    let explained = Options::default().explain();
    assert_eq!(explained.len() + 1, listed().count(), "all but the environment");
    let all = listed().filter(|declared| declared.name != "env");
    for (option, declared) in explained.iter().zip(all) {
        let name = option.name;
        assert_eq!(name, declared.name);
        assert!(option.cost.ends_with('.'), "{name} says what it costs");
        let numbers = matches!(option.value, OptionValue::Number(_) | OptionValue::Fraction(_));
        let has_range = !matches!(declared.range, Range::Any);
        assert_eq!(has_range, !option.unit.is_empty(), "{name} has a unit and a range");
        assert!(has_range || !numbers, "{name} has a range");
        declared.check(&Options::default()).unwrap();
    }
    for declared in listed() {
        let name = declared.name;
        if declared.is_handle() {
            let error = Options::named([(name, "1")]).unwrap_err().to_string();
            assert!(error.contains("the program sets it"), "{error}");
            continue;
        }
        let options = Options::named([(name, &another_text(declared))]).unwrap();
        let value = (declared.value)(&options);
        assert_ne!(value, (declared.value)(&Options::default()), "{name}");
        let again = Options::named([(name, value.to_string())]).unwrap();
        assert_eq!((declared.value)(&again), value, "{name}");
        #[cfg(feature = "serde")]
        {
            let toml = toml::to_string(&options).unwrap();
            let json = serde_json::to_string(&options).unwrap();
            let read: [Options; 2] =
                [toml::from_str(&toml).unwrap(), serde_json::from_str(&json).unwrap()];
            for options in read {
                assert_eq!((declared.value)(&options), value, "{name} in {toml}");
            }
        }
    }
}

/// Returns the text of a value that is not the default.
fn another_text(option: &Declared) -> String {
    match ((option.value)(&Options::default()), option.name) {
        (OptionValue::Flag(on), _) => (!on).to_string(),
        (OptionValue::Number(n), _) => (n + 1).to_string(),
        (OptionValue::Fraction(x), _) => (x / 2.0).to_string(),
        (OptionValue::Text(None), "expiry") => "per-write".to_owned(),
        (OptionValue::Text(None), _) => "7".to_owned(),
        (OptionValue::Text(Some(_)), name) => {
            let names: Vec<&str> = Profile::ALL.map(Profile::name).into();
            let choices = [
                names,
                Compression::ALL.map(Compression::name).into(),
                CompactionPreset::ALL.map(CompactionPreset::name).into(),
                LogAdoption::ALL.map(LogAdoption::name).into(),
            ];
            let accepted = |choice: &&&str| {
                let options = Options::named([(name, choice)]);
                options.is_ok_and(|options| {
                    (option.value)(&options) != (option.value)(&Options::default())
                })
            };
            choices.concat().iter().find(accepted).expect("it has another choice").to_string()
        }
    }
}

#[test]
fn a_name_or_value_that_is_wrong_is_refused_by_name() {
    for (name, value, message) in [
        ("bloom_bit", "7", "no option is called 'bloom_bit'"),
        ("bloom_bits", "many", "option bloom_bits=many: expected a whole number"),
        ("map_log", "1", "option map_log=1: expected true or false"),
        ("compression", "lz5", "expected one of none, lz4, snappy, zstd"),
        ("profile", "tiny", "expected one of balanced, write_heavy, small_memory, small"),
        ("env", "system", "the program sets it"),
    ] {
        let error = Options::named([(name, value)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn no_list_and_no_text_has_a_knob() {
    let explained = Options::default().explain();
    for knob in DECLARED.iter().filter(|option| option.is_knob) {
        assert!(explained.iter().all(|option| option.name != knob.name), "{}", knob.name);
        let error = Options::named([(knob.name, "1")]).unwrap_err().to_string();
        assert!(error.contains(&format!("no option is called '{}'", knob.name)), "{error}");
    }
}

/// Orders letters of either case alike, and makes two promises about it.
#[derive(Debug)]
struct CaseBlind {
    order: bool,
    equality: bool,
}

impl Comparator for CaseBlind {
    fn name(&self) -> &'static str {
        "test.case_blind"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    fn bytewise_order(&self) -> bool {
        self.order
    }

    fn bytewise_equality(&self) -> bool {
        self.equality
    }
}

#[test]
fn h13_a_comparator_may_call_different_bytes_equal_if_its_order_is_its_own() {
    let check = |order, equality| {
        with(|o| o.default.comparator = Some(Arc::new(CaseBlind { order, equality }))).validate()
    };
    check(false, false).unwrap();
    let error = check(true, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("'test.case_blind'"), "{error}");
}

#[test]
fn automatic_buffers_share_a_budget() {
    for (size, buffers, together) in [
        (4096, 17, 8),
        (2 * MIB, 17, 8),
        (8 * MIB, 8, 4),
        (16 * MIB, 4, 2),
        (64 * MIB, 2, 1),
        (256 * MIB, 2, 1),
    ] {
        let options = with(|o| o.write_buffer_size = size);
        assert_eq!(options.resolve().write_buffers.most, buffers, "{size}");
        assert_eq!(options.resolve().write_buffers.flushed_together, together, "{size}");
    }
    // A stalled writer has filled enough buffers for the flush that it waits for.
    for buffers in 2..40 {
        let options = with(|o| o.max_write_buffers = buffers);
        assert_eq!(options.resolve().write_buffers.most, buffers);
        assert!(options.resolve().write_buffers.flushed_together < buffers);
    }
}

/// Small automatic buffers fit into 64 MiB whole. A given number of buffers has room for all.
#[test]
fn large_automatic_buffers_take_one_and_a_half() {
    for (size, together) in [(2, 34), (16, 64), (32, 64), (40, 64), (48, 72), (64, 96), (256, 384)]
    {
        let options = with(|o| o.write_buffer_size = size * MIB);
        assert_eq!(options.resolve().write_buffers.bytes, together * MIB, "{size}");
    }
    let given = with(|o| (o.write_buffer_size, o.max_write_buffers) = (64 * MIB, 2));
    assert_eq!(given.resolve().write_buffers.bytes, 128 * MIB);
}

#[test]
fn automatic_limits_follow_the_write_buffer() {
    let limits = |change: &dyn Fn(&mut Options)| {
        let settings = with(change).resolve();
        (settings.wal_limit, settings.tree.target_file_size)
    };
    assert_eq!(limits(&|o| o.write_buffer_size = MIB), (64 << 20, 8 << 20));
    assert_eq!(limits(&|o| o.write_buffer_size = 256 * MIB), (1 << 30, 64 << 20));
    assert_eq!(limits(&|o| (o.wal_limit, o.target_file_size) = (5, 6)), (5, 6));
}

/// Upper levels get more filter bits, so that their false positives together stay below the last
/// level's.
#[test]
fn filters_above_are_sharper() {
    let settings = KeyspaceOptions::default().settings();
    let bits: Vec<_> = (0..7).map(|level| settings.filter_bits(7, level)).collect();
    assert_eq!(bits, [16, 16, 16, 16, 14, 12, 10]);
    let off = KeyspaceSettings { bloom_bits: 0, ..settings };
    assert_eq!(off.filter_bits(7, 0), 0, "off is off");
}

/// Options at the ends of their types and ranges, one at a time: each is rejected by name or works.
/// Sums of sizes once overflowed in opens that the check had accepted.
#[test]
fn every_number_is_refused_by_name_or_works() {
    let numbers = DECLARED.iter().filter_map(|option| match option.range {
        Range::Whole { floor, ceiling, .. } => Some((option, floor, ceiling)),
        Range::Any | Range::Fraction { .. } => None,
    });
    for (declared, floor, ceiling) in numbers {
        let option = declared.name;
        for value in [
            0,
            1,
            u64::from(u32::MAX),
            u64::MAX,
            floor,
            ceiling,
            floor.saturating_sub(1),
            ceiling.saturating_add(1),
        ] {
            let fs = MemFs::new();
            let mut options = with(|o| o.create_if_missing = true);
            options.env = Env::in_memory(fs);
            if declared.set(&mut options, &value.to_string()).is_err() {
                let has_32_bits = option == "bloom_bits" || usize::BITS == 32;
                assert!(has_32_bits && value > u64::from(u32::MAX), "{option} = {value}");
                continue;
            }
            if option == "level0_compaction_trigger" {
                options.level0_stop_trigger = options.level0_stop_trigger.max(value as usize);
            }
            match options.validate() {
                Ok(()) => works(options, option, value),
                Err(error) => {
                    assert!(
                        error
                            .to_string()
                            .starts_with(&format!("{option} is {value}, but must be ")),
                        "{error}"
                    );
                    let refused = Db::open("db", options).map(|_| ()).unwrap_err();
                    assert_eq!(refused.to_string(), error.to_string());
                }
            }
        }
    }
}

/// Opens a database with these options, writes, flushes, compacts and reads.
fn works(options: Options, option: &str, value: u64) {
    let what = format!("{option} = {value}");
    let db = Db::open("db", options).unwrap_or_else(|error| panic!("{what}: {error}"));
    for n in 0..30u32 {
        db.put(n.to_be_bytes(), [7; 400]).unwrap_or_else(|error| panic!("{what}: {error}"));
        if n % 10 == 9 {
            db.flush().unwrap();
        }
    }
    db.compact(..).unwrap();
    assert_eq!(db.iter().unwrap().count(), 30, "{what}");
    db.explain_options();
    db.memory();
    db.close().unwrap();
}
