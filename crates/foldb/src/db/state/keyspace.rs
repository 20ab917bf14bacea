//! The state of one keyspace: its order, its settings, and the view that readers load.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use crate::compaction::policy::Policy;
use crate::db::state::damage::DamagedParts;
use crate::db::state::gc_backoff::GcBackoff;
use crate::db::state::lost_time::LostTime;
use crate::db::state::pace::Pace;
use crate::db::state::view::{View, ViewCell};
use crate::error::{Error, ErrorKind, Result};
use crate::fold::{Operator, Registry};
use crate::iterator::DeadStretches;
use crate::key::{
    Comparator, DEFAULT_KEYSPACE, GuardedPolicy, KeyBounds, KeyspaceId, OperatorId, check_ends,
    check_key,
};
use crate::options::KeyspaceOptions;
use crate::rewriting::filter::CompactionFilterFactory;
use crate::rewriting::filtering::KeyspaceFilters;
use crate::rewriting::memory::WorkMemory;
use crate::segment::GrowingFiles;
use crate::settings::Settings;
use crate::settings::{Expiry, KeyspaceSettings, LogAdoption};
use crate::user_code::guarded;
use crate::version::{KeyspaceEdit, OpenTables, Version};
use crate::wal::LEAST_BY_DEFAULT;

/// Name of the keyspace that every database has.
pub(crate) const DEFAULT_NAME: &str = "default";

/// Longest name of a keyspace, in bytes.
const MAX_NAME: usize = 255;

/// One keyspace. Its handles and the database share it.
pub(crate) struct KeyspaceState {
    pub(crate) id: KeyspaceId,
    pub(crate) name: Arc<str>,
    pub(crate) comparator: Arc<dyn Comparator>,
    /// Whether the keys are not in byte order. If so, each key of a caller is checked.
    pub(crate) custom_order: bool,
    /// Whether values and operands have stamps, because the entries expire.
    pub(crate) stamps: bool,
    /// The database's operators. It also identifies the database.
    pub(crate) registry: Arc<Registry>,
    /// The default operator, as it was at the open or at the creation of the keyspace.
    default_operator: Option<Operator>,
    /// The id of the default operator, even if its implementation is not registered.
    default_id: Option<OperatorId>,
    /// Whether the default operator was removed since then.
    operator_unset: AtomicBool,
    /// The settings, with the lifetime of entries at the open or creation; see
    /// [`KeyspaceState::expiry`].
    pub(crate) settings: KeyspaceSettings,
    /// The expiry since a caller changed the lifetime of entries.
    changed_expiry: ArcSwapOption<Expiry>,
    /// The smallest value, in bytes, that is logged so that a flush can adopt it: use the log as a
    /// value segment instead of copying the value. `usize::MAX` if no value is.
    pub(crate) separable_from: usize,
    pub(crate) num_levels: usize,
    pub(crate) policy: Policy,
    pub(crate) tables: Arc<OpenTables>,
    pub(crate) view: ViewCell,
    /// Files that flushes and compactions append value segments to.
    pub(crate) growing: GrowingFiles,
    /// When garbage collection checks the keyspace's segments again.
    pub(crate) gc_backoff: GcBackoff,
    /// The compaction debt at the last look, in bytes. `Relaxed`: a figure for statistics.
    pub(crate) last_debt: AtomicU64,
    /// The pace of its writes.
    pub(crate) pace: Pace,
    /// The time that reads lost: see [`crate::db::read::lost_time`].
    pub(crate) lost_time: LostTime,
    /// The parts of its tables that cannot be read, as far as compactions met them.
    pub(crate) damage: DamagedParts,
    /// The deleted keys that walks found.
    pub(crate) dead: DeadStretches,
    dropped: AtomicBool,
    /// How the comparator failed, if it did. The keyspace then takes no more writes.
    failure: OnceLock<Error>,
    /// Whether listeners know of the failure. The swap, `AcqRel`, has one winner. The failure
    /// itself is in a `OnceLock`.
    failure_told: AtomicBool,
    /// Makes and reads the filters of tables, if the caller registered the policy.
    pub(crate) filter_policy: Option<GuardedPolicy>,
    /// The name of the policy, even if it is not registered.
    filter_policy_name: Option<Arc<str>>,
    /// How the program encodes keys and values, as it said when it created the keyspace.
    schema: Option<Arc<str>>,
    /// Whether listeners know of a panic of the policy. Its memory order is that of
    /// `failure_told`.
    policy_failure_told: AtomicBool,
    /// The filters of its compactions, if the caller set a factory.
    filters: ArcSwapOption<KeyspaceFilters>,
}

