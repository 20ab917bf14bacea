//! The options as a list: each with its range, its effect, and its value as text.
//!
//! The list is made of the declarations in `settings/table.rs`. [`Options::validate`],
//! [`Options::explain`], [`Options::named`] and configuration files walk it.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::options::{OptionValue, Options, Profile};
use crate::settings::memory::automatic_count;
use crate::settings::range::{
    BLOCK_CACHE_SIZE, BLOOM_BITS, COMPACTING_THREADS, COMPACTION_MEMORY_BUDGET, GIB, IO_BUDGET,
    KIB, MAX_OPEN_FILES, MEMORY_BUDGET, MIB, MOST_BYTES, MOST_MEMORY, MOST_RUNS, Range, TIB, above,
    at_least, automatic_or, between, or_off,
};
use crate::settings::table::declared_options;
use crate::settings::{CompactionPreset, Compression, Expiry, LogAdoption, MAX_LEVELS};

/// An option as it is declared.
pub(super) struct Declared {
    pub(super) name: &'static str,
    /// Whether only benches and tests set it: it has a range, but no list has it.
    pub(super) is_knob: bool,
    /// Whether each keyspace may have its own value.
    pub(super) is_of_keyspace: bool,
    /// What the value counts; empty if it counts nothing.
    pub(super) unit: &'static str,
    pub(super) range: Range,
    /// The effect of more and of less, or of another choice.
    pub(super) effect: &'static str,
    /// Other engines, each with its name for the option.
    pub(super) elsewhere: &'static [(&'static str, &'static str)],
    /// Returns the value as it is set.
    pub(super) value: fn(&Options) -> OptionValue,
    /// Returns the number that an automatic option stands for; `None` if a number is set.
    pub(super) derived: fn(&Options) -> Option<OptionValue>,
    /// Sets the value from text. A handle has none.
    set: Option<SetFromText>,
}

/// Sets an option from text; `Err` says what the text must be.
type SetFromText = fn(&mut Options, &str) -> Result<(), String>;

macro_rules! declared {
    // What all options have.
    (
        $name:ident [$($unit:literal in $range:expr)?]
        $effect:literal $($engine:ident $theirs:literal)*
    ) => {
        Declared {
            name: stringify!($name),
            is_knob: false,
            is_of_keyspace: false,
            unit: concat!($($unit)?),
            range: [$($range,)? Range::Any][0],
            effect: $effect,
            elsewhere: &[$((stringify!($engine), $theirs)),*],
            value: |_| OptionValue::Text(None),
            derived: |_| None,
            set: None,
        }
    };
    (
        keyspace $name:ident: $type:ty,
        value $_default:expr $(, $unit:literal in $range:expr)?; $($rest:tt)*
    ) => {
        Declared {
            is_of_keyspace: true,
            value: |options| options.default.$name().value(),
            set: Some(|options, text| {
                options.default.$name = Some(<$type as OptionType>::read(text)?);
                Ok(())
            }),
            ..declared!($name [$($unit in $range)?] $($rest)*)
        }
    };
    (
        keyspace $name:ident: $type:ty,
        none $(, $unit:literal in $range:expr)?; $($rest:tt)*
    ) => {
        Declared {
            is_of_keyspace: true,
            value: |options| options.default.$name.value(),
            set: Some(|options, text| {
                options.default.$name = <Option<$type> as OptionType>::read(text)?;
                Ok(())
            }),
            ..declared!($name [$($unit in $range)?] $($rest)*)
        }
    };
    (
        keyspace $name:ident: $_type:ty,
        handle $_default:expr, |$own:ident| $shown:expr; $($rest:tt)*
    ) => {
        Declared {
            is_of_keyspace: true,
            value: |options| {
                let $own = &options.default;
                OptionValue::Text($shown)
            },
            ..declared!($name [] $($rest)*)
        }
    };
    (
        knobs $name:ident: $type:ty,
        value $_default:expr $(, $unit:literal in $range:expr)?; $($rest:tt)*
    ) => {
        Declared {
            is_knob: true,
            value: |options| options.knobs.$name.value(),
            set: Some(|options, text| {
                options.knobs.$name = <$type as OptionType>::read(text)?;
                Ok(())
            }),
            ..declared!($name [$($unit in $range)?] $($rest)*)
        }
    };
    (
        $_group:ident $name:ident: $type:ty,
        value $_default:expr $(, $unit:literal in $range:expr)?; $($rest:tt)*
    ) => {
        Declared {
            value: |options| options.$name.value(),
            set: Some(|options, text| {
                options.$name = <$type as OptionType>::read(text)?;
                Ok(())
            }),
            ..declared!($name [$($unit in $range)?] $($rest)*)
        }
    };
    (
        $group:ident $name:ident: $type:ty,
        automatic $_words:literal |$own:ident| $derived:expr, $($rest:tt)*
    ) => {
        Declared {
            derived: |$own| ($own.$name == 0).then(|| ($derived).value()),
            ..declared!($group $name: $type, value 0, $($rest)*)
        }
    };
    (
        $_group:ident $name:ident: $_type:ty,
        handle $_default:expr, |$own:ident| $shown:expr; $($rest:tt)*
    ) => {
        Declared { value: |$own| OptionValue::Text($shown), ..declared!($name [] $($rest)*) }
    };
}

