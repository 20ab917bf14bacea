//! Keys as callers give them: a `String` is looked up by a `&str`, and a tuple by a tuple of such.

/// Something that stands for a key of type `K`, and is encoded like it: the key itself, `&str` for
/// a `String`, `&[u8]` for a `Vec<u8>`, and tuples and options of those.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{AsKey, Result, Table};
///
/// fn visits(table: &Table<(String, u32), u64>, key: impl AsKey<(String, u32)>) -> Result<u64> {
///     Ok(table.get(key)?.unwrap_or(0))
/// }
///
/// let table = Table::<(String, u32), u64>::open(&db, "visits")?;
/// table.put(("index.html", 7), 12)?;
/// assert_eq!(visits(&table, ("index.html", 7))?, 12);
/// assert_eq!(visits(&table, &(String::from("index.html"), 7))?, 12);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not stand for a key of type `{K}`",
    note = "give a `{K}`, a reference to one, or a tuple of such: a `String` by a `&str`"
)]
pub trait AsKey<K> {
    /// Appends the encoding of the key.
    fn encode_key(&self, out: &mut Vec<u8>);
}

impl<K, Q: AsKey<K> + ?Sized> AsKey<K> for &Q {
    #[inline]
    fn encode_key(&self, out: &mut Vec<u8>) {
        (**self).encode_key(out);
    }
}
