//! Iterators.
//!
//! An iterator of C never fails in a move: it becomes invalid, and tells its status when asked. It
//! stays within the bounds of its read options, and within the prefix of its last seek if the
//! options say `prefix_same_as_start`.
//!
//! Invariant: the bytes of a key and value live until the next move. With `pin_data` they live as
//! long as the iterator.

use std::ffi::{c_char, c_uchar};
use std::ops::Bound;
use std::ptr;
use std::sync::Arc;

use foldb::Iter;

use crate::boundary::{arg, array, bytes, call, free, handle, lend, quiet, store_error, store_len};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Family, rocksdb_t};
use crate::objects::statistics::{Count, Measure, Statistics};
use crate::options::calls::{no_timestamps, rocksdb_readoptions_t};
use crate::status::{Outcome, Status};

/// RocksDB: `Iterator`.
pub struct rocksdb_iterator_t {
    pub(crate) entries: Entries,
    /// Keys and values that the program asked for, if they are pinned.
    pins: Option<Vec<Box<[u8]>>>,
}

/// What an iterator goes through.
pub(crate) enum Entries {
    /// The entries of a family.
    Family(Box<FamilyEntries>),
    /// The entries of a family with those of a batch over them.
    Merged(Box<dyn Cursor>),
    /// Nothing, for a reason.
    Failed(Status),
}

/// A cursor over ordered entries, in both directions.
pub(crate) trait Cursor {
    fn is_valid(&self) -> bool;
    fn seek_to_first(&mut self);
    fn seek_to_last(&mut self);
    fn seek(&mut self, key: &[u8]);
    fn seek_for_prev(&mut self, key: &[u8]);
    fn advance(&mut self);
    fn retreat(&mut self);
    /// Returns the key. The cursor is valid.
    fn key(&self) -> &[u8];
    /// Returns the value. The cursor is valid. A value that cannot be read makes it invalid.
    fn value(&mut self) -> &[u8];
    fn status(&self) -> Outcome<()>;
    /// Shows the newest entries from now on, at no position.
    fn refresh(&mut self) -> Outcome<()>;
}

/// The entries of a family, as the read options bound them.
pub(crate) struct FamilyEntries {
    family: Arc<Family>,
    options: rocksdb_readoptions_t,
    iter: Iter,
    status: Outcome<()>,
    is_valid: bool,
    /// The prefix that bounds the iterator since its last seek.
    prefix: Option<Vec<u8>>,
    /// What counts the moves, if the database was opened with statistics.
    statistics: Option<Arc<Statistics>>,
}

impl Drop for FamilyEntries {
    fn drop(&mut self) {
        if let Some(statistics) = &self.statistics {
            statistics.count(Count::IteratorsFreed, 1);
        }
    }
}

impl FamilyEntries {
    /// # Errors
    /// Those of the read options, and of the engine.
    pub(crate) fn of(
        family: Arc<Family>,
        options: &rocksdb_readoptions_t,
    ) -> Outcome<FamilyEntries> {
        let iter = opened(&family, options)?;
        let options = options.clone();
        let (status, is_valid, prefix) = (Ok(()), false, None);
        Ok(FamilyEntries { family, options, iter, status, is_valid, prefix, statistics: None })
    }

    /// Counts the moves from now on.
    fn counted_by(mut self, statistics: Option<&Arc<Statistics>>) -> FamilyEntries {
        self.statistics = statistics.cloned();
        if let Some(statistics) = &self.statistics {
            statistics.count(Count::Iterators, 1);
        }
        self
    }

    /// Goes to a key or an end, and counts that.
    fn sought(&mut self, seek: impl FnOnce(&mut Iter) -> foldb::Result<bool>) {
        let Some(statistics) = self.statistics.clone() else {
            let moved = seek(&mut self.iter);
            return self.settle(moved);
        };
        let moved = statistics.timed(Measure::Seek, || seek(&mut self.iter));
        self.settle(moved);
        statistics.count(Count::Seeks, 1);
        statistics.count(Count::SeeksFound, self.is_valid.into());
    }

    /// Counts a step.
    #[inline]
    fn count_step(&self, steps: Count, found: Count) {
        if let Some(statistics) = &self.statistics {
            statistics.count(steps, 1);
            statistics.count(found, self.is_valid.into());
        }
    }

    /// Shows newer entries before a seek, if the iterator is a tailing one.
    fn tail(&mut self) {
        if self.options.values.tailing != 0 {
            self.status = self.refresh();
        }
    }

    /// Moves to the entry behind the current one, among those that exist now.
    #[cold]
    fn advance_among_newest(&mut self) {
        let key = self.iter.key().to_vec();
        self.tail();
        if self.status.is_err() {
            return;
        }
        let moved = match self.iter.seek(&key) {
            Ok(true) if self.iter.key() == key => self.iter.advance(),
            moved => moved,
        };
        self.settle(moved);
    }

