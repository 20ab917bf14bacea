//! The calls that read a key and write it in one step, of every handle that has them.
//!
//! Their bodies are those of [`Steps`]: an optimistic step of its own, or a step inside a
//! transaction.

use crate::db::handle::With;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::with::WritesKeyspace;
use crate::db::transaction::conditional::Conditional;
use crate::db::transaction::handle::{Transaction, TransactionKeyspace};
use crate::db::transaction::steps::{CompareAndSwap, Steps};
use crate::error::Result;
use crate::key::AsKeyRange;
use crate::options::WriteOptions;
use crate::settings::Expires;
use crate::value::Value;

/// Writes under a condition. Each is atomic: no other write to the key comes between its read and
/// its write, by a transaction or not.
///
/// The deadline of the options bounds the whole call. A call that other writes keep from writing
/// until then, or a hundred times, fails with `Busy`, and has written nothing.
impl<H: WritesKeyspace> With<'_, H, WriteOptions> {
    fn steps(&self) -> Conditional<'_> {
        Conditional { keyspace: self.handle.target(), options: self.options }
    }

    /// Sets the key to `new` if its value is `expected`. `None` stands for an absent key.
    ///
    /// # Errors
    /// As [`Keyspace::get`] and [`With::put`]; nothing was written then.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::CompareAndSwap;
    ///
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// assert!(db.compare_and_swap("state", None, Some(b"open"))?.is_swapped());
    /// let outcome = db.compare_and_swap("state", Some(b"closed"), Some(b"open"))?;
    /// assert_eq!(outcome, CompareAndSwap::Found(Some(b"open"[..].into())));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        self.steps().compare_and_swap(key, expected, new)
    }

    /// Sets an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`With::compare_and_swap`].
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.steps().put_if_absent(key, value)
    }

    /// Replaces the value by what `change` makes of it, and returns the new value. `None` stands
    /// for an absent key. `change` may run several times, and must not write this key itself. Where
    /// entries expire, the new value has a new lifetime: see [`WriteOptions::keep_end`].
    ///
    /// # Errors
    /// As [`With::compare_and_swap`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("path", "a")?;
    /// let longer = db.update("path", |path| Some([path.unwrap_or_default(), b"/b"].concat()))?;
    /// assert_eq!(longer.unwrap(), b"a/b");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn update(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.steps().update(key, change)
    }

    /// Replaces the value as [`With::update`] does, and returns the value before.
    ///
    /// # Errors
    /// As [`With::compare_and_swap`].
    pub fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.steps().fetch_update(key, change)
    }

    /// Deletes the key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`With::compare_and_swap`].
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.steps().take(key)
    }

    /// Deletes the first entry of a range, and returns it; `None` if the range has no entry. A
    /// call takes as long however many entries were taken before.
    ///
    /// In a transaction, the commit conflicts if another write changed that entry. With
    /// serializable isolation it also conflicts if another entry came before it. After an error the
    /// transaction has no further write.
    ///
    /// # Errors
    /// As [`With::compare_and_swap`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("task 1", "write")?;
    /// db.put("task 2", "test")?;
    /// let (key, task) = db.take_first("task ".."task:")?.unwrap();
    /// assert_eq!((&key[..], &task[..]), (&b"task 1"[..], &b"write"[..]));
    /// assert_eq!(db.take_first(..)?.unwrap().0, b"task 2");
    /// assert!(db.take_first(..)?.is_none());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        self.steps().take_first(range)
    }

    /// Merges an operand with the default operator, and returns the value after this merge.
    ///
    /// # Errors
    /// As [`With::merge`] and [`Keyspace::get`]; nothing was written then. In particular
    /// `MergeFailed` if the operator rejects the operand.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     default: foldb::KeyspaceOptions::with_operator("uint64add"),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// assert_eq!(db.merge_get("ticket", 1u64.to_le_bytes())?.unwrap(), 1u64.to_le_bytes());
    /// assert_eq!(db.merge_get("ticket", 1u64.to_le_bytes())?.unwrap(), 2u64.to_le_bytes());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn merge_get(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<Option<Value>> {
        self.steps().merge_get(key, operand)
    }

    /// Merges an operand with the default operator if `predicate` accepts the value. Returns
    /// whether it did.
    ///
    /// # Errors
    /// As [`With::merge_get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     default: foldb::KeyspaceOptions::with_operator("stringappend:,"),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// let has_room = |list: Option<&[u8]>| list.map_or(0, <[u8]>::len) < 5;
    /// assert!(db.merge_if("guests", has_room, "ann")?);
    /// assert!(db.merge_if("guests", has_room, "bob")?);
    /// assert!(!db.merge_if("guests", has_room, "cid")?);
    /// assert_eq!(db.get("guests")?.unwrap(), b"ann,bob");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn merge_if(
        &self,
        key: impl AsRef<[u8]>,
        predicate: impl FnMut(Option<&[u8]>) -> bool,
        operand: impl AsRef<[u8]>,
    ) -> Result<bool> {
        self.steps().merge_if(key, predicate, operand)
    }

    /// Renews the end of an entry, as a put of its value does. Returns whether the key has a
    /// value. An absent key stays absent, and so does one that has expired.
    ///
    /// [`WriteOptions::expires`] names another end than that of the keyspace. With
    /// [`Expiry::per_write`](crate::expiry::Expiry::per_write) it is needed.
    ///
    /// # Errors
    /// `InvalidArgument` for a keyspace without an expiry, or if nothing says when the entry
    /// expires; as [`With::compare_and_swap`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb::KeyspaceOptions;
    /// use foldb::expiry::{Expires, Expiry};
    ///
    /// let expiry = Some(Expiry::after_last_write(Duration::from_secs(1800)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let sessions = db.create_keyspace("sessions", options)?;
    /// sessions.put("ann", "basket: 2 books")?;
    /// assert!(sessions.touch("ann")?); // for another half an hour
    /// assert!(!sessions.touch("bob")?);
    ///
    /// sessions.expire("ann", Expires::After(Duration::from_secs(86_400)))?;
    /// sessions.persist("ann")?;
    /// assert_eq!(sessions.expires_at("ann")?, None);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn touch(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.steps().touch(key)
    }

    /// Sets when an entry expires; see [`With::touch`]. Returns whether the key has a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a keyspace without an expiry; as [`With::compare_and_swap`].
    pub fn expire(&self, key: impl AsRef<[u8]>, expires: Expires) -> Result<bool> {
        self.steps().expire(key.as_ref(), expires)
    }

    /// Lets an entry never expire. Returns whether the key has a value.
    ///
    /// # Errors
    /// As [`With::expire`].
    pub fn persist(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.steps().expire(key.as_ref(), Expires::Never)
    }
}

