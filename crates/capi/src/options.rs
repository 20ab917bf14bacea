//! Options of databases, keyspaces, reads and writes.
//!
//! A database's options are set by name, with the names and choices of the Rust interface
//! (`foldb::Options`). So this interface has every option as soon as the engine has it.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use foldb::custom::{Comparator, CustomCache, FilterPolicy};
use foldb::env::Env;
use foldb::events::EventListener;
use foldb::operators::MergeOperator;
use foldb::{Error, KeyspaceOptions};
use foldb::{Options, ReadOptions, Result, Runtime, Snapshot, WriteOptions};

use crate::block_cache::{ForeignCache, foldb_block_cache_t};
use crate::boundary::{arg_mut, call, free, functions, text};
use crate::comparator::{ForeignComparator, foldb_comparator_t};
use crate::database::foldb_snapshot_t;
use crate::env::{self, foldb_env_t};
use crate::error::foldb_error_t;
use crate::expiry::{expires_after, expires_at};
use crate::filter_policy::{ForeignPolicy, foldb_filter_policy_t};
use crate::listener::{ForeignListener, foldb_listener_t};
use crate::operator::{ForeignOperator, foldb_operator_t};
use crate::runtime::foldb_runtime_t;

/// Options of a database.
#[derive(Default)]
pub struct foldb_options_t {
    /// The options that were set, by their names, in the order of the calls.
    named: Vec<(String, String)>,
    operators: Vec<Arc<dyn MergeOperator>>,
    comparator: Option<Arc<dyn Comparator>>,
    comparators: Vec<Arc<dyn Comparator>>,
    listeners: Vec<Arc<dyn EventListener>>,
    env: Option<Env>,
    block_cache: Option<Arc<dyn CustomCache>>,
    runtime: Option<Runtime>,
    filter_policy: Option<Arc<dyn FilterPolicy>>,
    filter_policies: Vec<Arc<dyn FilterPolicy>>,
}

impl foldb_options_t {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if Options::default().explain().iter().all(|option| option.name != name) {
            return Err(unknown(name));
        }
        Options::named([(name, value)])?;
        self.named.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn build(&self) -> Result<Options> {
        let named = self.named.iter().map(|(name, value)| (name, value));
        let mut options = Options::named(named)?;
        options.operators.clone_from(&self.operators);
        options.comparators.clone_from(&self.comparators);
        options.listeners.clone_from(&self.listeners);
        options.runtime.clone_from(&self.runtime);
        options.block_cache.clone_from(&self.block_cache);
        if let Some(env) = &self.env {
            options.env = env.clone();
        }
        options.default.filter_policy.clone_from(&self.filter_policy);
        options.default.comparator.clone_from(&self.comparator);
        options.filter_policies.clone_from(&self.filter_policies);
        Ok(options)
    }
}

/// Returns the error for a name that no option has. It tells the most similar one.
fn unknown(name: &str) -> Error {
    let likeness = |other: &str| strsim::normalized_damerau_levenshtein(name, other);
    let known = Options::default().explain();
    let nearest = known.iter().max_by(|a, b| likeness(a.name).total_cmp(&likeness(b.name)));
    let nearest = nearest.map_or("", |option| option.name);
    Error::invalid_argument(format!(
        "no option is called '{name}'; the nearest is '{nearest}', and `foldb options` lists all"
    ))
}

/// Returns the options of an open; NULL is the defaults.
///
/// # Safety
/// `options` is NULL, or options that were not freed.
///
/// # Errors
/// `InvalidArgument` for options that exclude each other.
pub(crate) unsafe fn database_options(options: *const foldb_options_t) -> Result<Options> {
    // SAFETY: as the caller promises.
    unsafe { options.as_ref() }.map_or_else(|| Ok(Options::default()), foldb_options_t::build)
}

/// Makes options of a database with their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_options_new() -> *mut foldb_options_t {
    Box::into_raw(Box::default())
}

/// Sets an option by its name, for example `("create_if_missing", "true")`,
/// `("merge_operator", "uint64add")`, `("write_buffer_size", "67108864")`,
/// `("compression", "none")` or `("profile", "write_heavy")`. `foldb options` of the command-line
/// tool lists names, defaults and meanings. Fails with `FOLDB_INVALID_ARGUMENT` for an unknown name
/// or a value of another type; the open checks ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_set(
    options: *mut foldb_options_t,
    name: *const c_char,
    value: *const c_char,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (options, name, value) =
            unsafe { (arg_mut(options, "options")?, text(name, "name")?, text(value, "value")?) };
        options.set(name, value)
    })
}

