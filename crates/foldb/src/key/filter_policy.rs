//! Filters of keys that the caller implements.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::user_code::guarded;

/// Makes filters over keys, and asks them whether they may hold a key.
///
/// A table stores filters of its keys. A point read skips a table whose filter rejects the key.
/// The built-in filter (the option `bloom_bits`) hashes the bytes of a key. A policy of the
/// program can do better where the program knows more about its keys. A keyspace whose comparator
/// calls different bytes equal has no built-in filter, but it may have a policy. The policy must
/// then treat equal keys as one key, whatever their bytes.
///
/// # What a policy must keep
/// A filter must admit every key that it was made of, and every key that the comparator calls equal
/// to one of them. If it rejects such a key, reads of the key miss the records in that table.
/// Iterators and compactions do not ask filters. They still see the records.
///
/// # Names and failures
/// Each table stores the policy's name. A table whose filter has another name is read without its
/// filter. So a changed encoding needs a new name.
///
/// If `create_filter` panics, the table has no filter for those keys. If `may_contain` panics, the
/// read searches the table. A [`crate::events::Event::BackgroundError`] describes the first panic
/// in background work.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use foldb::custom::FilterPolicy;
/// use foldb::{KeyspaceOptions, Options};
///
/// /// Remembers the first bytes of keys: enough where a table holds few of them.
/// #[derive(Debug)]
/// struct FirstBytes;
///
/// impl FilterPolicy for FirstBytes {
///     fn name(&self) -> &str { "example.first_bytes" }
///     fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>) {
///         out.extend(keys.iter().filter_map(|key| key.first()));
///         out.dedup();
///     }
///     fn may_contain(&self, key: &[u8], filter: &[u8]) -> bool {
///         key.first().is_none_or(|first| filter.contains(first))
///     }
/// }
/// let filter_policy = Some(Arc::new(FirstBytes) as Arc<dyn FilterPolicy>);
/// let default = KeyspaceOptions { filter_policy, ..KeyspaceOptions::default() };
/// let options = Options { default, ..Options::default() };
/// # options.validate()?;
/// # Ok::<(), foldb::Error>(())
/// ```
pub trait FilterPolicy: Debug + Send + Sync {
    /// Returns the name. Change it whenever the filters of the same keys change.
    fn name(&self) -> &str;
    /// Appends a filter of these keys to `out`, which is empty. The keys ascend in the order of the
    /// comparator. There is at least one.
    fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>);
    /// Returns whether `key` may be one of the keys that this filter was made of. `false` is
    /// certain.
    fn may_contain(&self, key: &[u8], filter: &[u8]) -> bool;
}

/// Longest name of a policy, in bytes.
const MAX_NAME: usize = 255;

/// A policy with its name, which is asked once. Panics of the policy are caught.
#[derive(Clone, Debug)]
pub struct GuardedPolicy {
    policy: Arc<dyn FilterPolicy>,
    name: Arc<str>,
    /// How it failed first, if it did.
    failure: Arc<OnceLock<Error>>,
}

impl GuardedPolicy {
    /// Asks a policy for its name, and guards its calls from then on.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not allowed, and for a policy that panics.
    pub fn new(policy: Arc<dyn FilterPolicy>) -> Result<GuardedPolicy> {
        let name = guarded(|| policy.name().to_owned()).map_err(|panic| {
            Error::invalid_argument(format!(
                "a filter policy panicked when it was asked for its name: {panic}"
            ))
        })?;
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(Error::invalid_argument(format!(
                "the name of a filter policy must have 1 to {MAX_NAME} bytes and no control \
                 characters, not '{}'",
                name.chars().take(80).collect::<String>().escape_debug()
            )));
        }
        Ok(GuardedPolicy { policy, name: name.into(), failure: Arc::default() })
    }

    /// Returns the policy itself.
    pub(crate) fn policy(&self) -> &Arc<dyn FilterPolicy> {
        &self.policy
    }

    /// Returns the policy's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Makes a filter in `out`. Returns `false` if the policy panicked; `out` then means nothing.
    pub(crate) fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let made = guarded(|| self.policy.create_filter(keys, out));
        made.map_err(|panic| self.note_panic("a table has no filter for some keys", &panic)).is_ok()
    }

    /// Returns whether the key may be in the filter; `true` if the policy panicked.
    pub(crate) fn may_contain(&self, key: &[u8], filter: &[u8]) -> bool {
        let answer = guarded(|| self.policy.may_contain(key, filter));
        answer.unwrap_or_else(|panic| {
            self.note_panic("the table was searched without its filter", &panic);
            true
        })
    }

    #[cold]
    fn note_panic(&self, effect: &str, panic: &str) {
        self.failure.get_or_init(|| {
            let name = &self.name;
            Error::invalid_argument(format!("filter policy '{name}' panicked: {panic}; {effect}"))
        });
    }

    /// Returns how the policy failed first, if it did.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Named(Option<&'static str>);

    impl FilterPolicy for Named {
        fn name(&self) -> &str {
            self.0.expect("a name")
        }

        fn create_filter(&self, _: &[&[u8]], _: &mut Vec<u8>) {
            panic!("no filter");
        }

        fn may_contain(&self, _: &[u8], _: &[u8]) -> bool {
            panic!("no answer");
        }
    }

    fn named(name: Option<&'static str>) -> Result<GuardedPolicy> {
        GuardedPolicy::new(Arc::new(Named(name)))
    }

    #[test]
    fn names_are_short_and_printable() {
        for name in [Some(""), Some("a\nb"), Some(&*"x".repeat(256).leak()), None] {
            let error = named(name).unwrap_err().to_string();
            assert!(error.contains("filter policy"), "{error}");
        }
        assert_eq!(named(Some(&*"x".repeat(255).leak())).unwrap().name().len(), 255);
    }

    #[test]
    fn a_panic_admits_every_key_and_the_first_one_is_kept() {
        let policy = named(Some("test.panics")).unwrap();
        assert!(policy.failure().is_none());
        assert!(!policy.create_filter(&[b"key"], &mut Vec::new()));
        assert!(policy.may_contain(b"key", b""));
        let failure = policy.failure().unwrap().to_string();
        assert!(failure.contains("'test.panics' panicked: no filter"), "{failure}");
    }
}
