//! Writes of a batch that name a keyspace by its handle.

use crate::db::batch::WriteBatch;
use crate::db::handle::keyspace::Keyspace;
use crate::fold::Operator;
use crate::key::{AsKeyRange, Kind, NO_OPERATOR};
use crate::operation::{check_range, encode_range};

impl WriteBatch {
    /// Sets a key of a keyspace.
    pub fn put_in(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> &mut Self {
        let keyspace = keyspace.state();
        self.add_in(keyspace, (Kind::Put, NO_OPERATOR), key.as_ref(), value.as_ref())
    }

    /// Deletes a key of a keyspace. A missing key is no error.
    pub fn delete_in(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> &mut Self {
        self.add_in(keyspace.state(), (Kind::Delete, NO_OPERATOR), key.as_ref(), &[])
    }

    /// Deletes all keys of a range of a keyspace; see [`crate::Db::delete_range`].
    pub fn delete_range_in(&mut self, keyspace: &Keyspace, range: impl AsKeyRange) -> &mut Self {
        let mut value = Vec::new();
        let range = range.key_bounds();
        let start = encode_range(range, &mut value);
        if let Err(error) = check_range(&*keyspace.state().comparator, range) {
            self.note_mistake(error);
        }
        self.add_range_delete(keyspace.state(), start, &value)
    }

    /// Merges an operand with the default operator of a keyspace.
    pub fn merge_in(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        match keyspace.state().default_operator() {
            Ok(operator) => self.merge_with_in(operator, keyspace, key, operand),
            Err(error) => {
                self.note_mistake(error);
                self
            }
        }
    }

    /// Merges an operand into a key of a keyspace; see [`WriteBatch::merge_with`].
    pub fn merge_with_in(
        &mut self,
        operator: &Operator,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        self.check_operand(operator, operand.as_ref());
        match keyspace.core().stored_operator(keyspace.state(), operator) {
            Ok(id) => {
                let merge = (Kind::Merge, id);
                self.add_in(keyspace.state(), merge, key.as_ref(), operand.as_ref())
            }
            Err(error) => {
                self.note_mistake(error);
                self
            }
        }
    }
}