/// Registers a merge operator of the program. Copies the struct. From then on foldb owns its
/// `state`, also if this call fails, and calls `destructor` once when nothing uses the operator
/// any more. If `state` or `destructor` is NULL, nothing is called. A struct without its `size` is
/// refused, and foldb then owns nothing. The same holds for every struct of functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_add_operator(
    options: *mut foldb_options_t,
    operator: *const foldb_operator_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let operator = unsafe { ForeignOperator::take(&functions(operator, "operator")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.operators.push(Arc::new(operator));
        Ok(())
    })
}

/// Sets the order of the keys of the default keyspace. Copies the struct and owns `state`, as
/// `foldb_options_add_operator` does. Without it the order is that of the bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_set_comparator(
    options: *mut foldb_options_t,
    comparator: *const foldb_comparator_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let comparator = unsafe { ForeignComparator::take(&functions(comparator, "comparator")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.comparator = Some(Arc::new(comparator));
        Ok(())
    })
}

/// Registers the comparator of another keyspace, which every open of the database needs. Copies the
/// struct and owns `state`, as `foldb_options_add_operator` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_add_comparator(
    options: *mut foldb_options_t,
    comparator: *const foldb_comparator_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let comparator = unsafe { ForeignComparator::take(&functions(comparator, "comparator")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.comparators.push(Arc::new(comparator));
        Ok(())
    })
}

/// Sets the files of the databases, and if the environment has them, their threads and time. Copies
/// the struct and owns `state`, as `foldb_options_add_operator` does. Every call with these options
/// then uses the environment. Without it foldb uses the machine's files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_set_env(
    options: *mut foldb_options_t,
    env: *const foldb_env_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let env = unsafe { env::take(&functions(env, "env")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.env = Some(env);
        Ok(())
    })
}

/// Sets the filter policy of the default keyspace, and of keyspaces that are created without their
/// own. Copies the struct and owns `state`, as `foldb_options_add_operator` does. Without a policy,
/// tables have the built-in filter that the option `bloom_bits` sets. Every open sets the policy
/// again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_set_filter_policy(
    options: *mut foldb_options_t,
    policy: *const foldb_filter_policy_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let policy = unsafe { ForeignPolicy::take(&functions(policy, "policy")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.filter_policy = Some(Arc::new(policy));
        Ok(())
    })
}

/// Adds a listener, which gets the events of the databases. Copies the struct and owns `state`, as
/// `foldb_options_add_operator` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_add_listener(
    options: *mut foldb_options_t,
    listener: *const foldb_listener_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let listener = unsafe { ForeignListener::take(&functions(listener, "listener")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.listeners.push(Arc::new(listener));
        Ok(())
    })
}

/// Sets the cache for the blocks of the databases. Copies the struct and owns `state`, as
/// `foldb_options_add_operator` does. The option `block_cache_size` then has no effect, and the
/// cache is no part of the memory budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_set_block_cache(
    options: *mut foldb_options_t,
    cache: *const foldb_block_cache_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let cache = unsafe { ForeignCache::take(&functions(cache, "cache")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.block_cache = Some(Arc::new(cache));
        Ok(())
    })
}

/// Makes the databases share the threads and memory of a runtime; NULL is a runtime for each
/// database, the default. The sizes of memory and the number of threads are then those of the
/// runtime. The options keep the runtime, so the caller may free its own handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_set_runtime(
    options: *mut foldb_options_t,
    runtime: *const foldb_runtime_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (options, runtime) = unsafe { (arg_mut(options, "options")?, runtime.as_ref()) };
        options.runtime = runtime.map(|runtime| runtime.0.clone());
        Ok(())
    })
}

/// Registers the filter policy of another keyspace. A keyspace whose policy is not registered is
/// read without the filters that the policy made. Copies the struct and owns `state`, as
/// `foldb_options_add_operator` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_add_filter_policy(
    options: *mut foldb_options_t,
    policy: *const foldb_filter_policy_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let policy = unsafe { ForeignPolicy::take(&functions(policy, "policy")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.filter_policies.push(Arc::new(policy));
        Ok(())
    })
}

/// Frees options. NULL is allowed. A database that was opened with them is not affected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_options_free(options: *mut foldb_options_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(options) };
}

/// Options with which a keyspace is created. What is not set is as in the database's options.
#[derive(Default)]
pub struct foldb_keyspace_options_t(KeyspaceOptions);

