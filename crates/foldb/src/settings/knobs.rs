//! Knobs: numbers that only the benches, tests and tools of this repository change.
//!
//! An embedding program can neither name the type nor reach its fields: both need the feature
//! `internals`. A profile may set knobs.

use crate::settings::table::declared_options;

macro_rules! declare_knobs {
    (
        open { $($_open:tt)* }
        keyspace { $($_keyspace:tt)* }
        knobs { $($knobs:tt)* }
        $($_group:ident { $($_options:tt)* })*
    ) => {
        #[cfg(feature = "internals")]
        make_knobs!([pub] $($knobs)*);
        #[cfg(not(feature = "internals"))]
        make_knobs!([pub(crate)] $($knobs)*);
    };
}

macro_rules! make_knobs {
    ([$vis:vis] $(
        $(#[$about:meta])*
        $name:ident: $type:ty {
            value $default:expr $(, $unit:literal in $_range:expr)?;
            $effect:literal $($engine:ident $theirs:literal)*
        }
    )*) => {
        /// The knobs of a database. They are not part of the stable interface.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Knobs {
            $(
                $(#[$about])*
                #[doc = concat!(
                    "Default: `", stringify!($default), "`" $(, " ", $unit)?, ". ", $effect,
                    $(" ", stringify!($engine), ": `", $theirs, "`.",)*
                )]
                $vis $name: $type,
            )*
        }

        impl Default for Knobs {
            fn default() -> Knobs {
                Knobs { $($name: $default,)* }
            }
        }
    };
}

declared_options!(declare_knobs);