/// The initial parts of a keyspace.
pub(crate) struct KeyspaceParts {
    pub(crate) id: KeyspaceId,
    pub(crate) name: Arc<str>,
    pub(crate) comparator: Arc<dyn Comparator>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) default_operator: Option<Operator>,
    pub(crate) default_id: Option<OperatorId>,
    pub(crate) settings: KeyspaceSettings,
    pub(crate) filter_policy: Option<GuardedPolicy>,
    /// The name of the policy, even if it is not registered.
    pub(crate) filter_policy_name: Option<Arc<str>>,
    /// How the program encodes keys and values.
    pub(crate) schema: Option<Arc<str>>,
    /// Makes the filters of its compactions.
    pub(crate) compaction_filter: Option<Arc<dyn CompactionFilterFactory>>,
    pub(crate) version: Arc<Version>,
}

impl KeyspaceParts {
    /// Returns the open tables as this keyspace sees them.
    pub(crate) fn open_tables(&self, tables: &OpenTables) -> OpenTables {
        tables.for_keyspace(self.id, Arc::clone(&self.comparator), self.filter_policy.clone())
    }
}

impl KeyspaceState {
    /// Makes a keyspace whose tables are opened through `tables`, and compacted in this memory.
    pub(crate) fn new(
        parts: KeyspaceParts,
        settings: &Settings,
        tables: &OpenTables,
        memory: &WorkMemory,
    ) -> Arc<KeyspaceState> {
        let num_levels = parts.version.levels.len();
        let policy = Policy::new(parts.settings.compaction, num_levels, settings, memory);
        let adopt_logs = settings.segments.adopt_logs;
        let separable_from =
            parts.settings.value_separation_min.and_then(|least| match adopt_logs {
                LogAdoption::Never => None,
                LogAdoption::InKeyOrder => Some(least.max(LEAST_BY_DEFAULT)),
                LogAdoption::Always => Some(least),
            });
        let tables = parts.open_tables(tables);
        let state = KeyspaceState {
            id: parts.id,
            name: parts.name,
            custom_order: !parts.comparator.bytewise_order(),
            stamps: parts.settings.expiry.is_some(),
            comparator: parts.comparator,
            registry: parts.registry,
            default_operator: parts.default_operator,
            default_id: parts.default_id,
            operator_unset: AtomicBool::new(false),
            settings: parts.settings,
            changed_expiry: ArcSwapOption::empty(),
            separable_from: separable_from.unwrap_or(usize::MAX),
            num_levels,
            policy,
            tables: Arc::new(tables),
            view: ViewCell::new(View::of(parts.version)),
            growing: GrowingFiles::default(),
            gc_backoff: GcBackoff::default(),
            last_debt: AtomicU64::new(0),
            pace: Pace::default(),
            lost_time: LostTime::default(),
            damage: DamagedParts::default(),
            dead: DeadStretches::default(),
            dropped: AtomicBool::new(false),
            failure: OnceLock::new(),
            failure_told: AtomicBool::new(false),
            filter_policy: parts.filter_policy,
            filter_policy_name: parts.filter_policy_name,
            schema: parts.schema,
            policy_failure_told: AtomicBool::new(false),
            filters: ArcSwapOption::empty(),
        };
        state.set_compaction_filter(parts.compaction_filter);
        Arc::new(state)
    }

    /// Returns the filters of compactions that begin now, if the caller set a factory.
    pub(crate) fn filters(&self) -> Option<Arc<KeyspaceFilters>> {
        self.filters.load_full()
    }

    /// Replaces the factory of the filters.
    pub(crate) fn set_compaction_filter(&self, factory: Option<Arc<dyn CompactionFilterFactory>>) {
        let (keyspace, stamps) = (Arc::clone(&self.name), self.stamps);
        let filters = factory.map(|factory| KeyspaceFilters { factory, keyspace, stamps });
        self.filters.store(filters.map(Arc::new));
    }

    /// Returns the runs of level 0 that compactions can take away now, for the triggers that slow
    /// and stop writers. 0 if the comparator has failed.
    pub(crate) fn level0_runs(&self, version: &Version) -> usize {
        if self.damage.is_empty() {
            return version.levels[0].runs.len();
        }
        let comparator = &*self.comparator;
        let count = || Ok(self.damage.level0_runs(version, comparator));
        self.guarded("the count of runs", count).unwrap_or(0)
    }

    /// Checks that the keyspace was not dropped. The caller loads the view *before* this call. So a
    /// reader whose view the drop emptied gets the error.
    ///
    /// # Errors
    /// `KeyspaceDropped`.
    #[inline]
    pub(crate) fn check_exists(&self) -> Result<()> {
        if self.is_dropped() { Err(dropped(&self.name)) } else { Ok(()) }
    }

