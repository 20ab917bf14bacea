//! Plain values of the program's option objects: each with its default and its two functions.
//!
//! A setter stores, a getter returns what was stored. What the engine makes of a value stands
//! where it is used, and in the table of `docs/rocksdb.md`.

use std::str::FromStr;

/// A number that a text gives.
pub(crate) trait Number: Copy {
    /// Returns the number of a text. `true` and `false` are 1 and 0, and `4K`, `4M`, `4G` count
    /// bytes, as in RocksDB's option texts.
    fn read(text: &str) -> Option<Self>;

    /// Returns the number as RocksDB keeps it: a flag is 0 or 1.
    fn kept(self) -> Self {
        self
    }

    /// Returns the text that stands for the number. A flag is `true` or `false`.
    fn text(self) -> String;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn read(text: &str) -> Option<Self> {
                read_integer(text).and_then(|number| <$type>::try_from(number).ok())
            }

            fn text(self) -> String {
                self.to_string()
            }
        }
    )*};
}

integers!(i8, i32, u32, i64, u64, usize);

impl Number for u8 {
    fn read(text: &str) -> Option<Self> {
        read_integer(text).and_then(|number| u8::try_from(number).ok())
    }

    fn kept(self) -> Self {
        u8::from(self != 0)
    }

    fn text(self) -> String {
        (self != 0).to_string()
    }
}

impl Number for f64 {
    fn read(text: &str) -> Option<Self> {
        f64::from_str(text).ok()
    }

    fn text(self) -> String {
        self.to_string()
    }
}

fn read_integer(text: &str) -> Option<i128> {
    match text {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..)? {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        _ => return None,
    };
    i128::from_str(digits).ok()?.checked_mul(1 << shift)
}

/// Declares the plain values of an object, and the functions that set and get them.
macro_rules! values {
    (
        $(#[$about:meta])*
        $values:ident of $object:ident {
            $($field:ident: $type:ty = $default:expr,
              $set:ident($given:ty) $(, $get:ident)?;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub(crate) struct $values {
            $(pub(crate) $field: $type,)*
        }

        impl Default for $values {
            fn default() -> Self {
                $values { $($field: $default,)* }
            }
        }

        impl $values {
            /// Sets a value by its name. Returns whether the text is a value; `None` if there is
            /// none of that name.
            #[allow(dead_code, reason = "not all objects have a text")]
            pub(crate) fn set_named(&mut self, name: &str, text: &str) -> Option<bool> {
                use $crate::options::values::Number as _;
                $(if name == stringify!($field) {
                    let Some(value) = <$type>::read(text) else { return Some(false) };
                    self.$field = value;
                    return Some(true);
                })*
                None
            }

            /// Returns the names and texts of all values.
            #[allow(dead_code, reason = "not all objects have a text")]
            pub(crate) fn texts(&self) -> Vec<(&'static str, String)> {
                use $crate::options::values::Number as _;
                vec![$((stringify!($field), self.$field.text()),)*]
            }
        }

        $(
            #[doc = concat!("Sets `", stringify!($field), "`.")]
            #[unsafe(no_mangle)]
            #[allow(clippy::unnecessary_cast, reason = "some getters have another type")]
            pub unsafe extern "C" fn $set(object: *mut $object, value: $given) {
                if let Some(object) = object.as_mut() {
                    object.values.$field = $crate::options::values::Number::kept(value as $type);
                }
            }
            $(
                #[doc = concat!("Returns `", stringify!($field), "`.")]
                #[unsafe(no_mangle)]
                pub unsafe extern "C" fn $get(object: *mut $object) -> $type {
                    object.as_ref().map_or($default, |object| object.values.$field)
                }
            )?
        )*
    };
}

pub(crate) use values;

/// Declares the functions that make and free an option object.
macro_rules! made_and_freed {
    ($($object:ident: $create:ident, $destroy:ident;)*) => {$(
        #[doc = concat!("Makes a `", stringify!($object), "` with the default values.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $create() -> *mut $object {
            $crate::boundary::handle($object::default())
        }

        #[doc = concat!("Frees a `", stringify!($object), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $destroy(object: *mut $object) {
            $crate::boundary::free(object);
        }
    )*};
}

pub(crate) use made_and_freed;