/// Gives a handle the calls that read and write in one step.
macro_rules! conditional_calls {
    ($handle:ty, |$own:ident| $steps:expr, $claims:literal) => {
        impl $handle {
            /// Sets the key to `new` if its value is `expected`: see [`With::compare_and_swap`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::compare_and_swap`].
            pub fn compare_and_swap(
                &self,
                key: impl AsRef<[u8]>,
                expected: Option<&[u8]>,
                new: Option<&[u8]>,
            ) -> Result<CompareAndSwap> {
                let $own = self;
                Steps::compare_and_swap(&$steps, key, expected, new)
            }

            /// Sets an absent key, and returns whether it was absent: see [`With::put_if_absent`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::compare_and_swap`].
            pub fn put_if_absent(
                &self,
                key: impl AsRef<[u8]>,
                value: impl AsRef<[u8]>,
            ) -> Result<bool> {
                let $own = self;
                Steps::put_if_absent(&$steps, key, value)
            }

            /// Replaces a value, and returns the new one: see [`With::update`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::compare_and_swap`].
            pub fn update(
                &self,
                key: impl AsRef<[u8]>,
                change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
            ) -> Result<Option<Value>> {
                let $own = self;
                Steps::update(&$steps, key, change)
            }

            /// Replaces a value, and returns the one before: see [`With::fetch_update`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::compare_and_swap`].
            pub fn fetch_update(
                &self,
                key: impl AsRef<[u8]>,
                change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
            ) -> Result<Option<Value>> {
                let $own = self;
                Steps::fetch_update(&$steps, key, change)
            }

            /// Deletes a key, and returns the value that it had: see [`With::take`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::compare_and_swap`].
            pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
                let $own = self;
                Steps::take(&$steps, key)
            }

            /// Deletes the first entry of a range, and returns it: see [`With::take_first`].
            ///
            /// # Errors
            /// As [`With::compare_and_swap`].
            pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
                let $own = self;
                Steps::take_first(&$steps, range)
            }

            /// Merges an operand, and returns the value after it: see [`With::merge_get`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::merge_get`].
            pub fn merge_get(
                &self,
                key: impl AsRef<[u8]>,
                operand: impl AsRef<[u8]>,
            ) -> Result<Option<Value>> {
                let $own = self;
                Steps::merge_get(&$steps, key, operand)
            }

            /// Merges an operand if `predicate` accepts the value: see [`With::merge_if`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::merge_get`].
            pub fn merge_if(
                &self,
                key: impl AsRef<[u8]>,
                predicate: impl FnMut(Option<&[u8]>) -> bool,
                operand: impl AsRef<[u8]>,
            ) -> Result<bool> {
                let $own = self;
                Steps::merge_if(&$steps, key, predicate, operand)
            }
        }
    };
}

/// Gives a handle the calls that change when an entry expires. Entries of the keyspace `default`
/// never do, so handles of that keyspace have none of them.
macro_rules! calls_of_ends {
    ($handle:ty, |$own:ident| $steps:expr, $claims:literal) => {
        impl $handle {
            /// Renews the end of an entry, and returns whether there is one: see [`With::touch`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::touch`].
            pub fn touch(&self, key: impl AsRef<[u8]>) -> Result<bool> {
                let $own = self;
                Steps::touch(&$steps, key)
            }

            /// Sets when an entry expires, and returns whether there is one: see [`With::expire`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::expire`].
            pub fn expire(&self, key: impl AsRef<[u8]>, expires: Expires) -> Result<bool> {
                let $own = self;
                Steps::expire(&$steps, key.as_ref(), expires)
            }

            /// Lets an entry never expire, and returns whether there is one: see
            /// [`With::persist`].
            #[doc = $claims]
            ///
            /// # Errors
            /// As [`With::persist`].
            pub fn persist(&self, key: impl AsRef<[u8]>) -> Result<bool> {
                self.expire(key, Expires::Never)
            }
        }
    };
}

conditional_calls!(Db, |own| own.with(&WriteOptions::DEFAULT).steps(), "");
conditional_calls!(Keyspace, |own| own.with(&WriteOptions::DEFAULT).steps(), "");
conditional_calls!(
    Transaction,
    |own| own.default_keyspace(),
    "The read is claimed, with every isolation. After an error the transaction has no further write."
);
conditional_calls!(
    TransactionKeyspace<'_>,
    |own| *own,
    "The read is claimed, with every isolation. After an error the transaction has no further write."
);

calls_of_ends!(Keyspace, |own| own.with(&WriteOptions::DEFAULT).steps(), "");
calls_of_ends!(
    TransactionKeyspace<'_>,
    |own| *own,
    "The read is claimed, with every isolation. [`Transaction::set_expires`] counts as in a put."
);
