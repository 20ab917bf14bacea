//! Tuples: their fields, one after the other. Their fronts are prefixes and ranges.

use foldb::Result;

use crate::borrowed::AsKey;
use crate::key::Key;
use crate::range::{AsPrefix, AsRange, EncodedRange};

macro_rules! tuples {
    ($(($($key:ident $asked:ident $index:tt),+))*) => {$(
        impl<$($key, $asked: AsKey<$key>),+> AsKey<($($key,)+)> for ($($asked,)+) {
            fn encode_key(&self, out: &mut Vec<u8>) {
                $(self.$index.encode_key(out);)+
            }
        }

        impl<$($key: Key),+> Key for ($($key,)+) {
            fn schema() -> String {
                format!("({})", [$($key::schema()),+].join(","))
            }

            fn decode_key(bytes: &mut &[u8]) -> Result<Self> {
                Ok(($($key::decode_key(bytes)?,)+))
            }
        }
    )*};
}

tuples! {
    (A Qa 0)
    (A Qa 0, B Qb 1)
    (A Qa 0, B Qb 1, C Qc 2)
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3)
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4)
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5)
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5, G Qg 6)
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5, G Qg 6, H Qh 7)
}

/// Makes prefixes and ranges of tuples: the first fields that are given, the field after them, and
/// each list of fields that may follow it.
macro_rules! fronts {
    ($(($($key:ident $asked:ident $index:tt),+; $next:ident $at:tt; $([$($after:ident),*])+))*) => {
        $(fronts!(@each ($($key $asked $index),+) $next $at $([$($after),*])+);)*
    };
    (@each $given:tt $next:ident $at:tt $($after:tt)+) => {
        $(fronts!(@one $given $next $at $after);)+
    };
    (@one ($($key:ident $asked:ident $index:tt),+) $next:ident $at:tt [$($after:ident),*]) => {
        impl<$($key, $asked: AsKey<$key>,)+ $next, $($after),*>
            AsPrefix<($($key,)+ $next, $($after),*)> for ($($asked,)+)
        {
            fn encode_prefix(&self, out: &mut Vec<u8>) {
                $(self.$index.encode_key(out);)+
            }
        }

        impl<$($key, $asked: AsKey<$key>,)+ $next, Range: AsRange<$next>, $($after),*>
            AsRange<($($key,)+ $next, $($after),*)> for ($($asked,)+ Range)
        {
            fn encode_range(&self, before: &[u8]) -> EncodedRange {
                let mut before = before.to_vec();
                $(self.$index.encode_key(&mut before);)+
                self.$at.encode_range(&before)
            }
        }
    };
}

fronts! {
    (A Qa 0; B 1; [] [C] [C, D] [C, D, E] [C, D, E, F] [C, D, E, F, G] [C, D, E, F, G, H])
    (A Qa 0, B Qb 1; C 2; [] [D] [D, E] [D, E, F] [D, E, F, G] [D, E, F, G, H])
    (A Qa 0, B Qb 1, C Qc 2; D 3; [] [E] [E, F] [E, F, G] [E, F, G, H])
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3; E 4; [] [F] [F, G] [F, G, H])
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4; F 5; [] [G] [G, H])
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5; G 6; [] [H])
    (A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5, G Qg 6; H 7; [])
}
