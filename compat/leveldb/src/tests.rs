//! The functions for C++, called as C++ calls them. Miri runs these tests.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use crate::foreign::{
    Bytes, Comparator, FilterPolicy, OK, Outcome, Readable, Writable, foldbport_append,
};
use crate::reader::{
    Block, Blocks, Entry, foldbport_block_bytes, foldbport_block_free, foldbport_block_read,
    foldbport_iterator_free, foldbport_iterator_get, foldbport_iterator_move,
    foldbport_iterator_new, foldbport_iterator_seek, foldbport_iterator_status,
    foldbport_table_free, foldbport_table_offset_of, foldbport_table_open,
};
use crate::writer::{
    Choices, foldbport_builder_add, foldbport_builder_entries, foldbport_builder_finish,
    foldbport_builder_flush, foldbport_builder_free, foldbport_builder_new, foldbport_builder_set,
    foldbport_builder_written,
};

/// A file in memory, and whether it lends its bytes and fails.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    lends: bool,
    fails: bool,
}

extern "C" fn append(file: *mut c_void, bytes: Bytes) -> bool {
    // SAFETY: `written` passes a file, and the builder bytes that live during the call.
    let (file, bytes) = unsafe { (&mut *file.cast::<File>(), bytes.get()) };
    file.bytes.extend_from_slice(bytes);
    !file.fails
}

extern "C" fn flush(_: *mut c_void) -> bool {
    true
}

extern "C" fn read(
    file: *const c_void,
    offset: u64,
    length: usize,
    scratch: *mut u8,
    found: &mut Bytes,
) -> bool {
    // SAFETY: the tests pass a file.
    let file = unsafe { &*file.cast::<File>() };
    let bytes = &file.bytes[offset as usize..][..length];
    if file.lends {
        *found = Bytes::of(bytes);
    } else {
        // SAFETY: the scratch has room for `length` bytes.
        unsafe { scratch.copy_from_nonoverlapping(bytes.as_ptr(), length) };
        *found = Bytes { data: scratch, length };
    }
    !file.fails
}

/// The reverse order of the bytes. The successor of every key is a text.
extern "C" fn compare(_: *const c_void, one: Bytes, other: Bytes) -> c_int {
    // SAFETY: the bytes live during the call.
    let (one, other) = unsafe { (one.get(), other.get()) };
    other.cmp(one) as c_int
}

extern "C" fn separator(_: *const c_void, shorter: &mut Vec<u8>, start: Bytes, _: Bytes) {
    // SAFETY: the bytes live during the call.
    unsafe { foldbport_append(shorter, start) };
}

extern "C" fn successor(_: *const c_void, shorter: &mut Vec<u8>, key: Bytes) {
    separator(null(), shorter, key, key);
}

/// Filters that hold the last byte of each key.
extern "C" fn create(_: *const c_void, keys: *const Bytes, count: c_int, filter: &mut Vec<u8>) {
    for n in 0..count as usize {
        // SAFETY: there are `count` keys, which live during the call.
        let key = unsafe { (*keys.add(n)).get() };
        filter.extend(key.last());
    }
}

extern "C" fn may_match(_: *const c_void, key: Bytes, filter: Bytes) -> bool {
    // SAFETY: the bytes live during the call.
    let (key, filter) = unsafe { (key.get(), filter.get()) };
    key.last().is_some_and(|last| filter.contains(last))
}

fn order() -> Comparator {
    Comparator { object: null(), is_bytewise: false, compare, separator, successor }
}

fn policy() -> FilterPolicy {
    let object = (&raw const POLICY).cast();
    FilterPolicy { object, name: Bytes::of(b"LastByte"), create, may_match }
}

static POLICY: u8 = 0;

fn key(n: u32) -> Vec<u8> {
    format!("key{n:03}").into_bytes()
}

const ENTRIES: u32 = 60;

/// Writes keys in the reverse order of their numbers.
fn written(fails: bool) -> File {
    let mut file = File { fails, ..File::default() };
    let object = (&raw mut file).cast();
    let choices = |block_size| Choices { block_size, restart_interval: 4, compress: true };
    let builder = foldbport_builder_new(
        &Writable { object, append, flush },
        &order(),
        &policy(),
        &choices(1000),
    );
    // SAFETY: the builder is freed at the end of the block, and the bytes live during each call.
    unsafe {
        foldbport_builder_set(&mut *builder, &choices(200));
        for n in (0..ENTRIES).rev() {
            let (key, value) = (key(n), vec![n as u8; 20]);
            foldbport_builder_add(&mut *builder, Bytes::of(&key), Bytes::of(&value));
        }
        foldbport_builder_flush(&mut *builder);
        foldbport_builder_finish(&mut *builder);
        assert_eq!(foldbport_builder_entries(&*builder), u64::from(ENTRIES));
        let written = foldbport_builder_written(&*builder);
        foldbport_builder_free(builder);
        assert!(fails || written == file.bytes.len() as u64);
    }
    file
}

