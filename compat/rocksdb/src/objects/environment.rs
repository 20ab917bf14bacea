//! Environments: the files that a database uses, and paths.
//!
//! A default environment is the operating system's. One in memory keeps its files as long as a
//! handle or an options object lives, so a program may close a database in it and open it again.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use foldb::env::{Env, MemFs};

use crate::boundary::{call, free, handle, path};
use crate::status::{Code, Status};

/// RocksDB: `Env`.
pub struct rocksdb_env_t(pub(crate) Arc<Environment>);

/// RocksDB: `EnvOptions`.
#[derive(Default)]
pub struct rocksdb_envoptions_t {
    _private: (),
}

/// RocksDB: `DbPath`. All files of a database lie in its own directory, so it has no effect.
pub struct rocksdb_dbpath_t {
    _private: (),
}

/// The files of a database. The counts of threads are kept for their getters.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The engine's environment; `None`: the operating system's.
    pub(crate) memory: Option<Env>,
    threads: [AtomicI32; 3],
}

/// The pools of threads, in the order of `threads`.
#[derive(Clone, Copy)]
enum Pool {
    Low,
    High,
    Bottom,
}

impl Environment {
    fn new(memory: Option<Env>) -> Arc<Environment> {
        Arc::new(Environment { memory, threads: [1.into(), 1.into(), 0.into()] })
    }

    /// Returns the environment of the engine.
    pub(crate) fn for_engine(&self) -> Env {
        self.memory.clone().unwrap_or_else(Env::system)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_create_default_env() -> *mut rocksdb_env_t {
    handle(rocksdb_env_t(Environment::new(None)))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_create_mem_env() -> *mut rocksdb_env_t {
    let memory = Env { fs: Arc::new(MemFs::new()), ..Env::system() };
    handle(rocksdb_env_t(Environment::new(Some(memory))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_env_destroy(env: *mut rocksdb_env_t) {
    free(env);
}

unsafe fn threads<'a>(env: *mut rocksdb_env_t, pool: Pool) -> &'a AtomicI32 {
    &(&(*env).0).threads[pool as usize]
}

/// Declares the functions of a pool of threads.
macro_rules! pools {
    ($($pool:ident: $set:ident, $get:ident;)*) => {$(
        /// The engine has its own threads, so the number is only kept.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(env: *mut rocksdb_env_t, count: c_int) {
            threads(env, Pool::$pool).store(count, Ordering::Relaxed);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(env: *mut rocksdb_env_t) -> c_int {
            threads(env, Pool::$pool).load(Ordering::Relaxed)
        }
    )*};
}

pools! {
    Low: rocksdb_env_set_background_threads, rocksdb_env_get_background_threads;
    Low: rocksdb_env_set_low_priority_background_threads,
        rocksdb_env_get_low_priority_background_threads;
    High: rocksdb_env_set_high_priority_background_threads,
        rocksdb_env_get_high_priority_background_threads;
    Bottom: rocksdb_env_set_bottom_priority_background_threads,
        rocksdb_env_get_bottom_priority_background_threads;
}

/// Declares functions of an environment that need nothing done.
macro_rules! without_effect {
    ($($name:ident)*) => {$(
        /// The threads of a database end when it is closed, and have the priority of the process.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_env: *mut rocksdb_env_t) {}
    )*};
}

without_effect! {
    rocksdb_env_join_all_threads
    rocksdb_env_lower_thread_pool_io_priority
    rocksdb_env_lower_high_priority_thread_pool_io_priority
    rocksdb_env_lower_thread_pool_cpu_priority
    rocksdb_env_lower_high_priority_thread_pool_cpu_priority
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_envoptions_create() -> *mut rocksdb_envoptions_t {
    handle(rocksdb_envoptions_t::default())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_envoptions_destroy(options: *mut rocksdb_envoptions_t) {
    free(options);
}

/// Makes a directory, with its parents, where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_dir_if_missing(
    env: *mut rocksdb_env_t,
    directory: *const c_char,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let directory = path(directory, "path")?;
        if env.as_ref().is_some_and(|env| env.0.memory.is_some()) {
            return Ok(());
        }
        std::fs::create_dir_all(&directory).map_err(|error| {
            Status::new(Code::IoError, format!("{}: {error}", directory.display()))
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_dbpath_create(
    _directory: *const c_char,
    _target_size: u64,
) -> *mut rocksdb_dbpath_t {
    handle(rocksdb_dbpath_t { _private: () })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_dbpath_destroy(own: *mut rocksdb_dbpath_t) {
    free(own);
}