/// Returns the options of a new keyspace; NULL is the defaults.
///
/// # Safety
/// `options` is NULL, or options that were not freed.
pub(crate) unsafe fn keyspace_options(options: *const foldb_keyspace_options_t) -> KeyspaceOptions {
    // SAFETY: as the caller promises.
    unsafe { options.as_ref() }.map(|options| options.0.clone()).unwrap_or_default()
}

/// Makes options of a keyspace.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_keyspace_options_new() -> *mut foldb_keyspace_options_t {
    Box::into_raw(Box::default())
}

/// Sets an option of a keyspace: `merge_operator`, `compression`, `bloom_bits`, `compaction`,
/// `value_separation_min`, `expiry` or `schema`. Fails with `FOLDB_INVALID_ARGUMENT` for another
/// name or a bad value. An expiry is `per-write`, `after-last-write:SECONDS` or
/// `after-first-write:SECONDS`, perhaps with `/BUCKET`, in seconds, to which ends are rounded up.
/// By default entries never expire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_options_set(
    options: *mut foldb_keyspace_options_t,
    name: *const c_char,
    value: *const c_char,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (options, name, value) =
            unsafe { (arg_mut(options, "options")?, text(name, "name")?, text(value, "value")?) };
        options.0 = KeyspaceOptions::named([(name, value)])?.or(&options.0);
        Ok(())
    })
}

/// Sets the order of the keyspace's keys. Copies the struct and owns `state`, as
/// `foldb_options_add_operator` does. Later opens of the database register the same comparator with
/// `foldb_options_add_comparator`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_options_set_comparator(
    options: *mut foldb_keyspace_options_t,
    comparator: *const foldb_comparator_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let comparator = unsafe { ForeignComparator::take(&functions(comparator, "comparator")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.0.comparator = Some(Arc::new(comparator));
        Ok(())
    })
}

/// Sets the filter policy of the keyspace. Copies the struct and owns `state`, as
/// `foldb_options_add_operator` does. Later opens of the database register the same policy with
/// `foldb_options_add_filter_policy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_options_set_filter_policy(
    options: *mut foldb_keyspace_options_t,
    policy: *const foldb_filter_policy_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let policy = unsafe { ForeignPolicy::take(&functions(policy, "policy")?)? };
        // SAFETY: the caller keeps the rules of the header.
        unsafe { arg_mut(options, "options")? }.0.filter_policy = Some(Arc::new(policy));
        Ok(())
    })
}

/// Frees options of a keyspace. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_options_free(options: *mut foldb_keyspace_options_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(options) };
}

/// Options of one write.
#[derive(Default)]
pub struct foldb_write_options_t(WriteOptions);

/// The options of a write without any.
static WRITE_DEFAULTS: WriteOptions = WriteOptions::DEFAULT;

/// Returns the options of a write; NULL is the defaults.
///
/// # Safety
/// `options` is NULL, or options that nothing changes or frees during `'a`.
#[inline]
pub(crate) unsafe fn write_options<'a>(options: *const foldb_write_options_t) -> &'a WriteOptions {
    // SAFETY: as the caller promises.
    unsafe { options.as_ref() }.map_or(&WRITE_DEFAULTS, |options| &options.0)
}

/// Makes options of a write with their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_write_options_new() -> *mut foldb_write_options_t {
    Box::into_raw(Box::default())
}

/// Says whether the write, and every earlier one, is on the medium when the call returns. Default:
/// false, which survives a kill of the process, and perhaps not a power loss.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_write_options_set_sync(
    options: *mut foldb_write_options_t,
    sync: bool,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        options.0.sync = sync;
        Ok(())
    })
}

/// Says whether to leave the log out. The write is then lost if the process ends before a flush.
/// Default: false. Together with sync the write fails with `FOLDB_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_write_options_set_disable_wal(
    options: *mut foldb_write_options_t,
    disable_wal: bool,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        options.0.disable_wal = disable_wal;
        Ok(())
    })
}

/// Sets the longest time, in microseconds, that the write may wait for flushes and compactions. A
/// write that would wait longer fails with `FOLDB_BUSY`. 0: never wait. Negative: as long as it
/// takes, the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_write_options_set_deadline_micros(
    options: *mut foldb_write_options_t,
    micros: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        options.0.deadline = u64::try_from(micros).ok().map(Duration::from_micros);
        Ok(())
    })
}

