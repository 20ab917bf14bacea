//! `Uuid`: its 16 bytes, which have its order.

use foldb::Result;
use uuid::Uuid;

use crate::borrowed::AsKey;
use crate::key::{Key, take};

impl AsKey<Uuid> for Uuid {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Key for Uuid {
    fn schema() -> String {
        "uuid".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<Uuid> {
        take(bytes, "uuid").map(Uuid::from_bytes)
    }
}
