//! Floats in the order of `total_cmp`: -NaN, -inf, …, -0, 0, …, inf, NaN. Every bit is kept.

use foldb::Result;

use crate::borrowed::AsKey;
use crate::key::{Key, take};

macro_rules! floats {
    ($($type:ty, $bits:ty;)*) => {$(
        impl AsKey<$type> for $type {
            fn encode_key(&self, out: &mut Vec<u8>) {
                let (bits, sign) = (self.to_bits(), 1 << (<$bits>::BITS - 1));
                // Of negative numbers, the one with the larger bits is smaller.
                let ordered = if bits & sign == 0 { bits | sign } else { !bits };
                out.extend_from_slice(&ordered.to_be_bytes());
            }
        }

        impl Key for $type {
            fn schema() -> String {
                stringify!($type).to_owned()
            }

            fn decode_key(bytes: &mut &[u8]) -> Result<$type> {
                let ordered = <$bits>::from_be_bytes(take(bytes, stringify!($type))?);
                let sign = 1 << (<$bits>::BITS - 1);
                let bits = if ordered & sign == 0 { !ordered } else { ordered ^ sign };
                Ok(<$type>::from_bits(bits))
            }
        }
    )*};
}

floats! {
    f32, u32;
    f64, u64;
}
