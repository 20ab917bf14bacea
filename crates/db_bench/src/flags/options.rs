//! The flags that are options of the engine, as [`foldb::Options::explain`] lists them.
//!
//! An option is a flag by its own name, and by RocksDB's unless another table has that name.

use foldb::Options;
use foldb::explain::{ExplainedOption, OptionValue};

use super::accepted;
use super::honoured::HONOURED;
use super::value::FlagValue;

/// A flag that is an option of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OptionFlag {
    /// The name of the option.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Flag,
    Number,
    Fraction,
    Text,
}

impl OptionFlag {
    /// Returns the option of this name.
    pub(super) fn find(name: &str) -> Option<OptionFlag> {
        let options = Options::default().explain();
        let option = options.iter().find(|option| names(option).any(|known| known == name))?;
        let kind = match option.value {
            OptionValue::Flag(_) => Kind::Flag,
            OptionValue::Number(_) => Kind::Number,
            OptionValue::Fraction(_) => Kind::Fraction,
            _ => Kind::Text,
        };
        Some(OptionFlag { name: option.name, kind })
    }

    /// Returns whether the flag takes a value only after `=`.
    pub(super) fn boolean(self) -> bool {
        self.kind == Kind::Flag
    }

    /// Returns the engine's text of a flag's text; `Err` is the expected text.
    pub(super) fn read(self, text: &str) -> Result<String, &'static str> {
        fn read<T: FlagValue>(text: &str) -> Result<String, &'static str> {
            T::parse(text).map(|value| value.show()).ok_or(T::EXPECTED)
        }
        match self.kind {
            Kind::Flag => read::<bool>(text),
            Kind::Number => read::<u64>(text),
            Kind::Fraction => read::<f64>(text),
            Kind::Text => read::<String>(text),
        }
    }
}

/// Returns the names of an option as a flag. `--use_existing_db` sets `create_if_missing`.
pub(crate) fn names(option: &ExplainedOption) -> impl Iterator<Item = &'static str> {
    let is_flag = !option.is_handle && option.name != "create_if_missing";
    let elsewhere = option.elsewhere.iter().filter(|(engine, _)| *engine == "RocksDB");
    let all = std::iter::once(option.name).chain(elsewhere.map(|(_, name)| *name));
    all.filter(move |name| is_flag && !name.contains(' ') && !is_of_another_table(name))
}

fn is_of_another_table(name: &str) -> bool {
    HONOURED.iter().any(|flag| flag.name == name) || accepted::find(name).is_some()
}