    /// Checks that the comparator can compare a key of the caller. Byte order can compare every
    /// key.
    ///
    /// # Errors
    /// `InvalidArgument`.
    #[inline(always)]
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<()> {
        if self.custom_order { check_key(&*self.comparator, key) } else { Ok(()) }
    }

    /// Does the same as [`KeyspaceState::check_key`] for a write, and fails if the comparator has
    /// failed.
    ///
    /// # Errors
    /// `InvalidArgument`; `ComparatorFailed`.
    #[inline(always)]
    pub(crate) fn check_key_to_write(&self, key: &[u8]) -> Result<()> {
        if self.custom_order { self.check_custom_key_to_write(key) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_custom_key_to_write(&self, key: &[u8]) -> Result<()> {
        self.check_comparator()?;
        check_key(&*self.comparator, key)
    }

    /// # Errors
    /// `ComparatorFailed` if the comparator has failed.
    #[inline(never)]
    pub(crate) fn check_comparator(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Returns whether the comparator has failed. If so, the keyspace gets no more background work.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Runs work that calls the comparator. A custom comparator may panic, or contradict itself so
    /// that assertions of the engine fail. Such a failure affects only this keyspace. In byte order
    /// a panic is a bug of the engine and is not caught.
    ///
    /// # Errors
    /// `ComparatorFailed` if the comparator fails; the errors of the work.
    pub(crate) fn guarded<T>(&self, doing: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.custom_order {
            return work();
        }
        let what = match guarded(work) {
            Ok(Err(error)) if error.kind() == ErrorKind::ComparatorFailed => error.to_string(),
            Ok(outcome) => return outcome,
            Err(panic) => format!("it panicked ({panic})"),
        };
        Err(self.fail(doing, &what))
    }

    /// Notes that the comparator panicked while it placed a logged write in the memtable.
    pub(crate) fn note_misplaced(&self, panic: &str) {
        self.fail("a write", &format!("it panicked ({panic})"));
    }

    /// Notes a failure of the comparator. Returns the first one.
    fn fail(&self, doing: &str, what: &str) -> Error {
        let name = guarded(|| self.comparator.name().to_owned()).unwrap_or_default();
        let failure = Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "{doing} of keyspace '{}' failed: {what}; its comparator '{name}' panics or is \
                 not a total order. This keyspace takes no more writes, the others do; reopen the \
                 database with a total order",
                self.name
            ),
        );
        self.failure.get_or_init(|| failure).clone()
    }

    /// Returns the failure of the comparator at the first call after it, and `None` at later calls.
    pub(crate) fn take_unreported_failure(&self) -> Option<Error> {
        let failure = self.failure.get()?;
        (!self.failure_told.swap(true, Ordering::AcqRel)).then(|| failure.clone())
    }

    /// Returns the first panic of the filter policy at the first call after it, and `None` at later
    /// calls.
    pub(crate) fn take_unreported_policy_failure(&self) -> Option<Error> {
        let failure = self.filter_policy.as_ref()?.failure()?;
        let is_new = !self.policy_failure_told.swap(true, Ordering::AcqRel);
        is_new.then(|| failure.clone().prefixed(&format!("keyspace '{}': ", self.name)))
    }

    /// Checks the ends of a range as [`KeyspaceState::check_key`] does.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(crate) fn check_ends(&self, range: KeyBounds<'_>) -> Result<()> {
        if self.custom_order { check_ends(&*self.comparator, range) } else { Ok(()) }
    }

    #[inline]
    pub(crate) fn is_dropped(&self) -> bool {
        // Acquire: pairs with the Release of `mark_dropped`.
        self.dropped.load(Ordering::Acquire)
    }

