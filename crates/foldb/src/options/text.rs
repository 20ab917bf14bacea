//! Options in configuration files: the cargo feature `serde`.
//!
//! A file names the options that differ from its profile, or from the defaults without one. Handles
//! (operators, comparators, filter policies, listeners, the runtime, the block cache, the
//! environment) are no text; the program sets them after reading. Choices are written by their
//! names, as the shell writes them.
//!
//! Invariant: options come back as they were written, handles aside. An unknown name is an error,
//! so a mistyped option is not ignored.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::options::declared::listed;
use crate::options::{OptionValue, Options};

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for option in listed().filter(|option| !option.is_handle()) {
            match (option.value)(self) {
                OptionValue::Flag(on) => map.serialize_entry(option.name, &on)?,
                OptionValue::Number(n) => map.serialize_entry(option.name, &n)?,
                OptionValue::Fraction(x) => map.serialize_entry(option.name, &x)?,
                OptionValue::Text(Some(text)) => map.serialize_entry(option.name, &text)?,
                OptionValue::Text(None) => {}
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Options, D::Error> {
        deserializer.deserialize_map(NamedValues)
    }
}

/// Reads options from names and values.
struct NamedValues;

impl<'de> Visitor<'de> for NamedValues {
    type Value = Options;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("options by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut values = Vec::new();
        while let Some((name, Text(value))) = map.next_entry::<String, Text>()? {
            values.push((name, value));
        }
        Options::named(values).map_err(A::Error::custom)
    }
}

/// A value of a file as text.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_any(AsText).map(Text)
    }
}

/// Reads a flag, a number or a text as text.
struct AsText;

macro_rules! as_text {
    ($($visit:ident: $type:ty;)*) => {
        impl Visitor<'_> for AsText {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, a number or a text")
            }

            $(fn $visit<E>(self, value: $type) -> Result<String, E> {
                Ok(value.to_string())
            })*
        }
    };
}

as_text! {
    visit_bool: bool;
    visit_i64: i64;
    visit_u64: u64;
    visit_f64: f64;
    visit_str: &str;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::KeyspaceOptions;
    use crate::settings::{CompactionPreset, Compression, LogAdoption};

    fn options_of(toml: &str) -> Result<Options, toml::de::Error> {
        toml::from_str(toml)
    }

    fn json_of(options: &Options) -> serde_json::Value {
        serde_json::to_value(options).unwrap()
    }

    #[test]
    fn options_come_back_as_they_were_written() {
        let options = Options {
            default: KeyspaceOptions {
                merge_operator: Some("stringappend:,".to_owned()),
                value_separation_min: Some(4096),
                compaction: Some(CompactionPreset::LazyLeveled),
                compression: Some(Compression::None),
                ..KeyspaceOptions::default()
            },
            adopt_logs: LogAdoption::Never,
            max_dead_fraction: 0.5,
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
    fn what_a_file_does_not_name_is_the_profiles() {
        let read = options_of("bloom_bits = 7\nprofile = 'small_memory'\n").unwrap();
        let expected = Options {
            default: KeyspaceOptions { bloom_bits: Some(7), ..KeyspaceOptions::default() },
            ..Options::small_memory()
        };
        assert_eq!(json_of(&read), json_of(&expected));
        assert_eq!(options_of("").unwrap().write_buffer_size, Options::default().write_buffer_size);
    }

    #[test]
    fn a_mistyped_name_or_choice_is_an_error_that_names_the_right_ones() {
        let error = options_of("bloom_bit = 7").unwrap_err().to_string();
        assert!(error.contains("no option is called 'bloom_bit'"), "{error}");
        let error = options_of("compression = 'lz5'").unwrap_err().to_string();
        assert!(error.contains("expected one of none, lz4, snappy, zstd"), "{error}");
    }
}
