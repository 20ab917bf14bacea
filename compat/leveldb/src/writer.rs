//! The functions under `leveldb::TableBuilder`. `cpp/table/formats.h` declares them.
//!
//! The functions of the file keep the status of a failure. C++ adds nothing to a table afterwards.

use foldb_leveldb_format::builder::{Settings, TableBuilder};

use crate::foreign::{Bytes, Comparator, FilterPolicy, Writable};

/// A table being written.
pub struct Builder(TableBuilder<Writable, Comparator, FilterPolicy>);

/// The options that may change while a table is written.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Choices {
    pub(crate) block_size: usize,
    pub(crate) restart_interval: usize,
    pub(crate) compress: bool,
}

impl From<Choices> for Settings {
    fn from(choices: Choices) -> Settings {
        let Choices { block_size, restart_interval, compress } = choices;
        Settings { block_size, restart_interval, compress }
    }
}

/// Begins a table.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_builder_new(
    file: &Writable,
    order: &Comparator,
    policy: &FilterPolicy,
    choices: &Choices,
) -> *mut Builder {
    let table = TableBuilder::new(*file, *order, policy.get(), (*choices).into());
    Box::into_raw(Box::new(Builder(table)))
}

/// Changes the options from the next entry on.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_builder_set(builder: &mut Builder, choices: &Choices) {
    builder.0.set((*choices).into());
}

/// Adds an entry.
///
/// # Safety
/// The bytes stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_builder_add(builder: &mut Builder, key: Bytes, value: Bytes) {
    // SAFETY: the caller's promise.
    let _kept_by_the_file = builder.0.add(unsafe { key.get() }, unsafe { value.get() });
}

/// Ends the present data block.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_builder_flush(builder: &mut Builder) {
    let _kept_by_the_file = builder.0.flush();
}

/// Writes the rest of the table.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_builder_finish(builder: &mut Builder) {
    let _kept_by_the_file = builder.0.finish();
}

/// Returns the number of added entries.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_builder_entries(builder: &Builder) -> u64 {
    builder.0.entries()
}

/// Returns the bytes that were written.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_builder_written(builder: &Builder) -> u64 {
    builder.0.written()
}

/// Frees a builder.
///
/// # Safety
/// `builder` comes from [`foldbport_builder_new`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_builder_free(builder: *mut Builder) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(builder) });
}
