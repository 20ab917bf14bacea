//! Reads and writes in one step: the calls, over one way to do a step.

use std::borrow::Cow;

use crate::db::core::Core;
use crate::db::handle::keyspace::Keyspace;
use crate::error::{Error, Result};
use crate::fold::{Chain, Operator};
use crate::key::{AsKeyRange, Kind, NO_OPERATOR, RecordHeader};
use crate::settings::{Expires, ExpiryRule};
use crate::value::Value;

/// The outcome of [`With::compare_and_swap`](crate::With::compare_and_swap).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompareAndSwap {
    /// The key had the expected value, and has the new one.
    Swapped,
    /// The key has this value, and nothing was written.
    Found(Option<Value>),
}

impl CompareAndSwap {
    /// Returns whether the key has the new value.
    pub fn is_swapped(&self) -> bool {
        *self == CompareAndSwap::Swapped
    }
}

/// What a step does after it has read its key.
pub(super) enum Next<'a> {
    Nothing,
    Put(Cow<'a, [u8]>),
    /// Puts the value that was found, which gets the end of a put.
    Again(Value),
    Delete,
    /// With the default operator of the keyspace.
    Merge(&'a Operator, &'a [u8]),
}

/// A way to read a key and write it in one step.
pub(super) trait Steps {
    fn own_keyspace(&self) -> &Keyspace;

    /// Returns when a write of the caller expires, if the caller says so.
    fn expires(&self) -> Option<Expires>;

    /// Reads the key, asks `decide`, perhaps several times, and does what it says. No other write
    /// to the key comes in between.
    fn step<'a, T>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Value>) -> Result<(Next<'a>, T)>,
    ) -> Result<T>;

    /// Does what [`Steps::touch`] does, with this end.
    fn expire(&self, key: &[u8], expires: Expires) -> Result<bool>;

    fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>>;

    fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        self.step(key.as_ref(), |found| {
            if found.as_deref() != expected {
                return Ok((Next::Nothing, CompareAndSwap::Found(found)));
            }
            let next = new.map_or(Next::Delete, |new| Next::Put(Cow::Borrowed(new)));
            Ok((next, CompareAndSwap::Swapped))
        })
    }

    fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let value = value.as_ref();
        self.step(key.as_ref(), |found| match found {
            Some(_) => Ok((Next::Nothing, false)),
            None => Ok((Next::Put(Cow::Borrowed(value)), true)),
        })
    }

    fn update(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.step(key.as_ref(), |found| {
            let new = change(found.as_deref());
            let value = new.as_deref().map(Value::from);
            Ok((next_of(&found, new), value))
        })
    }

    fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.step(key.as_ref(), |found| {
            let new = change(found.as_deref());
            Ok((next_of(&found, new), found))
        })
    }

    fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.fetch_update(key, |_| None)
    }

    fn touch(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.check_ends()?;
        self.step(key.as_ref(), |found| match found {
            Some(value) => Ok((Next::Again(value), true)),
            None => Ok((Next::Nothing, false)),
        })
    }

    /// Checks that a put gives an entry the end that the caller wants.
    ///
    /// # Errors
    /// `InvalidArgument` if entries of the keyspace do not expire, or if each write must say when
    /// and this one does not.
    fn check_ends(&self) -> Result<()> {
        let Some(expiry) = self.own_keyspace().state().settings.expiry else {
            return Err(Error::invalid_argument(
                "entries of this keyspace do not expire: create it with KeyspaceOptions::expiry",
            ));
        };
        match expiry.rule {
            ExpiryRule::Each if self.expires().is_none() => Err(Error::invalid_argument(
                "each write of this keyspace says when its entry expires: call expire, or persist",
            )),
            _ => Ok(()),
        }
    }

    fn merge_get(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<Option<Value>> {
        let (key, operand) = (key.as_ref(), operand.as_ref());
        let operator = self.own_keyspace().state().default_operator()?;
        operator.check_operand(operand)?;
        self.step(key, |found| {
            let merged = merged(self.own_keyspace().core(), operator, key, found, operand)?;
            Ok((Next::Merge(operator, operand), merged))
        })
    }

    fn merge_if(
        &self,
        key: impl AsRef<[u8]>,
        mut predicate: impl FnMut(Option<&[u8]>) -> bool,
        operand: impl AsRef<[u8]>,
    ) -> Result<bool> {
        let operand = operand.as_ref();
        let operator = self.own_keyspace().state().default_operator()?;
        operator.check_operand(operand)?;
        self.step(key.as_ref(), |found| match predicate(found.as_deref()) {
            true => Ok((Next::Merge(operator, operand), true)),
            false => Ok((Next::Nothing, false)),
        })
    }
}

/// Returns what replaces a value.
fn next_of<'a>(found: &Option<Value>, new: Option<Vec<u8>>) -> Next<'a> {
    match (found, new) {
        (_, Some(new)) => Next::Put(Cow::Owned(new)),
        (Some(_), None) => Next::Delete,
        (None, None) => Next::Nothing,
    }
}

/// Returns a value with one operand merged onto it.
///
/// # Errors
/// `MergeFailed`.
fn merged(
    core: &Core,
    operator: &Operator,
    key: &[u8],
    value: Option<Value>,
    operand: &[u8],
) -> Result<Option<Value>> {
    let mut chain = Chain::default();
    let merge = RecordHeader { seqno: 1, kind: Kind::Merge, operator: operator.id };
    chain.push(merge, Value::from(operand));
    if let Some(value) = value {
        let put = RecordHeader { seqno: 0, kind: Kind::Put, operator: NO_OPERATOR };
        chain.push(put, value);
    }
    chain.value(key, &core.registry.resolver(), &mut Vec::new())
}
