//! Options: plain data, each with its unit, its default, and the effect of more and of less.
//!
//! A database is opened with [`Options`]. [`WriteOptions`] and [`ReadOptions`](crate::ReadOptions)
//! go with one call. A [`Profile`] is a set of options to start from. [`Options::explain`] returns
//! the options in effect and where each value comes from.

mod declared;
mod explain;
mod keyspace;
mod memory;
mod profile;
mod resolve;
#[cfg(test)]
mod tests;
#[cfg(feature = "serde")]
mod text;
mod validate;
mod write;

use std::sync::Arc;

use foldb_env::Env;

use crate::events::EventListener;
use crate::fold::MergeOperator;
use crate::key::{BytewiseComparator, Comparator, FilterPolicy};
use crate::rewriting::filter::CompactionFilterFactory;
use crate::runtime::Runtime;
use crate::settings::table::declared_options;
use crate::settings::{CompactionPreset, Compression, Expiry, Knobs, LogAdoption};
use crate::table::CustomCache;

pub use explain::{ExplainedOption, OptionSource, OptionValue};
pub use profile::Profile;
pub(crate) use validate::{check_comparator, check_operator};
pub use write::WriteOptions;

/// Returns the documentation of an option's default and effect, and its names elsewhere.
macro_rules! documentation {
    (
        value $default:expr $(, $unit:literal in $_range:expr)?;
        $effect:literal $($engine:ident $name:literal)*
    ) => {
        concat!(
            "Default: `", stringify!($default), "`" $(, " ", $unit)?, ". ", $effect,
            $(" ", stringify!($engine), ": `", $name, "`.",)*
        )
    };
    (
        automatic $words:literal |$_own:ident| $_derived:expr, $_unit:literal in $_range:expr;
        $effect:literal $($engine:ident $name:literal)*
    ) => {
        concat!(
            "Default: 0, which means ", $words, ". ", $effect,
            $(" ", stringify!($engine), ": `", $name, "`.",)*
        )
    };
    (
        none $(, $unit:literal in $_range:expr)?;
        $effect:literal $($engine:ident $name:literal)*
    ) => {
        concat!("Default: none. ", $effect, $(" ", stringify!($engine), ": `", $name, "`.",)*)
    };
    (handle none, |$_own:ident| $_shown:expr; $($rest:tt)*) => {
        documentation!(none; $($rest)*)
    };
    (handle $default:expr, |$_own:ident| $_shown:expr; $($rest:tt)*) => {
        documentation!(value $default; $($rest)*)
    };
}

/// Returns the default of an option.
macro_rules! default_value {
    (value $default:expr; $($_rest:tt)*) => {
        $default
    };
    (value $default:expr, $($_rest:tt)*) => {
        $default
    };
    (automatic $($_rest:tt)*) => {
        0
    };
    (handle $default:expr, $($_rest:tt)*) => {
        $default
    };
}

/// Makes a method that returns an option of a keyspace or its default, if it has a default.
macro_rules! value_or_default {
    ($name:ident: $_type:ty, none $($_rest:tt)*) => {};
    ($name:ident: $_type:ty, handle none $($_rest:tt)*) => {};
    ($name:ident: $type:ty, $_kind:ident $default:expr; $($_rest:tt)*) => {
        value_or_default!($name: $type, value $default,);
    };
    ($name:ident: $type:ty, $_kind:ident $default:expr, $($_rest:tt)*) => {
        #[doc = concat!("Returns `", stringify!($name), "`, or `", stringify!($default), "`.")]
        pub fn $name(&self) -> $type {
            self.$name.as_ref().map_or_else(|| $default, Clone::clone)
        }
    };
}

