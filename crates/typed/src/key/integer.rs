//! Integers, `bool` and `char`.

use foldb::{Error, Result};

use crate::borrowed::AsKey;
use crate::key::{Key, take, unexpected};

macro_rules! integers {
    ($($type:ty, $flipped:expr;)*) => {$(
        impl AsKey<$type> for $type {
            #[inline]
            fn encode_key(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&(*self ^ $flipped).to_be_bytes());
            }
        }

        impl Key for $type {
            fn schema() -> String {
                stringify!($type).to_owned()
            }

            #[inline]
            fn decode_key(bytes: &mut &[u8]) -> Result<$type> {
                Ok(<$type>::from_be_bytes(take(bytes, stringify!($type))?) ^ $flipped)
            }
        }
    )*};
}

// The smallest value of a signed type is its sign bit.
integers! {
    u8, 0; u16, 0; u32, 0; u64, 0; u128, 0;
    i8, i8::MIN; i16, i16::MIN; i32, i32::MIN; i64, i64::MIN; i128, i128::MIN;
}

impl AsKey<bool> for bool {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Key for bool {
    fn schema() -> String {
        "bool".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<bool> {
        match take(bytes, "bool")? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(unexpected("bool", "00 or 01", other)),
        }
    }
}

impl AsKey<char> for char {
    fn encode_key(&self, out: &mut Vec<u8>) {
        u32::from(*self).encode_key(out);
    }
}

impl Key for char {
    fn schema() -> String {
        "char".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<char> {
        let number = u32::from_be_bytes(take(bytes, "char")?);
        char::from_u32(number).ok_or_else(|| {
            Error::corruption(format!("key of type char: expected a character, found {number:#x}"))
        })
    }
}
