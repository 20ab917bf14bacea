//! The statistics of an options object: to have them, and to read them.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use crate::boundary::{quiet, text_copy};
use crate::objects::histogram::rocksdb_statistics_histogram_data_t;
use crate::objects::statistics::{NOTHING, Statistics};
use crate::options::rocksdb_options_t;

unsafe fn statistics_of<'a>(options: *mut rocksdb_options_t) -> Option<&'a Arc<Statistics>> {
    options.as_ref()?.statistics.as_ref()
}

/// Gives the options new statistics.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_enable_statistics(options: *mut rocksdb_options_t) {
    if let Some(own) = options.as_mut() {
        own.statistics = Some(Arc::new(Statistics::new()));
    }
}

/// Sets what is counted from now on, also for databases that are open. Without statistics it sets
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_statistics_level(
    options: *mut rocksdb_options_t,
    level: i32,
) {
    if let Some(statistics) = statistics_of(options) {
        statistics.set_level(level);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_get_statistics_level(
    options: *mut rocksdb_options_t,
) -> i32 {
    statistics_of(options).map_or(NOTHING, |own| own.level())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_statistics_get_string(
    options: *mut rocksdb_options_t,
) -> *mut c_char {
    let report = quiet(None, || statistics_of(options).map(|own| own.report()));
    report.map_or(ptr::null_mut(), |report| text_copy(&report))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_statistics_get_ticker_count(
    options: *mut rocksdb_options_t,
    ticker: u32,
) -> u64 {
    quiet(None, || statistics_of(options)?.ticker(ticker)).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_statistics_get_histogram_data(
    options: *mut rocksdb_options_t,
    histogram: u32,
    data: *mut rocksdb_statistics_histogram_data_t,
) {
    let found = quiet(None, || statistics_of(options)?.histogram(histogram));
    if let (Some(found), Some(data)) = (found, data.as_mut()) {
        data.0 = found;
    }
}
