//! The native methods of the Java class `foldb.streams.engine.Native`, in its order.

// The names are those by which Java finds native methods.
#![allow(non_snake_case)]

use std::path::PathBuf;

use foldb::Error;
use foldb::operators::hyperloglog;
use jni_sys::{jboolean, jint, jlong};

use crate::cursor::Cursor;
use crate::java::{Bytes, Env, Failure, Handle, Longs, Scratch, native};
use crate::packed::Reader;
use crate::shared;
use crate::store::{Store, StoreOptions};

/// Bytes before the entries of a page: the cursor's handle, or 0 after the last page.
const PAGE_HEADER: usize = 8;

native! {
    /// Opens the store in a directory, and returns its handle.
    fn Java_foldb_streams_engine_Native_open(
        env,
        directory: Bytes,
        operator: Bytes,
        forgets_offsets: jboolean,
        memory: jlong,
    ) -> Handle<Store> {
        let (mut path, mut name) = (Scratch::new(), Scratch::new());
        let path = path_of(env.required(directory, "directory", &mut path)?)?;
        let operator = env.read(operator, &mut name).map(text).transpose()?;
        let memory = usize::try_from(memory)
            .map_err(|_| Error::invalid_argument(format!("memory cannot be {memory} bytes")))?;
        let options = StoreOptions { operator, forgets_offsets, memory };
        Ok(Handle::of(Store::open(&path, &options)?))
    }
}

native! {
    /// Closes a store. Later calls with its handle throw.
    fn Java_foldb_streams_engine_Native_close(_env, store: Handle<Store>) -> () {
        Ok(store.value()?.close()?)
    }
}

native! {
    /// Frees a store's handle, and closes the store if it is open.
    fn Java_foldb_streams_engine_Native_free(_env, store: Handle<Store>) -> () {
        store.take().map_or(Ok(()), |store| Ok(store.close()?))
    }
}

native! {
    /// Reads a key; null if it is absent.
    fn Java_foldb_streams_engine_Native_get(env, store: Handle<Store>, key: Bytes) -> Bytes {
        let mut scratch = Scratch::new();
        let value = store.value()?.opened()?.get(env.required(key, "key", &mut scratch)?)?;
        env.optional(value)
    }
}

native! {
    /// Reads packed keys, and returns their packed values.
    fn Java_foldb_streams_engine_Native_getAll(
        env,
        store: Handle<Store>,
        keys: Bytes,
        length: jint,
    ) -> Bytes {
        let mut scratch = Scratch::new();
        let keys = env.required_prefix(keys, length, "keys", &mut scratch)?;
        env.bytes(&store.value()?.opened()?.get_all(keys)?)
    }
}

native! {
    /// Sets the value of a key; null deletes the key.
    fn Java_foldb_streams_engine_Native_put(
        env,
        store: Handle<Store>,
        key: Bytes,
        value: Bytes,
    ) -> () {
        let (mut keys, mut values) = (Scratch::new(), Scratch::new());
        let key = env.required(key, "key", &mut keys)?;
        Ok(store.value()?.opened()?.put(key, env.read(value, &mut values))?)
    }
}

native! {
    /// Sets the value of an absent key, and returns the value before.
    fn Java_foldb_streams_engine_Native_putIfAbsent(
        env,
        store: Handle<Store>,
        key: Bytes,
        value: Bytes,
    ) -> Bytes {
        let (mut keys, mut values) = (Scratch::new(), Scratch::new());
        let key = env.required(key, "key", &mut keys)?;
        let value = env.read(value, &mut values);
        env.optional(store.value()?.opened()?.put_if_absent(key, value)?)
    }
}

native! {
    /// Deletes a key, and returns the value before.
    fn Java_foldb_streams_engine_Native_delete(env, store: Handle<Store>, key: Bytes) -> Bytes {
        let mut scratch = Scratch::new();
        let key = env.required(key, "key", &mut scratch)?;
        env.optional(store.value()?.opened()?.delete(key)?)
    }
}

native! {
    /// Throws if the store operator cannot fold an operand.
    fn Java_foldb_streams_engine_Native_checkOperand(
        env,
        store: Handle<Store>,
        operand: Bytes,
    ) -> () {
        let mut scratch = Scratch::new();
        let operand = env.required(operand, "operand", &mut scratch)?;
        Ok(store.value()?.opened()?.check_operand(operand)?)
    }
}

native! {
    /// Merges an operand into a key.
    fn Java_foldb_streams_engine_Native_merge(
        env,
        store: Handle<Store>,
        key: Bytes,
        operand: Bytes,
    ) -> () {
        let (mut keys, mut operands) = (Scratch::new(), Scratch::new());
        let key = env.required(key, "key", &mut keys)?;
        let operand = env.required(operand, "operand", &mut operands)?;
        Ok(store.value()?.opened()?.merge(key, operand)?)
    }
}

native! {
    /// Applies packed operations as one atomic write.
    fn Java_foldb_streams_engine_Native_write(
        env,
        store: Handle<Store>,
        batch: Bytes,
        length: jint,
    ) -> () {
        let mut scratch = Scratch::new();
        let batch = env.required_prefix(batch, length, "batch", &mut scratch)?;
        Ok(store.value()?.opened()?.write(batch)?)
    }
}

native! {
    /// Deletes a range of keys; null is no bound.
    fn Java_foldb_streams_engine_Native_deleteRange(
        env,
        store: Handle<Store>,
        from: Bytes,
        to: Bytes,
    ) -> () {
        let (mut froms, mut tos) = (Scratch::new(), Scratch::new());
        let (from, to) = (env.read(from, &mut froms), env.read(to, &mut tos));
        Ok(store.value()?.opened()?.delete_range(from, to)?)
    }
}

