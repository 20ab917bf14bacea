//! Sums and extremes.

use std::marker::PhantomData;

use foldb::{Error, Result};

use crate::access::BlindWrites;
use crate::borrowed::AsKey;
use crate::key::{Key, decode};
use crate::merge::{MergeTable, Merged};

/// A count that goes up and down, over `int64add`. It wraps at 2^63.
#[derive(Clone, Copy, Debug)]
pub enum Counter {}

impl Merged for Counter {
    type Value = i64;
    type Operand = i64;

    fn operator() -> String {
        i64::OPERATOR.to_owned()
    }

    fn schema() -> String {
        "counter".to_owned()
    }

    fn encode(amount: &i64) -> Result<Vec<u8>> {
        Ok(amount.to_le_bytes().to_vec())
    }

    fn decode(value: &[u8]) -> Result<i64> {
        eight(value).map(i64::from_le_bytes)
    }
}

impl<K: Key, A: BlindWrites> MergeTable<K, Counter, A> {
    /// Adds to a count, without reading it.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn add(&self, key: impl AsKey<K>, amount: i64) -> Result<()> {
        self.merge(key, &amount)
    }
}

/// A number that an operator of the engine sums.
pub trait Summed: Key + Copy {
    #[doc(hidden)]
    const OPERATOR: &'static str;
    #[doc(hidden)]
    fn to_bytes(self) -> [u8; 8];
    #[doc(hidden)]
    fn of_bytes(bytes: [u8; 8]) -> Self;
}

macro_rules! summed {
    ($($number:ty => $operator:literal;)*) => {$(
        impl Summed for $number {
            const OPERATOR: &'static str = $operator;

            fn to_bytes(self) -> [u8; 8] {
                self.to_le_bytes()
            }

            fn of_bytes(bytes: [u8; 8]) -> $number {
                <$number>::from_le_bytes(bytes)
            }
        }
    )*};
}

summed! {
    u64 => "uint64add";
    i64 => "int64add";
    f64 => "float64add";
}

/// A sum of `u64`, `i64` or `f64`. Whole numbers wrap; fractions are added from the oldest to the
/// newest.
#[derive(Clone, Copy, Debug)]
pub struct Sum<T>(PhantomData<fn() -> T>);

impl<T: Summed> Merged for Sum<T> {
    type Value = T;
    type Operand = T;

    fn operator() -> String {
        T::OPERATOR.to_owned()
    }

    fn schema() -> String {
        format!("sum({})", T::schema())
    }

    fn encode(amount: &T) -> Result<Vec<u8>> {
        Ok(amount.to_bytes().to_vec())
    }

    fn decode(value: &[u8]) -> Result<T> {
        eight(value).map(T::of_bytes)
    }
}

impl<K: Key, T: Summed, A: BlindWrites> MergeTable<K, Sum<T>, A> {
    /// Adds to a sum, without reading it.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn add(&self, key: impl AsKey<K>, amount: T) -> Result<()> {
        self.merge(key, &amount)
    }
}

fn eight(value: &[u8]) -> Result<[u8; 8]> {
    value.try_into().map_err(|_| {
        Error::corruption(format!("sum: expected a value of 8 bytes, found {}", value.len()))
    })
}

macro_rules! extremes {
    ($($(#[$about:meta])* $name:ident $word:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(PhantomData<fn() -> T>);

        impl<T: Key> Merged for $name<T> {
            type Value = T;
            type Operand = T;

            fn operator() -> String {
                $word.to_owned()
            }

            fn schema() -> String {
                format!(concat!($word, "({})"), T::schema())
            }

            fn encode(operand: &T) -> Result<Vec<u8>> {
                Ok(crate::encode::<T>(operand))
            }

            fn decode(value: &[u8]) -> Result<T> {
                decode(value)
            }
        }
    )*};
}

extremes! {
    /// The largest value that was merged. Values are encoded as keys, so that every type of keys
    /// has a largest one.
    Max "max";
    /// The smallest value that was merged.
    Min "min";
}