    /// Marks the keyspace as dropped. Readers keep the views that they have loaded; later reads
    /// load an empty view.
    pub(crate) fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
        self.view.clear();
    }

    /// Returns the default operator, if the keyspace has one.
    #[inline]
    pub(crate) fn merge_operator(&self) -> Option<&Operator> {
        // Relaxed: which operator a concurrent merge gets is open, and no data follows.
        let is_set = !self.operator_unset.load(Ordering::Relaxed);
        self.default_operator.as_ref().filter(|_| is_set)
    }

    /// Removes the default operator, or restores it. Returns whether it was removed before.
    pub(crate) fn unset_operator(&self, unset: bool) -> bool {
        self.operator_unset.swap(unset, Ordering::Relaxed)
    }

    /// Returns the spec of the default operator, even if its implementation is not registered.
    pub(crate) fn operator_spec(&self) -> Option<String> {
        self.default_id().map(|id| self.registry.resolver().name(id))
    }

    fn default_id(&self) -> Option<OperatorId> {
        let is_set = !self.operator_unset.load(Ordering::Relaxed);
        self.default_id.filter(|_| is_set)
    }

    /// Returns the default operator.
    ///
    /// # Errors
    /// `InvalidArgument` if the keyspace has no default operator, `UnknownOperator` if it is not
    /// registered.
    #[inline]
    pub(crate) fn default_operator(&self) -> Result<&Operator> {
        self.merge_operator().ok_or_else(|| self.no_default_operator())
    }

    #[cold]
    fn no_default_operator(&self) -> Error {
        let resolver = self.registry.resolver();
        if let Some(definition) = self.default_id().and_then(|id| resolver.definition(id)) {
            return self.registry.unknown_operator(definition);
        }
        let message = if self.id == DEFAULT_KEYSPACE {
            "the keyspace 'default' has no default merge operator: set \
             Options.default.merge_operator, or use merge_with"
                .to_owned()
        } else {
            format!("keyspace '{}' has no default merge operator: use merge_with", self.name)
        };
        Error::invalid_argument(message)
    }

    /// Returns the expiry that writes get now.
    #[inline]
    pub(crate) fn expiry(&self) -> Option<Expiry> {
        let opened = self.settings.expiry?;
        Some(self.changed_expiry.load().as_deref().copied().unwrap_or(opened))
    }

    /// Changes the expiry that writes get from now on. The caller stores it.
    pub(crate) fn change_expiry(&self, expiry: Expiry) {
        debug_assert!(self.stamps, "records of a keyspace have stamps from its creation on");
        self.changed_expiry.store(Some(Arc::new(expiry)));
    }

    /// Returns the settings as they are now, for what describes the keyspace to others.
    pub(crate) fn settings_now(&self) -> KeyspaceSettings {
        KeyspaceSettings { expiry: self.expiry(), ..self.settings }
    }

    /// Returns the options in effect.
    pub(crate) fn options(&self) -> KeyspaceOptions {
        KeyspaceOptions {
            merge_operator: self.operator_spec(),
            comparator: Some(Arc::clone(&self.comparator)),
            compression: Some(self.settings.compression),
            bloom_bits: Some(self.settings.bloom_bits),
            filter_policy: self.filter_policy.as_ref().map(|own| Arc::clone(own.policy())),
            compaction: Some(self.settings.compaction),
            value_separation_min: self.settings.value_separation_min,
            expiry: self.expiry(),
            schema: self.schema.as_deref().map(str::to_owned),
        }
    }

    /// Returns how the program encodes keys and values, if it said so.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// Returns the manifest's description of the keyspace's fixed properties.
    pub(crate) fn describe(&self) -> KeyspaceEdit {
        let is_default = self.id == DEFAULT_KEYSPACE;
        KeyspaceEdit {
            id: self.id,
            // The default keyspace always exists and follows the options of each open.
            name: (!is_default).then(|| String::from(&*self.name)),
            settings: (!is_default).then(|| self.settings_now()),
            comparator: Some(self.comparator.name().to_owned()),
            num_levels: Some(self.num_levels as u64),
            default_operator: self.default_id(),
            filter_policy: self.filter_policy_name.as_deref().map(str::to_owned),
            schema: self.schema.as_deref().map(str::to_owned),
            ..KeyspaceEdit::default()
        }
    }
}

impl fmt::Debug for KeyspaceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keyspace {} '{}'", self.id, self.name)
    }
}

/// # Errors
/// `InvalidArgument` for a name that is not allowed; the message states the rule.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if (1..=MAX_NAME).contains(&name.len()) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "the name of a keyspace must have 1 to {MAX_NAME} bytes and no control characters, not \
         '{}'",
        name.escape_debug().take(80).collect::<String>()
    )))
}

/// Checks that a program encodes keys and values as the keyspace says. A program that says nothing
/// may use any keyspace.
///
/// # Errors
/// `InvalidArgument`, with both texts.
pub(crate) fn check_schema(name: &str, stored: Option<&str>, given: Option<&str>) -> Result<()> {
    let Some(given) = given.filter(|given| stored != Some(*given)) else { return Ok(()) };
    let given = given.escape_debug();
    let has = stored.map_or("has no schema".to_owned(), |stored| {
        format!("was created with the schema '{}'", stored.escape_debug())
    });
    Err(Error::invalid_argument(format!(
        "keyspace '{name}' {has}, and is opened with the schema '{given}': open it with the \
         program that encoded its keys and values, or without a schema"
    )))
}

/// Returns the error of a call on a dropped keyspace.
#[cold]
pub(crate) fn dropped(name: &str) -> Error {
    Error::new(
        ErrorKind::KeyspaceDropped,
        format!("keyspace '{name}' was dropped; create it anew to use the name again"),
    )
}
