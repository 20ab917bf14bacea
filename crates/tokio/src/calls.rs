//! The calls for keys of one keyspace: the default one through [`AsyncDb`], any through
//! [`AsyncKeyspace`].

use foldb::{AsKeyRange, Keyspace, Result, Value};

use crate::database::AsyncDb;
use crate::entries::Entries;

/// A keyspace whose calls wait without the executor's thread. Made by [`AsyncDb::keyspace`]. It
/// writes with the options of the handle that made it.
#[derive(Clone, Debug)]
pub struct AsyncKeyspace {
    pub(crate) keyspace: Keyspace,
    pub(crate) db: AsyncDb,
}

impl AsyncKeyspace {
    /// Returns the handle for blocking calls.
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    fn own(&self) -> (&AsyncDb, Keyspace) {
        (&self.db, self.keyspace.clone())
    }
}

impl AsyncDb {
    fn own(&self) -> (&AsyncDb, Keyspace) {
        (self, self.db.default_keyspace().clone())
    }
}

macro_rules! calls {
    ($handle:ty) => {
        impl $handle {
            /// Returns the value of a key: see [`Keyspace::get`].
            ///
            /// # Errors
            /// As [`Keyspace::get`].
            pub async fn get(&self, key: impl Into<Vec<u8>>) -> Result<Option<Value>> {
                let ((db, own), key) = (self.own(), key.into());
                db.pool.run(move || own.get(key)).await
            }

            /// Returns the values of many keys, in their order: see [`Keyspace::multi_get`]. One
            /// blocking task reads all of them, so it costs less than as many single calls.
            ///
            /// # Errors
            /// The first error of a key, as [`Keyspace::get`].
            pub async fn multi_get<K>(&self, keys: Vec<K>) -> Result<Vec<Option<Value>>>
            where
                K: AsRef<[u8]> + Send + 'static,
            {
                let (db, own) = self.own();
                db.pool.run(move || own.multi_get(keys)?.into_iter().collect()).await
            }

            /// Returns whether a key has a value: see [`Keyspace::contains_key`].
            ///
            /// # Errors
            /// As [`Keyspace::contains_key`].
            pub async fn contains_key(&self, key: impl Into<Vec<u8>>) -> Result<bool> {
                let ((db, own), key) = (self.own(), key.into());
                db.pool.run(move || own.contains_key(key)).await
            }

            /// Sets the value of a key: see [`Keyspace::put`].
            ///
            /// # Errors
            /// As [`Keyspace::put`].
            pub async fn put(
                &self,
                key: impl Into<Vec<u8>>,
                value: impl Into<Vec<u8>>,
            ) -> Result<()> {
                let ((db, own), key, value) = (self.own(), key.into(), value.into());
                let writing = db.writing;
                db.pool.run(move || own.with(&writing).put(key, value)).await
            }

            /// Merges an operand into a key: see [`Keyspace::merge`].
            ///
            /// # Errors
            /// As [`Keyspace::merge`].
            pub async fn merge(
                &self,
                key: impl Into<Vec<u8>>,
                operand: impl Into<Vec<u8>>,
            ) -> Result<()> {
                let ((db, own), key, operand) = (self.own(), key.into(), operand.into());
                let writing = db.writing;
                db.pool.run(move || own.with(&writing).merge(key, operand)).await
            }

            /// Deletes a key: see [`Keyspace::delete`].
            ///
            /// # Errors
            /// As [`Keyspace::delete`].
            pub async fn delete(&self, key: impl Into<Vec<u8>>) -> Result<()> {
                let ((db, own), key) = (self.own(), key.into());
                let writing = db.writing;
                db.pool.run(move || own.with(&writing).delete(key)).await
            }

            /// Deletes all keys of a range: see [`Keyspace::delete_range`].
            ///
            /// # Errors
            /// As [`Keyspace::delete_range`].
            pub async fn delete_range(
                &self,
                range: impl AsKeyRange + Send + 'static,
            ) -> Result<()> {
                let (db, own) = self.own();
                let writing = db.writing;
                db.pool.run(move || own.with(&writing).delete_range(range)).await
            }

            /// Returns the entries of a range as they are at the first poll: see
            /// [`Keyspace::range`].
            pub fn range(&self, range: impl AsKeyRange + Send + 'static) -> Entries {
                let (db, own) = self.own();
                Entries::new(db.pool.clone(), move || own.range(range))
            }

            /// Returns the entries whose keys begin with these bytes, as they are at the first
            /// poll: see [`Keyspace::prefix`].
            pub fn prefix(&self, prefix: impl Into<Vec<u8>>) -> Entries {
                let ((db, own), prefix) = (self.own(), prefix.into());
                Entries::new(db.pool.clone(), move || own.prefix(prefix))
            }
        }
    };
}

calls!(AsyncDb);
calls!(AsyncKeyspace);