macro_rules! declare_list {
    ($($group:ident {
        $($(#[$_about:meta])* $name:ident: $type:ty { $($spec:tt)* })*
    })*) => {
        /// Every option, in the order of the declarations.
        pub(super) static DECLARED: &[Declared] = &[
            $($(declared!($group $name: $type, $($spec)*),)*)*
        ];
    };
}

declared_options!(declare_list);

/// Returns the options that users see.
pub(super) fn listed() -> impl Iterator<Item = &'static Declared> {
    DECLARED.iter().filter(|option| !option.is_knob)
}

impl Declared {
    /// Returns whether the option is a handle, which has no text.
    pub(super) fn is_handle(&self) -> bool {
        self.set.is_none()
    }

    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub(super) fn check(&self, options: &Options) -> Result<()> {
        if self.is_handle() {
            // To show it calls the caller's code, which may panic.
            return Ok(());
        }
        match (self.value)(options) {
            OptionValue::Number(number) => self.range.check(self.name, number),
            OptionValue::Fraction(number) => self.range.check_fraction(self.name, number),
            OptionValue::Flag(_) | OptionValue::Text(_) => Ok(()),
        }
    }

    /// Sets the option from text.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is no value of the option, or an option that is a handle.
    pub(super) fn set(&self, options: &mut Options, text: &str) -> Result<()> {
        let refused = |why: String| {
            let text = text.escape_debug();
            Error::invalid_argument(format!("option {}={text}: {why}", self.name))
        };
        let set = self.set.ok_or_else(|| refused("the program sets it, not a text".to_owned()))?;
        set(options, text).map_err(refused)
    }
}

impl Options {
    /// Returns the options of these names and values, for example
    /// `[("profile", "write_heavy"), ("block_cache_size", "67108864")]`. Others are those of the
    /// profile, in whatever order the names come. [`Options::explain`] has all names. Choices are
    /// written by their names, such as `lz4`; flags as `true` or `false`; no value as `none`.
    /// Operators, comparators, listeners and other handles cannot be named.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or a value of another type. The open checks ranges, as
    /// [`Options::validate`] does.
    ///
    /// # Example
    /// ```
    /// use foldb::Options;
    ///
    /// let options = Options::named([("bloom_bits", "12"), ("profile", "small_memory")])?;
    /// assert_eq!(options.default.bloom_bits, Some(12));
    /// assert_eq!(options.write_buffer_size, Options::small_memory().write_buffer_size);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn named<N: AsRef<str>, V: AsRef<str>>(
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Options> {
        let values: Vec<_> = values.into_iter().collect();
        let mut start = Options::default();
        for (name, value) in values.iter().filter(|(name, _)| name.as_ref() == "profile") {
            find(name.as_ref())?.set(&mut start, value.as_ref())?;
        }
        let mut options = Options::profile(start.profile);
        for (name, value) in &values {
            find(name.as_ref())?.set(&mut options, value.as_ref())?;
        }
        Ok(options)
    }
}

/// # Errors
/// `InvalidArgument` for a name that no option has.
fn find(name: &str) -> Result<&'static Declared> {
    listed().find(|option| option.name == name).ok_or_else(|| {
        let name = name.escape_debug();
        Error::invalid_argument(format!(
            "no option is called '{name}': Options::explain and `foldb options` list all"
        ))
    })
}

/// # Errors
/// `InvalidArgument` for a name that no option of keyspaces has.
pub(super) fn find_of_keyspace(name: &str) -> Result<&'static Declared> {
    let own = || listed().filter(|option| option.is_of_keyspace);
    own().find(|option| option.name == name).ok_or_else(|| {
        let known = list(own().map(|option| option.name)).unwrap_or_default();
        let name = name.escape_debug();
        Error::invalid_argument(format!(
            "no option of a keyspace is called '{name}': it has {known}"
        ))
    })
}

/// A type that options have.
trait OptionType: Sized {
    fn value(&self) -> OptionValue;

    /// # Errors
    /// What the text must be.
    fn read(text: &str) -> Result<Self, String>;
}

macro_rules! plain_types {
    ($($type:ty: $value:ident as $wide:ty, $expected:literal;)*) => {$(
        impl OptionType for $type {
            fn value(&self) -> OptionValue {
                OptionValue::$value(*self as $wide)
            }

            fn read(text: &str) -> Result<$type, String> {
                text.parse().map_err(|_| concat!("expected ", $expected).to_owned())
            }
        }
    )*};
}

plain_types! {
    bool: Flag as bool, "true or false";
    usize: Number as u64, "a whole number";
    u64: Number as u64, "a whole number";
    u32: Number as u64, "a whole number";
    f64: Fraction as f64, "a number";
}

/// `none` is no value, unless the type has a value of that name: an operator may be called so.
impl<T: OptionType> OptionType for Option<T> {
    fn value(&self) -> OptionValue {
        self.as_ref().map_or(OptionValue::Text(None), OptionType::value)
    }

    fn read(text: &str) -> Result<Self, String> {
        match T::read(text) {
            Err(_) if text == "none" => Ok(None),
            read => read.map(Some),
        }
    }
}

impl OptionType for String {
    fn value(&self) -> OptionValue {
        OptionValue::Text(Some(self.clone()))
    }

    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

macro_rules! choices {
    ($($type:ty),*) => {$(
        impl OptionType for $type {
            fn value(&self) -> OptionValue {
                OptionValue::Text(Some(self.to_string()))
            }

            fn read(text: &str) -> Result<$type, String> {
                <$type>::from_str(text).map_err(|error| error.to_string())
            }
        }
    )*};
}

choices!(Profile, Compression, CompactionPreset, LogAdoption, Expiry);

/// Returns names as one text.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    names.map(str::to_owned).reduce(|all, name| all + ", " + &name)
}
