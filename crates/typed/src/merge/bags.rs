//! Values that gather elements: sets, the last few, and how many different ones.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use foldb::operators::{hyperloglog, list, set};
use foldb::{Result, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::access::BlindWrites;
use crate::borrowed::AsKey;
use crate::key::{Key, decode};
use crate::merge::{MergeTable, Merged};
use crate::value::{AsValue, Encodes, Format, Postcard};

/// A set. Its members are encoded as keys. An empty set is an absent key.
#[derive(Clone, Copy, Debug)]
pub struct Set<T>(PhantomData<fn() -> T>);

/// A change of a [`Set`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetChange<T> {
    /// Adds a member.
    Insert(T),
    /// Removes a member.
    Remove(T),
}

impl<T: Key + Ord> Merged for Set<T> {
    type Value = BTreeSet<T>;
    type Operand = SetChange<T>;

    fn operator() -> String {
        "set".to_owned()
    }

    fn schema() -> String {
        format!("set({})", T::schema())
    }

    fn encode(change: &SetChange<T>) -> Result<Vec<u8>> {
        Ok(match change {
            SetChange::Insert(member) => set::add(crate::encode::<T>(member)),
            SetChange::Remove(member) => set::remove(crate::encode::<T>(member)),
        })
    }

    fn decode(value: &[u8]) -> Result<BTreeSet<T>> {
        set::members(value)?.into_iter().map(decode).collect()
    }
}

impl<K: Key, T: Key + Ord, A: BlindWrites> MergeTable<K, Set<T>, A> {
    /// Adds a member, without reading the set.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn insert(&self, key: impl AsKey<K>, member: impl AsKey<T>) -> Result<()> {
        self.merge_encoded(key, &set::add(crate::encode::<T>(member)))
    }

    /// Removes a member, without reading the set.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn remove(&self, key: impl AsKey<K>, member: impl AsKey<T>) -> Result<()> {
        self.merge_encoded(key, &set::remove(crate::encode::<T>(member)))
    }
}

/// The last `N` elements, the oldest first. Elements are written by serde, as [`Postcard`] does.
/// `N` is at least 1.
#[derive(Clone, Copy, Debug)]
pub struct LastN<T, const N: u32>(PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned, const N: u32> Merged for LastN<T, N> {
    type Value = Vec<T>;
    type Operand = T;

    fn operator() -> String {
        const { assert!(N > 0, "a list of the last elements keeps at least one") };
        format!("listlast:{N}")
    }

    fn schema() -> String {
        format!("last({N})")
    }

    fn encode(element: &T) -> Result<Vec<u8>> {
        Ok(list::operand([Postcard::encode(element)?]))
    }

    fn decode(value: &[u8]) -> Result<Vec<T>> {
        let elements = list::elements(value)?.into_iter();
        elements.map(|element| <Postcard as Format<T>>::decode(Value::from(element))).collect()
    }
}

impl<K: Key, T: Serialize + DeserializeOwned, const N: u32, A: BlindWrites>
    MergeTable<K, LastN<T, N>, A>
{
    /// Appends an element, without reading the others.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn push<Q: AsValue<T>>(&self, key: impl AsKey<K>, element: Q) -> Result<()>
    where
        Postcard: Encodes<Q::Form>,
    {
        let element = <Postcard as Encodes<Q::Form>>::encode(element.as_form())?;
        self.merge_encoded(key, &list::operand([element]))
    }
}

/// How many different elements were counted, within about 1 %, in at most 16 KiB.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{MergeTable, Sketch};
///
/// let visitors = MergeTable::<String, Sketch<String>>::open(&db, "visitors")?;
/// for visitor in ["ann", "bob", "ann"] {
///     visitors.count("index.html", visitor)?;
/// }
/// assert_eq!(visitors.get("index.html")?, Some(2));
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sketch<T>(PhantomData<fn() -> T>);

impl<T: Key> Merged for Sketch<T> {
    type Value = u64;
    type Operand = T;

    fn operator() -> String {
        "hyperloglog".to_owned()
    }

    fn schema() -> String {
        format!("sketch({})", T::schema())
    }

    fn encode(element: &T) -> Result<Vec<u8>> {
        Ok(hyperloglog::operand([crate::encode::<T>(element)]))
    }

    fn decode(value: &[u8]) -> Result<u64> {
        hyperloglog::estimate(value).map(|estimate| estimate.round() as u64)
    }
}

impl<K: Key, T: Key, A: BlindWrites> MergeTable<K, Sketch<T>, A> {
    /// Counts an element, without reading the sketch.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn count(&self, key: impl AsKey<K>, element: impl AsKey<T>) -> Result<()> {
        self.merge_encoded(key, &hyperloglog::operand([crate::encode::<T>(element)]))
    }
}
