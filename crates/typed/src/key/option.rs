//! `Option`: nothing comes before everything.

use foldb::Result;

use crate::borrowed::AsKey;
use crate::key::{Key, take, unexpected};

impl<K, Q: AsKey<K>> AsKey<Option<K>> for Option<Q> {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(key) = self {
            key.encode_key(out);
        }
    }
}

impl<K: Key> Key for Option<K> {
    fn schema() -> String {
        format!("option({})", K::schema())
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<Option<K>> {
        match take(bytes, "option")? {
            [0] => Ok(None),
            [1] => K::decode_key(bytes).map(Some),
            [other] => Err(unexpected("option", "00 or 01", other)),
        }
    }
}