native! {
    /// Opens a cursor over packed ranges, and returns its first page.
    fn Java_foldb_streams_engine_Native_cursor(
        env,
        store: Handle<Store>,
        is_reverse: jboolean,
        ranges: Bytes,
    ) -> Bytes {
        let mut scratch = Scratch::new();
        let ranges = env.required(ranges, "ranges", &mut scratch)?;
        let store = store.value()?.opened()?;
        let mut cursor = Cursor::new(&store, is_reverse, ranges)?;
        let (mut page, may_follow) = cursor.page(PAGE_HEADER)?;
        if !may_follow {
            return env.bytes(&page);
        }
        let handle = Handle::of(cursor);
        page[..PAGE_HEADER].copy_from_slice(&handle.number().to_be_bytes());
        env.bytes(&page).inspect_err(|_| drop(handle.take()))
    }
}

native! {
    /// Returns the next page of a cursor. The last page frees the cursor.
    fn Java_foldb_streams_engine_Native_page(env, cursor: Handle<Cursor>) -> Bytes {
        next_page(env, cursor)
    }
}

fn next_page(env: &Env, mut handle: Handle<Cursor>) -> Result<Bytes, Failure> {
    let number = handle.number();
    let cursor = handle.value_mut()?;
    let (mut page, may_follow) = cursor.page(PAGE_HEADER)?;
    if may_follow {
        page[..PAGE_HEADER].copy_from_slice(&number.to_be_bytes());
    }
    match env.bytes(&page) {
        Err(failure) => {
            // Java had no memory for the page. It may have some when it asks again.
            cursor.keep(page, may_follow);
            Err(failure)
        }
        Ok(taken) if may_follow => Ok(taken),
        Ok(taken) => {
            drop(handle.take());
            Ok(taken)
        }
    }
}

native! {
    /// Frees a cursor.
    fn Java_foldb_streams_engine_Native_closeCursor(_env, cursor: Handle<Cursor>) -> () {
        drop(cursor.take());
        Ok(())
    }
}

native! {
    /// Stores packed offsets and a position in one atomic write.
    fn Java_foldb_streams_engine_Native_commit(
        env,
        store: Handle<Store>,
        offsets: Bytes,
        position: Bytes,
    ) -> () {
        let (mut packed, mut positions) = (Scratch::new(), Scratch::new());
        let offsets = env.required(offsets, "offsets", &mut packed)?;
        Ok(store.value()?.opened()?.commit(offsets, env.read(position, &mut positions))?)
    }
}

native! {
    /// Returns the stored offset of a partition; null if there is none.
    fn Java_foldb_streams_engine_Native_offset(
        env,
        store: Handle<Store>,
        partition: Bytes,
    ) -> Bytes {
        let mut scratch = Scratch::new();
        let partition = env.required(partition, "partition", &mut scratch)?;
        env.optional(store.value()?.opened()?.offset(partition)?)
    }
}

native! {
    /// Returns the stored position; null if there is none.
    fn Java_foldb_streams_engine_Native_position(env, store: Handle<Store>) -> Bytes {
        env.optional(store.value()?.opened()?.position()?)
    }
}

native! {
    /// Estimates the number of entries.
    fn Java_foldb_streams_engine_Native_approximateEntries(_env, store: Handle<Store>) -> jlong {
        let entries = store.value()?.opened()?.approximate_entries()?;
        Ok(jlong::try_from(entries).unwrap_or(jlong::MAX))
    }
}

native! {
    /// Returns the numbers of the record `Statistics`.
    fn Java_foldb_streams_engine_Native_statistics(env, store: Handle<Store>) -> Longs {
        env.longs(store.value()?.opened()?.statistics())
    }
}

native! {
    /// Counts bytes that Java holds for a store in the memory budget.
    fn Java_foldb_streams_engine_Native_reserve(
        _env,
        store: Handle<Store>,
        bytes: jlong,
    ) -> () {
        store.value()?.opened()?.reserve(usize::try_from(bytes).unwrap_or(0));
        Ok(())
    }
}

native! {
    /// Returns the numbers of the record `Memory`.
    fn Java_foldb_streams_engine_Native_memory(env, budget: jlong) -> Longs {
        env.longs(shared::memory(usize::try_from(budget).unwrap_or(0)))
    }
}

native! {
    /// Makes the sketch that has counted packed elements.
    fn Java_foldb_streams_engine_Native_sketch(env, elements: Bytes) -> Bytes {
        let mut scratch = Scratch::new();
        let mut reader = Reader::new(env.required(elements, "elements", &mut scratch)?);
        let mut counted = Vec::new();
        while let Some((element, _)) = reader.entry()? {
            counted.push(element);
        }
        env.bytes(&hyperloglog::operand(counted))
    }
}

native! {
    /// Estimates how many elements a sketch has counted. Returns the bits of the `double`.
    fn Java_foldb_streams_engine_Native_estimate(env, sketch: Bytes) -> jlong {
        let mut scratch = Scratch::new();
        let estimate = hyperloglog::estimate(env.required(sketch, "sketch", &mut scratch)?)?;
        Ok(estimate.to_bits().cast_signed())
    }
}

fn text(bytes: &[u8]) -> Result<String, Error> {
    let text = std::str::from_utf8(bytes).map(str::to_owned);
    text.map_err(|_| Error::invalid_argument("a text is not UTF-8"))
}

/// Returns a path. On Unix a path is any bytes, elsewhere UTF-8.
fn path_of(bytes: &[u8]) -> Result<PathBuf, Error> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    text(bytes).map(PathBuf::from)
}
