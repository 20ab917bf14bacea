//! Runtimes: threads and memory that several databases share.

use std::ffi::c_char;

use foldb::{Error, Result, Runtime, RuntimeOptions};

use crate::boundary::{arg, arg_mut, call, check_out, free, store, text};
use crate::error::foldb_error_t;

/// Options of a runtime.
#[derive(Default)]
pub struct foldb_runtime_options_t(RuntimeOptions);

/// Makes options of a runtime with their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_runtime_options_new() -> *mut foldb_runtime_options_t {
    Box::into_raw(Box::default())
}

/// Sets an option of a runtime to a whole number: `memory_budget`, `block_cache_size`,
/// `compaction_memory_budget` (all in bytes), `max_open_files` or `background_threads`. Fails with
/// `FOLDB_INVALID_ARGUMENT` for another name or value; `foldb_runtime_new` checks ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_runtime_options_set(
    options: *mut foldb_runtime_options_t,
    name: *const c_char,
    value: *const c_char,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (options, name, value) =
            unsafe { (arg_mut(options, "options")?, text(name, "name")?, text(value, "value")?) };
        set(&mut options.0, name, value)
    })
}

fn set(options: &mut RuntimeOptions, name: &str, value: &str) -> Result<()> {
    let field = match name {
        "memory_budget" => &mut options.memory_budget,
        "block_cache_size" => &mut options.block_cache_size,
        "compaction_memory_budget" => &mut options.compaction_memory_budget,
        "max_open_files" => &mut options.max_open_files,
        "background_threads" => &mut options.background_threads,
        _ => {
            return Err(Error::invalid_argument(format!(
                "no option of a runtime is called '{name}'; there are memory_budget, \
                 block_cache_size, compaction_memory_budget, max_open_files and background_threads"
            )));
        }
    };
    let expected = |_| format!("runtime option {name}={value}: expected a whole number");
    *field = value.parse().map_err(expected).map_err(Error::invalid_argument)?;
    Ok(())
}

/// Frees options of a runtime. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_runtime_options_free(options: *mut foldb_runtime_options_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(options) };
}

/// Threads, a block cache and a memory budget for several databases. All threads may use it at the
/// same time.
pub struct foldb_runtime_t(pub(crate) Runtime);

/// Makes a runtime for `foldb_options_set_runtime`. NULL options are the defaults. The runtime's
/// threads start when there is work for them. They end once the last database is closed and all
/// handles and options with the runtime are freed. Stores the handle in `*runtime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_runtime_new(
    options: *const foldb_runtime_options_t,
    runtime: *mut *mut foldb_runtime_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(runtime, "runtime")?;
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { options.as_ref() }.map(|options| options.0.clone());
        let made = Runtime::new(options.unwrap_or_default())?;
        // SAFETY: checked above.
        unsafe { store(runtime, Box::into_raw(Box::new(foldb_runtime_t(made)))) };
        Ok(())
    })
}

/// Stores the bytes of memory that the databases of a runtime use now in `*bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_runtime_memory(
    runtime: *const foldb_runtime_t,
    bytes: *mut u64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(bytes, "bytes")?;
        // SAFETY: the caller keeps the rules of the header.
        let used = unsafe { arg(runtime, "runtime")? }.0.memory().total();
        // SAFETY: checked above.
        unsafe { store(bytes, used) };
        Ok(())
    })
}

/// Frees a runtime's handle. NULL is allowed. Databases that use the runtime are not affected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_runtime_free(runtime: *mut foldb_runtime_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(runtime) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_their_names() {
        let mut options = RuntimeOptions::default();
        for (name, value) in [
            ("memory_budget", "1"),
            ("block_cache_size", "2"),
            ("compaction_memory_budget", "3"),
            ("max_open_files", "4"),
            ("background_threads", "5"),
        ] {
            set(&mut options, name, value).unwrap();
        }
        assert_eq!((options.memory_budget, options.block_cache_size), (1, 2));
        assert_eq!((options.compaction_memory_budget, options.max_open_files), (3, 4));
        assert_eq!(options.background_threads, 5);
        for (name, value) in [("threads", "1"), ("max_open_files", "many")] {
            assert!(set(&mut options, name, value).unwrap_err().to_string().contains(name));
        }
    }
}
