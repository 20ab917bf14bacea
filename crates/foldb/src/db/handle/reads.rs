//! Reads of a keyspace, with options and without: the [`Reader`] of each handle.
//!
//! The bodies are those of [`With`]. A handle's own reads are the same calls with the default
//! options. [`inherent_reads!`] repeats the methods of the trait on the handle itself, so that a
//! program that names the handle's type needs no import of the trait.

use std::time::SystemTime;

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::keyspace_reader::KeyspaceReader;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::handle::read_options::ReadOptions;
use crate::db::handle::reader::Reader;
use crate::db::handle::snapshot::Snapshot;
use crate::db::handle::with::{ReadsKeyspace, With};
use crate::db::read::operands::Operands;
use crate::db::read::settings::ReadSettings;
use crate::error::Result;
use crate::iterator::{Bounds, Iter};
use crate::key::{AsKeyRange, Comparator};
use crate::value::Value;

/// Gives a handle that is a [`Reader`] the trait's methods as its own.
macro_rules! inherent_reads {
    ($handle:ty $(, $own:ident: $reads:path)?) => {
        const _: () = {
            use std::time::SystemTime;

            use $crate::db::handle::reader::Reader;
            use $crate::db::read::operands::Operands;
            use $crate::error::Result;
            use $crate::iterator::Iter;
            use $crate::key::{AsKeyRange, Comparator};
            use $crate::value::Value;

            impl$(<$own: $reads>)? $handle {
                /// Reads a key: see [`Reader::get`](crate::Reader::get).
                ///
                /// # Errors
                /// As [`Reader::get`](crate::Reader::get).
                #[inline]
                pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
                    Reader::get(self, key)
                }

                /// Reads several keys at one moment: see
                /// [`Reader::multi_get`](crate::Reader::multi_get).
                ///
                /// # Errors
                /// As [`Reader::multi_get`](crate::Reader::multi_get).
                pub fn multi_get<K: AsRef<[u8]>>(
                    &self,
                    keys: impl IntoIterator<Item = K>,
                ) -> Result<Vec<Result<Option<Value>>>> {
                    Reader::multi_get(self, keys)
                }

                /// Returns an iterator over the entries whose keys lie in a range: see
                /// [`Reader::range`](crate::Reader::range).
                ///
                /// # Errors
                /// As [`Reader::range`](crate::Reader::range).
                pub fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
                    Reader::range(self, range)
                }

                /// Reads the base and the operands of a key without folding them: see
                /// [`Reader::get_operands`](crate::Reader::get_operands).
                ///
                /// # Errors
                /// As [`Reader::get_operands`](crate::Reader::get_operands).
                pub fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
                    Reader::get_operands(self, key)
                }

                /// Returns when a key expires: see
                /// [`Reader::expires_at`](crate::Reader::expires_at).
                ///
                /// # Errors
                /// As [`Reader::get`](crate::Reader::get).
                pub fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
                    Reader::expires_at(self, key)
                }

                /// Returns the order of the keys.
                pub fn comparator(&self) -> &dyn Comparator {
                    Reader::comparator(self)
                }

                /// Returns whether a key has a value: see
                /// [`Reader::contains_key`](crate::Reader::contains_key).
                ///
                /// # Errors
                /// As [`Reader::contains_key`](crate::Reader::contains_key).
                pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
                    Reader::contains_key(self, key)
                }

                /// Returns an iterator over all entries: see [`Reader::iter`](crate::Reader::iter).
                ///
                /// # Errors
                /// As [`Reader::iter`](crate::Reader::iter).
                pub fn iter(&self) -> Result<Iter> {
                    Reader::iter(self)
                }

                /// Returns an iterator over the entries whose keys begin with `prefix`: see
                /// [`Reader::prefix`](crate::Reader::prefix).
                ///
                /// # Errors
                /// As [`Reader::prefix`](crate::Reader::prefix).
                pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter> {
                    Reader::prefix(self, prefix)
                }

                /// Returns the entry with the smallest key: see
                /// [`Reader::first`](crate::Reader::first).
                ///
                /// # Errors
                /// As [`Reader::first`](crate::Reader::first).
                pub fn first(&self) -> Result<Option<(Vec<u8>, Value)>> {
                    Reader::first(self)
                }

                /// Returns the entry with the largest key: see
                /// [`Reader::last`](crate::Reader::last).
                ///
                /// # Errors
                /// As [`Reader::last`](crate::Reader::last).
                pub fn last(&self) -> Result<Option<(Vec<u8>, Value)>> {
                    Reader::last(self)
                }

                /// Returns whether there is no entry: see
                /// [`Reader::is_empty`](crate::Reader::is_empty).
                ///
                /// # Errors
                /// As [`Reader::is_empty`](crate::Reader::is_empty).
                pub fn is_empty(&self) -> Result<bool> {
                    Reader::is_empty(self)
                }
            }
        };
    };
}
pub(crate) use inherent_reads;

impl<H: ReadsKeyspace> With<'_, H, ReadOptions> {
    /// Returns how to read: at the snapshot of the options, else at the moment of the handle.
    #[inline]
    fn settings(&self) -> ReadSettings<'_> {
        let snapshot = self.options.snapshot.as_ref().or(self.handle.own_snapshot());
        ReadSettings {
            snapshot: snapshot.map(Snapshot::moment),
            fill_cache: self.options.fill_cache,
            report: self.options.report.as_ref(),
        }
    }
}

impl<H: ReadsKeyspace> Reader for With<'_, H, ReadOptions> {
    #[inline]
    fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        let keyspace = self.handle.target();
        keyspace.core().get(keyspace.state(), key.as_ref(), self.settings())
    }

    fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Result<Option<Value>>>> {
        let keyspace = self.handle.target();
        let keys: Vec<K> = keys.into_iter().collect();
        keyspace.core().multi_get(keyspace.state(), &keys, self.settings())
    }

    fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
        self.handle.target().new_iter(Bounds::of(&range), self.settings())
    }

    fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        let keyspace = self.handle.target();
        let core = keyspace.core();
        let (chain, time) = core.chain_of(keyspace.state(), key.as_ref(), self.settings())?;
        core.operands_of(chain, time)
    }

    fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
        let keyspace = self.handle.target();
        keyspace.core().expires_at(keyspace.state(), key.as_ref(), self.settings())
    }

    fn comparator(&self) -> &dyn Comparator {
        &*self.handle.target().state().comparator
    }
}

inherent_reads!(With<'_, H, ReadOptions>, H: ReadsKeyspace);

/// Implements [`Reader`] for handles, with the default options.
macro_rules! plain_reads {
    ($($handle:ty),*) => {$(
        impl Reader for $handle {
            #[inline]
            fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
                self.with(ReadOptions::PLAIN).get(key)
            }

            fn multi_get<K: AsRef<[u8]>>(
                &self,
                keys: impl IntoIterator<Item = K>,
            ) -> Result<Vec<Result<Option<Value>>>> {
                self.with(ReadOptions::PLAIN).multi_get(keys)
            }

            fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
                self.with(ReadOptions::PLAIN).range(range)
            }

            fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
                self.with(ReadOptions::PLAIN).get_operands(key)
            }

            fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
                self.with(ReadOptions::PLAIN).expires_at(key)
            }

            fn comparator(&self) -> &dyn Comparator {
                &*self.target().state().comparator
            }
        }

        inherent_reads!($handle);
    )*};
}

plain_reads!(Db, Keyspace, Snapshot, KeyspaceReader, ReadOnlyDb);