macro_rules! declare_options {
    (
        open { $($(#[$about_open:meta])* $open:ident: $open_type:ty { $($open_spec:tt)* })* }
        keyspace { $($(#[$about_own:meta])* $own:ident: $own_type:ty { $($own_spec:tt)* })* }
        knobs { $($knobs:tt)* }
        $($_group:ident { $($(#[$about:meta])* $name:ident: $type:ty { $($spec:tt)* })* })*
    ) => {
        /// The options with which a database is opened. They hold until it is closed.
        ///
        /// Later versions add fields. End a literal with `..Options::default()`, as below, and it
        /// goes on compiling. With the cargo feature `serde`, options are read from and written to
        /// TOML, JSON and the like. A file names a `profile` and what differs from it; the program
        /// then adds the handles: operators, comparators, filter policies, listeners, runtime and
        /// environment. [`Options::named`] does the same with names and texts.
        ///
        /// # Example
        /// ```
        /// let options = foldb::Options {
        ///     create_if_missing: true,
        ///     default: foldb::KeyspaceOptions::with_operator("uint64add"),
        ///     write_buffer_size: 16 << 20,
        ///     ..foldb::Options::default()
        /// };
        /// options.validate()?;
        /// # Ok::<(), foldb::Error>(())
        /// ```
        #[derive(Clone, Debug)]
        pub struct Options {
            $(
                $(#[$about_open])*
                #[doc = documentation!($($open_spec)*)]
                pub $open: $open_type,
            )*
            /// The options of the keyspace `default`. A new keyspace takes them in place of those
            /// that it is not given. A literal also replaces those of a profile, unless it ends
            /// with `..Options::small_memory().default`, for example.
            pub default: KeyspaceOptions,
            /// What only the benches and tests of this repository change.
            #[cfg_attr(not(feature = "internals"), doc(hidden))]
            pub knobs: Knobs,
            $($(
                $(#[$about])*
                #[doc = documentation!($($spec)*)]
                pub $name: $type,
            )*)*
        }

        impl Default for Options {
            fn default() -> Self {
                Options {
                    $($open: default_value!($($open_spec)*),)*
                    default: KeyspaceOptions::default(),
                    knobs: Knobs::default(),
                    $($($name: default_value!($($spec)*),)*)*
                }
            }
        }

        /// The options of a keyspace. `None` takes the value of the keyspace `default`, and there
        /// the default that each option names. The database stores the options of a new keyspace,
        /// so it is opened as it was created. The keyspace `default` follows the field `default`
        /// of the [`Options`] of each open.
        ///
        /// # Example
        /// ```
        /// # let dir = tempfile::tempdir().unwrap();
        /// # let db = foldb::Db::create(dir.path().join("db"))?;
        /// use foldb::{Compression, KeyspaceOptions};
        ///
        /// let options = KeyspaceOptions {
        ///     compression: Some(Compression::None),
        ///     ..KeyspaceOptions::with_operator("uint64add")
        /// };
        /// let counters = db.create_keyspace("counters", options)?;
        /// counters.merge("visits", 1u64.to_le_bytes())?;
        /// # Ok::<(), foldb::Error>(())
        /// ```
        #[derive(Clone, Debug, Default)]
        pub struct KeyspaceOptions {
            $(
                $(#[$about_own])*
                #[doc = documentation!($($own_spec)*)]
                pub $own: Option<$own_type>,
            )*
        }

        impl KeyspaceOptions {
            $(value_or_default!($own: $own_type, $($own_spec)*);)*

            /// Returns these options, with others in place of those that are `None`.
            #[must_use]
            pub fn or(self, others: &KeyspaceOptions) -> KeyspaceOptions {
                KeyspaceOptions { $($own: self.$own.or_else(|| others.$own.clone()),)* }
            }
        }
    };
}

declared_options!(declare_options);

impl Options {
    /// Registers a merge operator and makes it the operator of merges in the keyspace `default`
    /// that name none. A name without a parameter means the first registered operator of that name.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::operators::merge_fn;
    /// use foldb::{Db, Options};
    ///
    /// let last = merge_fn("app.last", |_, operands| operands.last().map(|last| last.to_vec()));
    /// let options = Options { create_if_missing: true, ..Options::default() }.operator(last);
    /// assert_eq!(options.default.merge_operator.as_deref(), Some("app.last"));
    /// let db = Db::open(dir.path(), options)?;
    /// db.merge("key", "1")?;
    /// db.merge("key", "2")?;
    /// assert_eq!(db.get("key")?.unwrap(), b"2");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    #[must_use]
    pub fn operator(mut self, operator: impl MergeOperator + 'static) -> Options {
        self.default.merge_operator = Some(operator.name().to_owned());
        self.operators.push(Arc::new(operator));
        self
    }
}
