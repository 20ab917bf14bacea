//! Options in configuration files: the cargo feature `serde`.
//!
//! A file names the options that differ from its profile, or from the defaults without one. Handles
//! (operators, comparators, filter policies, listeners, the runtime, the block cache, the
//! environment) are no text; the program sets them after reading. Choices are written by their
//! names, as the shell writes them.
//!
//! Invariant: options come back as they were written, handles aside. An unknown name is an error,
//! so a mistyped option is not ignored.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::options::{Options, Profile};
use crate::settings::{CompactionPreset, Compression, LogAdoption};

/// Declares the options that a file may name.
macro_rules! options_in_text {
    ($($name:ident: $type:ty,)*) => {
        /// The options that a file names.
        #[derive(Default, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct NamedOptions {
            profile: Profile,
            #[serde(skip_serializing_if = "Option::is_none")]
            merge_operator: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            value_separation_min: Option<usize>,
            $($name: Option<$type>,)*
        }

        impl From<NamedOptions> for Options {
            fn from(named: NamedOptions) -> Options {
                let mut options = Options {
                    merge_operator: named.merge_operator,
                    ..Options::profile(named.profile)
                };
                if named.value_separation_min.is_some() {
                    options.value_separation_min = named.value_separation_min;
                }
                $(if let Some(value) = named.$name {
                    options.$name = value;
                })*
                options
            }
        }

        impl From<Options> for NamedOptions {
            fn from(options: Options) -> NamedOptions {
                NamedOptions {
                    profile: options.profile,
                    merge_operator: options.merge_operator,
                    value_separation_min: options.value_separation_min,
                    $($name: Some(options.$name),)*
                }
            }
        }
    };
}

options_in_text! {
    create_if_missing: bool,
    error_if_exists: bool,
    allow_unresolved_operators: bool,
    write_buffer_size: usize,
    max_write_buffers: usize,
    wal_limit: u64,
    wal_retention_bytes: u64,
    wal_retention_seconds: u64,
    memory_budget: usize,
    compaction_memory_budget: usize,
    block_cache_size: usize,
    block_size: usize,
    bloom_bits: u32,
    compression: Compression,
    min_level_to_compress: usize,
    target_file_size: u64,
    max_open_files: usize,
    compaction: CompactionPreset,
    num_levels: usize,
    tier_fan_in: usize,
    staging_ratio: f64,
    level0_compaction_trigger: usize,
    level0_slowdown_trigger: usize,
    level0_stop_trigger: usize,
    max_bytes_for_level_base: u64,
    max_bytes_for_level_multiplier: f64,
    idle_runs: usize,
    disable_auto_compactions: bool,
    max_background_compactions: usize,
    segment_size: u64,
    value_hints: bool,
    adopt_logs: LogAdoption,
    max_dead_fraction: f64,
    gc_memory_budget: usize,
    gc_io_budget: u64,
    scrub_io_budget: u64,
    map_log: bool,
    visible_when_durable: bool,
    space_reserve: u64,
}

/// Writes a choice by its name.
fn write_name<S: Serializer>(choice: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(choice)
}

/// Reads a choice by its name.
fn read_name<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err = crate::Error>,
    D: Deserializer<'de>,
{
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(|error: crate::Error| serde::de::Error::custom(error))
}

macro_rules! by_name {
    ($($choice:ty),*) => {$(
        impl Serialize for $choice {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                write_name(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $choice {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$choice, D::Error> {
                read_name(deserializer)
            }
        }
    )*};
}

by_name!(Profile, Compression, CompactionPreset, LogAdoption);

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(toml: &str) -> Result<Options, toml::de::Error> {
        toml::from_str(toml)
    }

    fn json_of(options: &Options) -> serde_json::Value {
        serde_json::to_value(options).unwrap()
    }

    #[test]
    fn options_come_back_as_they_were_written() {
        let options = Options {
            merge_operator: Some("stringappend:,".to_owned()),
            value_separation_min: Some(4096),
            compaction: CompactionPreset::LazyLeveled,
            compression: Compression::None,
            adopt_logs: LogAdoption::Never,
            staging_ratio: 0.5,
            write_buffer_size: 3 << 20,
            ..Options::write_heavy()
        };
        let from_json: Options = serde_json::from_value(json_of(&options)).unwrap();
        let from_toml = options_of(&toml::to_string(&options).unwrap()).unwrap();
        for read in [from_json, from_toml] {
            assert_eq!(json_of(&read), json_of(&options));
        }
    }

    #[test]
    fn every_option_but_handles_can_be_named() {
        let json = json_of(&Options {
            merge_operator: Some("uint64add".to_owned()),
            value_separation_min: Some(4096),
            ..Options::default()
        });
        let written = json.as_object().unwrap();
        for row in Options::default().explain() {
            let handles = [
                "comparator",
                "comparators",
                "filter_policy",
                "filter_policies",
                "listeners",
                "operators",
                "runtime",
                "block_cache",
                "env",
            ];
            let is_handle = handles.contains(&row.name);
            assert!(is_handle || written.contains_key(row.name), "{} is missing", row.name);
        }
    }

    #[test]
    fn what_a_file_does_not_name_is_the_profiles() {
        let read = options_of("bloom_bits = 7\nprofile = 'small_memory'\n").unwrap();
        let expected = Options { bloom_bits: 7, ..Options::small_memory() };
        assert_eq!(json_of(&read), json_of(&expected));
        assert_eq!(options_of("").unwrap().write_buffer_size, Options::default().write_buffer_size);
    }

    #[test]
    fn a_mistyped_name_or_choice_is_an_error_that_names_the_right_ones() {
        let error = options_of("bloom_bit = 7").unwrap_err().to_string();
        assert!(error.contains("unknown field `bloom_bit`"), "{error}");
        let error = options_of("compression = 'lz5'").unwrap_err().to_string();
        assert!(error.contains("expected one of none, lz4, snappy, zstd"), "{error}");
    }
}