    /// Takes the outcome of a move.
    #[inline]
    fn settle(&mut self, moved: foldb::Result<bool>) {
        match moved {
            Ok(is_valid) => {
                self.status = Ok(());
                self.is_valid = is_valid && self.is_within_prefix();
            }
            Err(error) => {
                self.is_valid = false;
                self.status = Err(self.family.read_error(error));
            }
        }
    }

    #[inline]
    fn is_within_prefix(&self) -> bool {
        let Some(prefix) = &self.prefix else { return true };
        let extractor = self.family.prefix_extractor.as_ref();
        extractor.and_then(|extractor| extractor.prefix(self.iter.key())) == Some(&prefix[..])
    }

    /// Bounds the iterator by the prefix of the entry that a seek to an end found.
    fn start_prefix_here(&mut self) {
        if self.is_valid {
            let key = self.iter.key().to_vec();
            self.start_prefix(&key);
        }
    }

    /// Notes the prefix of a seek, if it bounds the iterator.
    fn start_prefix(&mut self, key: &[u8]) {
        let values = &self.options.values;
        if values.prefix_same_as_start == 0 || values.total_order_seek != 0 {
            return;
        }
        let extractor = self.family.prefix_extractor.as_ref();
        self.prefix = extractor.and_then(|own| own.prefix(key)).map(<[u8]>::to_vec);
    }
}

/// Opens an iterator over a family, within the bounds of the options.
fn opened(family: &Family, options: &rocksdb_readoptions_t) -> Outcome<Iter> {
    let engine = options.for_engine()?;
    let start = options.lower_bound.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let end = options.upper_bound.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    Ok(family.read(|reader| reader.with(&engine).range((start, end)))?)
}

impl Cursor for FamilyEntries {
    #[inline]
    fn is_valid(&self) -> bool {
        self.is_valid
    }

    fn seek_to_first(&mut self) {
        self.tail();
        self.prefix = None;
        self.sought(Iter::seek_to_first);
        self.start_prefix_here();
    }

    fn seek_to_last(&mut self) {
        self.tail();
        self.prefix = None;
        self.sought(Iter::seek_to_last);
        self.start_prefix_here();
    }

    fn seek(&mut self, key: &[u8]) {
        self.tail();
        self.start_prefix(key);
        self.sought(|iter| iter.seek(key));
    }

    fn seek_for_prev(&mut self, key: &[u8]) {
        self.tail();
        self.start_prefix(key);
        self.sought(|iter| iter.seek_for_prev(key));
    }

    #[inline]
    fn advance(&mut self) {
        if self.is_valid && self.options.values.tailing != 0 {
            self.advance_among_newest();
        } else if self.is_valid {
            let moved = self.iter.advance();
            self.settle(moved);
            self.count_step(Count::Nexts, Count::NextsFound);
        }
    }

    #[inline]
    fn retreat(&mut self) {
        if self.is_valid {
            let moved = self.iter.retreat();
            self.settle(moved);
            self.count_step(Count::Prevs, Count::PrevsFound);
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.iter.key()
    }

    #[inline]
    fn value(&mut self) -> &[u8] {
        match self.iter.value() {
            Ok(value) => value,
            Err(error) => {
                self.is_valid = false;
                self.status = Err(self.family.read_error(error));
                &[]
            }
        }
    }

    fn status(&self) -> Outcome<()> {
        self.status.clone()
    }

    fn refresh(&mut self) -> Outcome<()> {
        self.iter = opened(&self.family, &self.options)?;
        self.is_valid = false;
        Ok(())
    }
}

/// Calls a method of whatever the iterator goes through.
macro_rules! forward {
    ($entries:expr, $own:ident => $call:expr, $otherwise:expr) => {
        match $entries {
            Entries::Family($own) => $call,
            Entries::Merged($own) => $call,
            Entries::Failed(_) => $otherwise,
        }
    };
}

impl Entries {
    /// Returns the cursor, with its family and the options that bound it.
    ///
    /// # Errors
    /// `Not implemented` for an iterator that has a batch over it already, and the status of one
    /// that could not be made.
    pub(crate) fn into_parts(
        self,
    ) -> Outcome<(Arc<Family>, rocksdb_readoptions_t, Box<dyn Cursor>)> {
        match self {
            Entries::Family(own) => {
                let (family, options) = (own.family.clone(), own.options.clone());
                Ok((family, options, own))
            }
            Entries::Merged(_) => Err(Status::unsupported("a batch over a batch in an iterator")),
            Entries::Failed(status) => Err(status),
        }
    }

