//! Checks each option against its range, and the options that must agree with each other.
//!
//! Invariant: with options that pass, no sum or product of sizes overflows, and background work
//! advances.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::fold::{MergeOperator, builtin};
use crate::key::{BytewiseComparator, Comparator, GuardedPolicy};
use crate::options::Options;
use crate::options::declared::DECLARED;
use crate::settings::range::out_of_range;
use crate::user_code::guarded;

impl Options {
    /// Checks that every option is in its range. The floors keep a few thousand writes from making
    /// as many files. The ceilings keep sums of sizes within 64 bits.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range; `Unsupported` for
    /// [`Compression::Snappy`](crate::Compression::Snappy) or
    /// [`Compression::Zstd`](crate::Compression::Zstd) in a build without the cargo feature of that
    /// name.
    pub fn validate(&self) -> Result<()> {
        DECLARED.iter().try_for_each(|option| option.check(self))?;
        if self.level0_stop_trigger < self.level0_compaction_trigger {
            let range = "at least level0_compaction_trigger, or writes would stall for ever";
            return Err(out_of_range("level0_stop_trigger", &self.level0_stop_trigger, range));
        }
        self.default.check()?;
        if let Some(expiry) = self.default.expiry {
            return Err(Error::invalid_argument(format!(
                "expiry is {expiry} in Options.default, but entries of the keyspace 'default' \
                 never expire: create a keyspace with KeyspaceOptions::expiry for those that do"
            )));
        }
        check_operators(&self.operators)?;
        self.comparators.iter().try_for_each(|comparator| check_comparator(&**comparator))?;
        let mut policies = self.filter_policies.iter();
        policies.try_for_each(|policy| GuardedPolicy::new(Arc::clone(policy)).map(drop))?;
        self.check_compaction_filters()
    }

    /// # Errors
    /// `InvalidArgument` for two filters of one keyspace.
    fn check_compaction_filters(&self) -> Result<()> {
        let mut filtered = BTreeSet::new();
        match self.compaction_filters.iter().find(|(keyspace, _)| !filtered.insert(keyspace)) {
            None => Ok(()),
            Some((keyspace, _)) => Err(Error::invalid_argument(format!(
                "Options::compaction_filters has two filters of keyspace '{}': make one filter of \
                 both",
                keyspace.escape_debug()
            ))),
        }
    }
}

/// Longest name of an operator or comparator, in bytes.
const MAX_NAME: usize = 255;

/// # Errors
/// `InvalidArgument` for a name that another operator has or that is not allowed, and for an
/// operator that panics.
fn check_operators(operators: &[Arc<dyn MergeOperator>]) -> Result<()> {
    let mut known = BTreeSet::new();
    for operator in operators {
        let identity = check_operator(&**operator)?;
        let (name, _, version) = &identity;
        if known.contains(&identity) {
            return Err(Error::invalid_argument(format!(
                "Options::operators has two operators '{name}' of version {version} with the same \
                 parameters: give each a name of its own"
            )));
        }
        known.insert(identity);
    }
    Ok(())
}

/// Returns the name, parameters and version of an operator of the program.
///
/// # Errors
/// `InvalidArgument` for a name that is not allowed, and for an operator that panics.
pub(crate) fn check_operator(operator: &dyn MergeOperator) -> Result<(String, Vec<u8>, u32)> {
    let identity = guarded(|| {
        (operator.name().to_owned(), operator.parameters().to_vec(), operator.version())
    });
    let identity = identity.map_err(|panic| {
        Error::invalid_argument(format!(
            "an operator of Options::operators panicked when it was asked for its name, \
             parameters and version: {panic}"
        ))
    })?;
    check_operator_name(&identity.0)?;
    Ok(identity)
}

fn check_operator_name(name: &str) -> Result<()> {
    let refuse = |why: &str| {
        let shown = name.chars().take(80).collect::<String>();
        Err(Error::invalid_argument(format!(
            "'{}' is not a valid operator name in Options::operators: {why}",
            shown.escape_debug()
        )))
    };
    if name.is_empty() {
        return refuse("it is empty; use a name with a dot, such as 'app.counter'");
    }
    if builtin(name).is_some() {
        return refuse(
            "a built-in operator has this name, and needs no registration; for another operator \
             use a name with a dot, such as 'app.counter'",
        );
    }
    if name.contains(':') {
        return refuse("a colon separates a name from its parameter; leave the colon out");
    }
    if !name.contains('.') {
        return refuse(
            "names without a dot are kept for built-in operators; use one such as 'app.counter'",
        );
    }
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return refuse("a name has at most 255 bytes and no control characters");
    }
    Ok(())
}

/// # Errors
/// `InvalidArgument` for promises that contradict each other, for a name that is not allowed, and
/// for a comparator that panics.
pub(crate) fn check_comparator(comparator: &dyn Comparator) -> Result<()> {
    let asked = guarded(|| {
        let (bytewise, equality) = (comparator.bytewise_order(), comparator.bytewise_equality());
        (comparator.name().to_owned(), bytewise, equality)
    });
    let (name, bytewise, equality) = asked.map_err(|panic| {
        Error::invalid_argument(format!(
            "a comparator panicked when it was asked for its name and its promises: {panic}"
        ))
    })?;
    if bytewise && !equality {
        return Err(Error::invalid_argument(format!(
            "comparator '{name}' has bytewise_order without bytewise_equality, but in byte order \
             equal keys have equal bytes: return false from bytewise_order"
        )));
    }
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Error::invalid_argument(format!(
            "the name of a comparator must have 1 to {MAX_NAME} bytes and no control characters, \
             not '{}'",
            name.chars().take(80).collect::<String>().escape_debug()
        )));
    }
    if name == BytewiseComparator.name() && !bytewise {
        return Err(Error::invalid_argument(format!(
            "'{name}' is the name of the built-in byte order: give the comparator another name"
        )));
    }
    Ok(())
}