/// The blocks of a file without a cache, and how many are in use.
struct Uncached {
    file: Readable,
    in_use: usize,
}

extern "C" fn find(object: *mut c_void, offset: u64, length: u64, found: &mut Block) -> Outcome {
    // SAFETY: `all_keys` passes its blocks.
    let blocks = unsafe { &mut *object.cast::<Uncached>() };
    let (mut contents, mut is_lent) = (null_mut(), false);
    let outcome =
        foldbport_block_read(&blocks.file, offset, length, true, &mut contents, &mut is_lent);
    if outcome.is_null() {
        // SAFETY: the block was read, and `release` frees it.
        foldbport_block_bytes(unsafe { &*contents }, &mut found.bytes);
        found.release = Some(release);
        found.owner = contents.cast();
        found.handle = object;
        blocks.in_use += 1;
    }
    outcome
}

extern "C" fn release(contents: *mut c_void, object: *mut c_void) {
    // SAFETY: `find` stored both.
    unsafe {
        foldbport_block_free(contents.cast());
        (*object.cast::<Uncached>()).in_use -= 1;
    }
}

/// Opens a table of the file, walks and searches it. Returns the keys of both walks and the status.
fn all_keys(file: &mut File) -> Result<(Vec<Vec<u8>>, String), String> {
    let text = |outcome: Outcome| match outcome {
        OK => String::new(),
        // SAFETY: every outcome is a literal.
        text => format!("failed: {}", unsafe { CStr::from_ptr(text) }.to_str().unwrap()),
    };
    let readable =
        Readable { object: (&raw const *file).cast(), size: file.bytes.len() as u64, read };
    let mut blocks = Uncached { file: readable, in_use: 0 };
    let mut table = null();
    let opened = foldbport_table_open(&readable, &order(), &policy(), true, &mut table);
    if !opened.is_null() {
        return Err(text(opened));
    }
    let object = (&raw mut blocks).cast();
    let (none, mut keys) = (Bytes::of(&[]), Vec::new());
    let mut entry = Entry { is_valid: false, key: none, value: none };
    // SAFETY: table and iterator are freed at the end of the block, and the bytes of an entry are
    // used before the iterator moves.
    let status = unsafe {
        let places =
            [key(7), key(900)].map(|key| foldbport_table_offset_of(&*table, Bytes::of(&key)));
        assert!(places[1] == 0 && places[0] > 0 && places[0] < file.bytes.len() as u64);
        let iterator = foldbport_iterator_new(table, &Blocks { object, find });
        foldbport_table_free(table);
        for (begin, step) in [(0, 2), (1, 3)] {
            foldbport_iterator_move(&mut *iterator, begin, &mut entry);
            while entry.is_valid {
                keys.push(entry.key.get().to_vec());
                assert_eq!(entry.value.get().len(), 20);
                foldbport_iterator_move(&mut *iterator, step, &mut entry);
            }
        }
        let target = key(33);
        foldbport_iterator_seek(&mut *iterator, Bytes::of(&target), &mut entry);
        assert!(!entry.is_valid || entry.key.get() <= &target[..]);
        foldbport_iterator_get(&mut *iterator, Bytes::of(&target), &mut entry);
        let absent = b"key033x";
        foldbport_iterator_get(&mut *iterator, Bytes::of(absent), &mut entry);
        let status = text(foldbport_iterator_status(&*iterator));
        foldbport_iterator_free(iterator);
        status
    };
    assert_eq!(blocks.in_use, 0);
    Ok((keys, status))
}

#[test]
fn a_table_is_read_as_written() {
    for lends in [false, true] {
        let mut file = File { lends, ..written(false) };
        let descending = (0..ENTRIES).rev().map(key);
        let expected: Vec<_> = descending.chain((0..ENTRIES).map(key)).collect();
        assert_eq!(all_keys(&mut file), Ok((expected, String::new())));
    }
}

#[test]
fn failures_and_damage_have_the_texts_of_leveldb() {
    assert!(!written(true).bytes.is_empty());
    let mut file = written(false);
    file.bytes[5] ^= 1;
    let (keys, status) = all_keys(&mut file).unwrap();
    assert!(keys.len() < 2 * ENTRIES as usize);
    assert_eq!(status, "failed: block checksum mismatch");
    file.fails = true;
    assert_eq!(all_keys(&mut file), Err("failed: ".to_owned()));
    file.bytes.truncate(40);
    let message = "failed: file is too short to be an sstable";
    assert_eq!(all_keys(&mut file), Err(message.to_owned()));
}
