//! What follows from the options of a keyspace: their check, the settings that are stored,
//! and the code that stored names stand for.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::key::{BytewiseComparator, Comparator, GuardedPolicy};
use crate::options::declared::{find_of_keyspace, listed};
use crate::options::{KeyspaceOptions, Options, check_comparator};
use crate::rewriting::filter::CompactionFilterFactory;
use crate::settings::{Expiry, KeyspaceSettings};

impl KeyspaceOptions {
    /// Returns options with an operator of merges that name none, as `NAME` or `NAME:PARAM`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, KeyspaceOptions, Options};
    ///
    /// let default = KeyspaceOptions::with_operator("uint64add");
    /// let options = Options { create_if_missing: true, default, ..Options::default() };
    /// let db = Db::open(dir.path(), options)?;
    /// db.merge("visits", 1u64.to_le_bytes())?;
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn with_operator(spec: impl Into<String>) -> KeyspaceOptions {
        KeyspaceOptions { merge_operator: Some(spec.into()), ..KeyspaceOptions::default() }
    }

    /// Returns the options of these names and values, as [`Options::named`] does. Options that are
    /// not named are those of the keyspace `default`.
    ///
    /// # Errors
    /// As [`Options::named`]. `none` is no value of `value_separation_min` and of `expiry`: it
    /// would mean that of `default`.
    ///
    /// # Example
    /// ```
    /// use foldb::{Compression, KeyspaceOptions};
    ///
    /// let options = KeyspaceOptions::named([("compression", "none"), ("bloom_bits", "12")])?;
    /// assert_eq!(options.compression, Some(Compression::None));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn named<N: AsRef<str>, V: AsRef<str>>(
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<KeyspaceOptions> {
        let mut options = Options::default();
        for (name, value) in values {
            let (name, value) = (name.as_ref(), value.as_ref());
            let advice = match (name, value) {
                ("value_separation_min", "none") => "the largest number separates no value",
                ("expiry", "none") => "leave the option out, and no entry expires",
                _ => {
                    find_of_keyspace(name)?.set(&mut options, value)?;
                    continue;
                }
            };
            return Err(Error::invalid_argument(format!("option {name}=none: {advice}")));
        }
        Ok(options.default)
    }

    /// # Errors
    /// `InvalidArgument`, naming the option that is out of range or not allowed; `Unsupported` for
    /// a codec that this build lacks.
    pub(crate) fn check(&self) -> Result<()> {
        let options = Options { default: self.clone(), ..Options::default() };
        let mut own = listed().filter(|option| option.is_of_keyspace);
        own.try_for_each(|option| option.check(&options))?;
        self.compression().check_supported()?;
        self.expiry.as_ref().map_or(Ok(()), Expiry::check)?;
        self.schema.as_deref().map_or(Ok(()), check_schema_length)?;
        check_comparator(&*self.comparator())?;
        self.guarded_policy().map(drop)
    }

    /// Returns the given options whose stored values differ, each with both. The operators are
    /// compared as they are written.
    pub(crate) fn differences(&self, stored: &KeyspaceOptions) -> Vec<String> {
        let named = |options: &KeyspaceOptions| {
            let shown = |value: Option<&dyn fmt::Debug>| value.map(|value| format!("{value:?}"));
            let of_comparator = |own: &Arc<dyn Comparator>| format!("{:?}", own.name());
            [
                ("merge_operator", shown(options.merge_operator.as_ref().map(|own| own as _))),
                ("comparator", options.comparator.as_ref().map(of_comparator)),
                ("compression", shown(options.compression.as_ref().map(|own| own as _))),
                ("bloom_bits", shown(options.bloom_bits.as_ref().map(|own| own as _))),
                ("compaction", shown(options.compaction.as_ref().map(|own| own as _))),
                ("value_separation_min", options.separated_from().map(|own| own.to_string())),
                ("expiry", options.expiry.map(|own| own.to_string())),
            ]
        };
        let pairs = named(self).into_iter().zip(named(stored));
        let differing = pairs.filter_map(|((name, given), (_, stored))| {
            let (given, stored) = (given?, stored.unwrap_or_else(|| "none".to_owned()));
            (given != stored).then(|| format!("{name} is {stored}, and {given} is asked for"))
        });
        differing.collect()
    }

    /// Returns the least bytes of a separated value, if the options say so: values of entries that
    /// expire are not separated, whatever they say.
    fn separated_from(&self) -> Option<usize> {
        self.value_separation_min.filter(|_| self.expiry.is_none())
    }

    /// # Errors
    /// `InvalidArgument` for a filter policy that is not allowed.
    pub(crate) fn guarded_policy(&self) -> Result<Option<GuardedPolicy>> {
        self.filter_policy.clone().map(GuardedPolicy::new).transpose()
    }

    /// Returns the settings that the manifest stores of a keyspace. No value is separated if
    /// entries expire.
    pub(crate) fn settings(&self) -> KeyspaceSettings {
        KeyspaceSettings {
            compression: self.compression(),
            bloom_bits: self.bloom_bits(),
            compaction: self.compaction(),
            value_separation_min: match self.expiry {
                None => self.value_separation_min,
                Some(_) => Some(usize::MAX),
            },
            expiry: self.expiry,
        }
    }
}

/// Longest schema, in bytes.
const MAX_SCHEMA: usize = 1024;

/// # Errors
/// `InvalidArgument` for a text that is too long.
fn check_schema_length(schema: &str) -> Result<()> {
    if schema.len() <= MAX_SCHEMA {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "a schema has at most {MAX_SCHEMA} bytes, and this one has {}: '{}…'",
        schema.len(),
        schema.chars().take(80).collect::<String>().escape_debug()
    )))
}

impl Options {
    /// Returns the comparator of this name: that of the keyspace `default`, the built-in byte
    /// order, or one that the caller registered.
    pub(crate) fn comparator_named(&self, name: &str) -> Option<Arc<dyn Comparator>> {
        let default = self.default.comparator();
        if name == default.name() {
            return Some(default);
        }
        if name == BytewiseComparator.name() {
            return Some(Arc::new(BytewiseComparator));
        }
        self.comparators.iter().find(|comparator| comparator.name() == name).cloned()
    }

    /// Returns what makes the filters of a keyspace's compactions, if the caller gave it.
    pub(crate) fn compaction_filter_of(
        &self,
        keyspace: &str,
    ) -> Option<Arc<dyn CompactionFilterFactory>> {
        let mut own = self.compaction_filters.iter().filter(|(name, _)| name == keyspace);
        own.next().map(|(_, factory)| Arc::clone(factory))
    }

    /// Returns the filter policy of this name, if the caller registered it. A keyspace works
    /// without its policy.
    ///
    /// # Errors
    /// `InvalidArgument` for a policy that is not allowed.
    pub(crate) fn policy_named(&self, name: Option<&str>) -> Result<Option<GuardedPolicy>> {
        let Some(name) = name else { return Ok(None) };
        for policy in self.default.filter_policy.iter().chain(&self.filter_policies) {
            let policy = GuardedPolicy::new(Arc::clone(policy))?;
            if policy.name() == name {
                return Ok(Some(policy));
            }
        }
        Ok(None)
    }
}
