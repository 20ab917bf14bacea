//! What a table stands on: a keyspace, a keyspace with options, one inside a transaction, or one in
//! a batch.
//!
//! Reads go through [`foldb::Reader`], writes that read nothing through [`BlindWrites`], and writes
//! that read too through [`Writes`]. A batch has only the second kind.

use foldb::expiry::Expires;
use foldb::{
    AsKeyRange, CompareAndSwap, Keyspace, ReadOptions, Result, TransactionKeyspace, Value, With,
    WriteOptions,
};

/// A handle that writes one keyspace, without reading it.
pub trait BlindWrites: sealed::Sealed {
    #[doc(hidden)]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;
    #[doc(hidden)]
    fn delete(&self, key: &[u8]) -> Result<()>;
    #[doc(hidden)]
    fn delete_range(&self, range: impl AsKeyRange) -> Result<()>;
    #[doc(hidden)]
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()>;
}

/// A handle that reads and writes one keyspace in one step.
pub trait Writes: BlindWrites {
    #[doc(hidden)]
    fn find(&self, key: &[u8]) -> Result<Option<Value>>;
    #[doc(hidden)]
    fn put_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool>;
    #[doc(hidden)]
    fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap>;
    #[doc(hidden)]
    fn take(&self, key: &[u8]) -> Result<Option<Value>>;
    #[doc(hidden)]
    fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>>;
    #[doc(hidden)]
    fn touch(&self, key: &[u8]) -> Result<bool>;
    #[doc(hidden)]
    fn expire(&self, key: &[u8], expires: Expires) -> Result<bool>;
    #[doc(hidden)]
    fn merge_get(&self, key: &[u8], operand: &[u8]) -> Result<Option<Value>>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Options of calls, and the handle of a keyspace with them.
pub trait CallOptions {
    #[doc(hidden)]
    type Handle<'a>
    where
        Self: 'a;

    #[doc(hidden)]
    fn over<'a>(&'a self, keyspace: &'a Keyspace) -> Self::Handle<'a>;
}

impl CallOptions for ReadOptions {
    type Handle<'a> = With<'a, Keyspace, ReadOptions>;

    fn over<'a>(&'a self, keyspace: &'a Keyspace) -> With<'a, Keyspace, ReadOptions> {
        keyspace.with(self)
    }
}

impl CallOptions for WriteOptions {
    type Handle<'a> = Written<'a>;

    fn over<'a>(&'a self, keyspace: &'a Keyspace) -> Written<'a> {
        Written { keyspace, options: self }
    }
}

/// A keyspace with options for its writes.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    keyspace: &'a Keyspace,
    options: &'a WriteOptions,
}

macro_rules! writes {
    ($handle:ty, |$own:ident| $write:expr, $read:expr) => {
        impl sealed::Sealed for $handle {}

        impl BlindWrites for $handle {
            fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
                let $own = self;
                $write.put(key, value)
            }

            fn delete(&self, key: &[u8]) -> Result<()> {
                let $own = self;
                $write.delete(key)
            }

            fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
                let $own = self;
                $write.delete_range(range)
            }

            fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
                let $own = self;
                $write.merge(key, operand)
            }
        }

        impl Writes for $handle {
            fn find(&self, key: &[u8]) -> Result<Option<Value>> {
                let $own = self;
                $read.get(key)
            }

            fn put_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool> {
                let $own = self;
                $write.put_if_absent(key, value)
            }

            fn compare_and_swap(
                &self,
                key: &[u8],
                expected: Option<&[u8]>,
                new: Option<&[u8]>,
            ) -> Result<CompareAndSwap> {
                let $own = self;
                $write.compare_and_swap(key, expected, new)
            }

            fn take(&self, key: &[u8]) -> Result<Option<Value>> {
                let $own = self;
                $write.take(key)
            }

            fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
                let $own = self;
                $write.take_first(range)
            }

            fn touch(&self, key: &[u8]) -> Result<bool> {
                let $own = self;
                $write.touch(key)
            }

            fn expire(&self, key: &[u8], expires: Expires) -> Result<bool> {
                let $own = self;
                $write.expire(key, expires)
            }

            fn merge_get(&self, key: &[u8], operand: &[u8]) -> Result<Option<Value>> {
                let $own = self;
                $write.merge_get(key, operand)
            }
        }
    };
}

// The methods of the handles themselves come before those of the trait.
writes!(Keyspace, |own| own, own);
writes!(TransactionKeyspace<'_>, |own| own, own);
writes!(Written<'_>, |own| own.keyspace.with(own.options), own.keyspace);