    fn status(&self) -> Outcome<()> {
        match self {
            Entries::Family(own) => own.status(),
            Entries::Merged(own) => own.status(),
            Entries::Failed(status) => Err(status.clone()),
        }
    }
}

/// Makes the handle of an iterator. One that cannot be made tells its status.
pub(crate) fn iterator_handle(
    entries: Outcome<Entries>,
    options: Option<&rocksdb_readoptions_t>,
) -> *mut rocksdb_iterator_t {
    let pins = options.is_some_and(|options| options.values.pin_data != 0).then(Vec::new);
    handle(rocksdb_iterator_t { entries: entries.unwrap_or_else(Entries::Failed), pins })
}

unsafe fn create(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *const rocksdb_column_family_handle_t,
) -> Outcome<Entries> {
    let (db, options) = (arg(db, "db")?, arg(options, "options")?);
    let family = family.as_ref().map_or(&db.database.default, |own| &own.family);
    let entries = FamilyEntries::of(family.clone(), options)?;
    let entries = entries.counted_by(db.database.options.statistics.as_ref());
    Ok(Entries::Family(Box::new(entries)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_iterator(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    iterator_handle(create(db, options, ptr::null()), options.as_ref())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_iterator_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_iterator_t {
    iterator_handle(create(db, options, family), options.as_ref())
}

/// Makes an iterator for each family, all of one moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_iterators(
    db: *mut rocksdb_t,
    options: *mut rocksdb_readoptions_t,
    families: *mut *mut rocksdb_column_family_handle_t,
    iterators: *mut *mut rocksdb_iterator_t,
    count: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let mut at_once = arg(options, "options")?.clone();
        if at_once.engine.snapshot.is_none() {
            at_once.engine.snapshot = Some(arg(db, "db")?.database.snapshot());
        }
        let mut made = Vec::with_capacity(count);
        for &family in array(families, count)? {
            made.push(create(db, &at_once, family)?);
        }
        for (index, entries) in made.into_iter().enumerate() {
            *iterators.add(index) = iterator_handle(Ok(entries), Some(&at_once));
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_destroy(iterator: *mut rocksdb_iterator_t) {
    free(iterator);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_valid(iterator: *const rocksdb_iterator_t) -> c_uchar {
    forward!(&(*iterator).entries, own => own.is_valid(), false).into()
}

/// Moves an iterator. A panic of the program's code makes it invalid.
macro_rules! moves {
    ($($name:ident: $move:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(iterator: *mut rocksdb_iterator_t) {
            quiet((), || forward!(&mut (*iterator).entries, own => own.$move(), ()));
        }
    )*};
}

moves! {
    rocksdb_iter_seek_to_first: seek_to_first;
    rocksdb_iter_seek_to_last: seek_to_last;
    rocksdb_iter_next: advance;
    rocksdb_iter_prev: retreat;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_seek(
    iterator: *mut rocksdb_iterator_t,
    key: *const c_char,
    key_len: usize,
) {
    let Ok(key) = bytes(key, key_len) else { return };
    quiet((), || forward!(&mut (*iterator).entries, own => own.seek(key), ()));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_seek_for_prev(
    iterator: *mut rocksdb_iterator_t,
    key: *const c_char,
    key_len: usize,
) {
    let Ok(key) = bytes(key, key_len) else { return };
    quiet((), || forward!(&mut (*iterator).entries, own => own.seek_for_prev(key), ()));
}

/// Lends bytes of the iterator, or of a copy that lives as long as it.
#[inline]
unsafe fn lent(pins: &mut Option<Vec<Box<[u8]>>>, found: &[u8], len: *mut usize) -> *const c_char {
    match pins {
        None => lend(found, len),
        Some(pins) => lent_for_long(pins, found, len),
    }
}

/// Lends a copy that lives as long as the iterator. It is apart, so that other iterators do not
/// save registers for it at each entry.
#[cold]
unsafe fn lent_for_long(pins: &mut Vec<Box<[u8]>>, found: &[u8], len: *mut usize) -> *const c_char {
    pins.push(found.into());
    pins.last().map_or(ptr::null(), |copy| lend(copy, len))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_key(
    iterator: *const rocksdb_iterator_t,
    len: *mut usize,
) -> *const c_char {
    let own = &mut *iterator.cast_mut();
    store_len(len, 0);
    quiet(ptr::null(), || {
        forward!(&own.entries, entries => {
            if entries.is_valid() { lent(&mut own.pins, entries.key(), len) } else { ptr::null() }
        }, ptr::null())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_value(
    iterator: *const rocksdb_iterator_t,
    len: *mut usize,
) -> *const c_char {
    let own = &mut *iterator.cast_mut();
    store_len(len, 0);
    quiet(ptr::null(), || {
        forward!(&mut own.entries, entries => {
            if entries.is_valid() { lent(&mut own.pins, entries.value(), len) } else { ptr::null() }
        }, ptr::null())
    })
}

/// Entries have no timestamps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_timestamp(
    _iterator: *const rocksdb_iterator_t,
    len: *mut usize,
) -> *const c_char {
    store_len(len, 0);
    ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_get_error(
    iterator: *const rocksdb_iterator_t,
    errptr: *mut *mut c_char,
) {
    if let Err(status) = (&(*iterator).entries).status() {
        store_error(errptr, &status);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_iter_refresh(
    iterator: *const rocksdb_iterator_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let own = &mut *iterator.cast_mut();
        forward!(&mut own.entries, entries => entries.refresh(), Err(no_timestamps()))
    });
}