/// Sets for how many seconds the put or merge lives, in a keyspace with an expiry. 0: as the
/// keyspace says, the default. Negative: it never expires. The write of a batch refuses it; call
/// `foldb_batch_set_lifetime_seconds` instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_write_options_set_lifetime_seconds(
    options: *mut foldb_write_options_t,
    seconds: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        options.0.expires = expires_after(seconds);
        Ok(())
    })
}

/// Sets when the put or merge expires, in milliseconds since 1970, rounded up to a second. A moment
/// in the past: at once. Negative: never. `foldb_expires_at` stores such a time, so a copy can keep
/// the end of its original. The last call of this function and of
/// `foldb_write_options_set_lifetime_seconds` counts. The write of a batch refuses it; call
/// `foldb_batch_set_expires_at_millis` instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_write_options_set_expires_at_millis(
    options: *mut foldb_write_options_t,
    millis: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        options.0.expires = Some(expires_at(millis));
        Ok(())
    })
}

/// Frees options of a write. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_write_options_free(options: *mut foldb_write_options_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(options) };
}

/// Options of one read.
#[derive(Default)]
pub struct foldb_read_options_t(ReadOptions);

/// Returns the options of a read.
///
/// # Safety
/// `options` is NULL, or options that nothing changes or frees during `'a`.
#[inline]
pub(crate) unsafe fn read_options<'a>(
    options: *const foldb_read_options_t,
) -> Option<&'a ReadOptions> {
    // SAFETY: as the caller promises.
    unsafe { options.as_ref() }.map(|options| &options.0)
}

/// Makes options of a read with their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_read_options_new() -> *mut foldb_read_options_t {
    Box::into_raw(Box::default())
}

/// Reads the state of a snapshot; NULL is the current state, the default. The options keep the
/// snapshot, so the caller may free its own handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_read_options_set_snapshot(
    options: *mut foldb_read_options_t,
    snapshot: *const foldb_snapshot_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        // SAFETY: the caller keeps the rules of the header.
        let snapshot = unsafe { snapshot.as_ref() };
        options.0.snapshot = snapshot.map(|snapshot| Snapshot::clone(&snapshot.0));
        Ok(())
    })
}

/// Says whether the block cache keeps the blocks that the read loads. Default: true. A scan that is
/// not repeated leaves the blocks of other reads in the cache with false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_read_options_set_fill_cache(
    options: *mut foldb_read_options_t,
    fill_cache: bool,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let options = unsafe { arg_mut(options, "options")? };
        options.0.fill_cache = fill_cache;
        Ok(())
    })
}

/// Frees options of a read. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_read_options_free(options: *mut foldb_read_options_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(options) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_their_names() {
        let mut options = foldb_options_t::default();
        for (name, value) in [
            ("create_if_missing", "true"),
            ("write_buffer_size", "1048576"),
            ("merge_operator", "uint64add"),
            ("compression", "none"),
            ("max_dead_fraction", "0.25"),
        ] {
            options.set(name, value).unwrap();
        }
        let options = options.build().unwrap();
        assert!(options.create_if_missing);
        assert_eq!(options.write_buffer_size, 1 << 20);
        assert_eq!(options.default.merge_operator.as_deref(), Some("uint64add"));
        assert_eq!(options.default.compression, Some(foldb::Compression::None));
        assert_eq!(options.max_dead_fraction, 0.25);
    }

    #[test]
    fn every_option_that_is_no_handle_can_be_set() {
        for option in Options::default().explain().iter().filter(|option| !option.is_handle) {
            let mut options = foldb_options_t::default();
            options.set(option.name, &option.value.to_string()).unwrap();
            let set = options.build().unwrap().explain();
            let set = set.into_iter().find(|set| set.name == option.name).unwrap();
            assert_eq!(set.value.to_string(), option.value.to_string(), "{}", option.name);
        }
    }

    #[test]
    fn an_operator_may_be_named_by_a_number() {
        let mut options = foldb_options_t::default();
        options.set("merge_operator", "1").unwrap();
        assert_eq!(options.build().unwrap().default.merge_operator.as_deref(), Some("1"));
    }

    #[test]
    fn bad_options_name_themselves() {
        let mut options = foldb_options_t::default();
        let error = options.set("write_bufer_size", "1").unwrap_err().to_string();
        assert!(
            error.contains("'write_bufer_size'; the nearest is 'write_buffer_size'"),
            "{error}"
        );
        for (name, value) in [("write_buffer_size", "big"), ("compression", "rar")] {
            let error = options.set(name, value).unwrap_err();
            assert!(error.to_string().contains(&format!("{name}={value}")), "{error}");
        }
        assert!(options.named.is_empty());
    }
}
