//! The state that the edits of the manifest add up to.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::counters::Totals;
use crate::db::lifecycle::open::listing::KeyspaceInfo;
use crate::db::lifecycle::replay::Replayed;
use crate::db::state::keyspace::{DEFAULT_NAME, KeyspaceParts, check_name, check_schema};
use crate::db::state::tree::KeyspaceTree;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileNames, MAX_FILE_NUMBER};
use crate::fold::stamp::Moment;
use crate::fold::{Operator, Registry};
use crate::key::{
    BytewiseComparator, Comparator, DEFAULT_KEYSPACE, GuardedPolicy, KeyspaceId, OperatorId, SeqNo,
};
use crate::options::{KeyspaceOptions, Options, check_comparator};
use crate::segment::SegmentFiles;
use crate::settings::{KeyspaceSettings, MAX_LEVELS};
use crate::version::{CloseRecord, Edit, KeyspaceEdit, Recovered, TreeEdit, Version};
use crate::wal::{Predecessor, Tail};

/// The stored state of a database.
pub(crate) struct Stored {
    pub(crate) fresh: bool,
    /// Number of the manifest that holds this state; `None` for a new database.
    pub(crate) manifest: Option<u64>,
    /// The bytes after the manifest's valid end, with its path and the offset of that end.
    pub(crate) tail: Option<(PathBuf, u64, Tail)>,
    pub(crate) database: u64,
    pub(crate) log: u64,
    /// The log before `log`, if logs were kept for the change feed.
    pub(crate) feed_end: Option<Predecessor>,
    pub(crate) next_file: u64,
    pub(crate) next_run: u64,
    pub(crate) next_keyspace: KeyspaceId,
    pub(crate) last_seqno: SeqNo,
    /// The last second of the database's time.
    pub(crate) time: Moment,
    pub(crate) registry: Arc<Registry>,
    /// The number of operators that the manifest defines.
    operators: usize,
    pub(crate) totals: Arc<Totals>,
    pub(crate) keyspaces: BTreeMap<KeyspaceId, StoredKeyspace>,
    /// The names of all existing keyspaces.
    taken: HashSet<String>,
    /// Numbers of all tables and segment files that any edit names, needed or not.
    pub(crate) named: HashSet<u64>,
}

/// The stored state of a keyspace.
pub(crate) struct StoredKeyspace {
    id: KeyspaceId,
    name: String,
    comparator: Option<String>,
    num_levels: Option<u64>,
    default_operator: Option<OperatorId>,
    settings: Option<KeyspaceSettings>,
    filter_policy: Option<String>,
    schema: Option<String>,
    pub(crate) flushed_through: SeqNo,
    pub(crate) dead_share: f64,
    tree: Vec<Vec<TreeEdit>>,
}

impl Stored {
    /// Returns the state of a new database: the default keyspace, empty.
    pub(crate) fn create(options: &Options) -> Stored {
        let default = StoredKeyspace::new(DEFAULT_KEYSPACE, DEFAULT_NAME.to_owned());
        Stored {
            fresh: true,
            manifest: None,
            tail: None,
            database: options.env.random_seed(),
            log: 1,
            feed_end: None,
            next_file: 1,
            next_run: 1,
            next_keyspace: DEFAULT_KEYSPACE + 1,
            last_seqno: 0,
            time: 0,
            registry: Arc::new(Registry::new(options.operators.clone())),
            operators: 0,
            totals: Arc::default(),
            taken: HashSet::from([default.name.clone()]),
            keyspaces: BTreeMap::from([(DEFAULT_KEYSPACE, default)]),
            named: HashSet::new(),
        }
    }

    pub(crate) fn recover(
        recovered: Recovered,
        options: &Options,
        names: &FileNames,
    ) -> Result<Stored> {
        let manifest = Some(recovered.number);
        let path = names.manifest(recovered.number);
        let tail = Some((path.clone(), recovered.end, recovered.tail));
        let mut stored = Stored { fresh: false, manifest, tail, ..Stored::create(options) };
        for edit in recovered.edits {
            stored.absorb(edit).map_err(|error| error.in_file(&path))?;
        }
        stored.operators = stored.registry.resolver().dynamic_definitions().count();
        stored.registry.settle_upgrades();
        stored.next_file = stored.next_file.max(recovered.number + 1);
        Ok(stored)
    }

    /// Takes over what the record of a clean close knows.
    pub(crate) fn absorb_close(&mut self, closed: Option<&CloseRecord>) {
        if let Some(known) = closed.and_then(|closed| closed.known.as_ref()) {
            self.last_seqno = self.last_seqno.max(known.last_seqno);
            self.totals.restore(&known.totals);
        }
    }

    /// Returns whether the manifest describes these keyspaces as this open would, and all operators
    /// that it knows.
    pub(crate) fn describes(&self, trees: &BTreeMap<KeyspaceId, KeyspaceTree>) -> bool {
        let is_described = |own: &StoredKeyspace| {
            trees.get(&own.id).is_some_and(|tree| own.is_as(&tree.keyspace.describe()))
        };
        let operators = self.registry.resolver().dynamic_definitions().count();
        operators == self.operators && self.keyspaces.values().all(is_described)
    }

    /// Returns the last sequence number of the database, logged writes included.
    pub(crate) fn last_seqno_with(&self, replayed: &Replayed) -> SeqNo {
        let flushed = self.keyspaces.values().map(|own| own.flushed_through).max().unwrap_or(0);
        self.last_seqno.max(flushed).max(replayed.last_seqno)
    }

    fn absorb(&mut self, edit: Edit) -> Result<()> {
        self.database = edit.database.unwrap_or(self.database);
        if let Some(log) = edit.log {
            (self.log, self.feed_end) = (log, edit.feed_end);
        }
        self.next_file = edit.next_file.unwrap_or(self.next_file);
        if self.next_file > MAX_FILE_NUMBER {
            return Err(Error::corruption(format!(
                "expected the number of the next file to be at most {MAX_FILE_NUMBER}, found {}",
                self.next_file
            )));
        }
        self.next_run = edit.next_run.unwrap_or(self.next_run);
        self.next_keyspace = edit.next_keyspace.unwrap_or(self.next_keyspace);
        self.last_seqno = edit.last_seqno.unwrap_or(self.last_seqno);
        self.time = edit.time.unwrap_or(self.time);
        for definition in &edit.operators {
            self.registry.adopt(definition)?;
        }
        if let Some(totals) = &edit.totals {
            self.totals.restore(totals);
        }
        for change in edit.keyspaces {
            self.named.extend(change.tree.iter().filter_map(named_file));
            self.keyspace(&change)?.absorb(change);
        }
        for id in edit.dropped {
            let found = (id != DEFAULT_KEYSPACE).then(|| self.keyspaces.remove(&id)).flatten();
            let Some(dropped) = found else {
                return Err(Error::corruption(format!(
                    "expected the drop of an existing keyspace, found {id}"
                )));
            };
            self.taken.remove(&dropped.name);
        }
        Ok(())
    }

    /// Returns the keyspace that an edit changes, and creates it if the edit names it.
    fn keyspace(&mut self, change: &KeyspaceEdit) -> Result<&mut StoredKeyspace> {
        let id = change.id;
        if let Some(name) = &change.name {
            if self.keyspaces.contains_key(&id) || id >= self.next_keyspace {
                return Err(Error::corruption(format!(
                    "expected a new keyspace below {}, found '{name}' as {id}",
                    self.next_keyspace
                )));
            }
            if check_name(name).is_err() || !self.taken.insert(name.clone()) {
                return Err(Error::corruption(format!(
                    "expected a name that no keyspace has, found '{}'",
                    name.escape_debug()
                )));
            }
            self.keyspaces.insert(id, StoredKeyspace::new(id, name.clone()));
        }
        self.keyspaces
            .get_mut(&id)
            .ok_or_else(|| Error::corruption(format!("keyspace {id} is changed but is missing")))
    }
}

/// Returns the file that a change adds to a tree.
pub(crate) fn named_file(change: &TreeEdit) -> Option<u64> {
    match change {
        TreeEdit::Insert { file, .. } => Some(file.number),
        TreeEdit::Place(segment) => Some(segment.file),
        _ => None,
    }
}

impl StoredKeyspace {
    /// Returns what a listing tells of the keyspace.
    pub(crate) fn info(&self) -> KeyspaceInfo {
        let comparator = self.comparator.as_deref().unwrap_or(BytewiseComparator.name());
        KeyspaceInfo {
            name: self.name.clone(),
            comparator: comparator.to_owned(),
            schema: self.schema.clone(),
        }
    }

    fn new(id: KeyspaceId, name: String) -> StoredKeyspace {
        StoredKeyspace {
            id,
            name,
            comparator: None,
            num_levels: None,
            default_operator: None,
            settings: None,
            filter_policy: None,
            schema: None,
            flushed_through: 0,
            dead_share: 1.0,
            tree: Vec::new(),
        }
    }

    fn absorb(&mut self, change: KeyspaceEdit) {
        self.comparator = change.comparator.or_else(|| self.comparator.take());
        self.num_levels = change.num_levels.or(self.num_levels);
        self.default_operator = change.default_operator.or(self.default_operator);
        self.settings = change.settings.or(self.settings);
        self.filter_policy = change.filter_policy.or_else(|| self.filter_policy.take());
        self.schema = change.schema.or_else(|| self.schema.take());
        self.flushed_through = change.flushed_through.unwrap_or(self.flushed_through);
        self.dead_share = change.dead_share.unwrap_or(self.dead_share);
        if !change.tree.is_empty() {
            self.tree.push(change.tree);
        }
    }

    /// Returns whether the manifest has this description of the keyspace.
    fn is_as(&self, now: &KeyspaceEdit) -> bool {
        self.comparator == now.comparator
            && self.num_levels == now.num_levels
            && self.default_operator == now.default_operator
            && self.filter_policy == now.filter_policy
            && self.schema == now.schema
            && (now.settings.is_none() || self.settings == now.settings)
    }

    /// Returns the initial parts of the keyspace.
    ///
    /// # Errors
    /// `InvalidArgument` or `UnknownComparator` if its comparator is not registered.
    /// `InvalidArgument` if the options name another schema.
    /// `ComparatorFailed` if the registered comparator orders the keys differently. `Corruption` if
    /// the keyspace has too many levels, or its edits contradict each other.
    pub(crate) fn parts(
        &self,
        options: &Options,
        registry: &Arc<Registry>,
        segment_files: &Arc<SegmentFiles>,
    ) -> Result<KeyspaceParts> {
        let comparator = self.find_comparator(options)?;
        self.check_order(&*comparator)?;
        let stored_levels = self.num_levels.unwrap_or(options.num_levels as u64);
        if stored_levels > MAX_LEVELS as u64 {
            return Err(Error::corruption(format!(
                "expected at most {MAX_LEVELS} levels, found {stored_levels}"
            )));
        }
        // An open may make a tree deeper, but not shallower than its tables.
        let levels = options.num_levels.max(stored_levels as usize);
        let edits = self.tree.iter().map(Vec::as_slice);
        let version = Version::empty(levels).apply_all(edits, &*comparator, segment_files)?;
        let given = self.given(options);
        let spec = given.and_then(|own| own.merge_operator.as_deref());
        let (default_id, default_operator) =
            choose_default_operator(spec, self.default_operator, registry)?;
        let stored = self.settings.filter(|_| given.is_none());
        let filter_policy = self.find_filter_policy(options)?;
        let schema = self.find_schema(options)?;
        Ok(KeyspaceParts {
            id: self.id,
            name: self.name.as_str().into(),
            comparator,
            registry: Arc::clone(registry),
            default_operator,
            default_id,
            settings: stored.unwrap_or_else(|| options.default.settings()),
            filter_policy,
            filter_policy_name: self.filter_policy.as_deref().map(Arc::from),
            schema,
            compaction_filter: options.compaction_filter_of(&self.name),
            version: Arc::new(version),
        })
    }

    /// Returns the options that this open gives the keyspace. Only the keyspace `default` follows
    /// the options of each open.
    fn given<'a>(&self, options: &'a Options) -> Option<&'a KeyspaceOptions> {
        (self.id == DEFAULT_KEYSPACE).then_some(&options.default)
    }

    /// Returns the filter policy of the keyspace, from those that the caller registered. Without
    /// it, reads do not ask the filters that it made.
    fn find_filter_policy(&self, options: &Options) -> Result<Option<GuardedPolicy>> {
        match self.given(options) {
            Some(given) => given.guarded_policy(),
            None => options.policy_named(self.filter_policy.as_deref()),
        }
    }

    /// Returns the schema of the keyspace: the stored one, or in a new database that of the
    /// options.
    ///
    /// # Errors
    /// `InvalidArgument` if the options name another schema than the stored one.
    fn find_schema(&self, options: &Options) -> Result<Option<Arc<str>>> {
        let given = self.given(options).and_then(|own| own.schema.as_deref());
        // The manifest of a database describes its keyspaces, and a new one has none yet.
        let is_new = self.comparator.is_none();
        if is_new {
            return Ok(given.map(Arc::from));
        }
        check_schema(&self.name, self.schema.as_deref(), given)?;
        Ok(self.schema.as_deref().map(Arc::from))
    }

    /// Checks that the comparator agrees with the stored tables. Each open rebuilds the tree from
    /// its edits. In a different order the rebuilt tree would lack tables, and the open would make
    /// that loss durable.
    fn check_order(&self, comparator: &dyn Comparator) -> Result<()> {
        if comparator.bytewise_order() {
            return Ok(());
        }
        let inserted = self.tree.iter().flatten().filter_map(|change| match change {
            TreeEdit::Insert { file, lo, hi, .. } => Some((file, lo, hi)),
            _ => None,
        });
        for (file, lo, hi) in inserted {
            let samples = file.samples.iter().zip(file.samples.iter().skip(1));
            let ends: [(&[u8], &[u8]); 2] = [(lo, hi.key()), (&file.smallest, file.end.key())];
            let mut ascending = ends.into_iter().chain(samples);
            let is_turned = |(a, b): &(&[u8], &[u8])| comparator.compare(a, b).is_gt();
            if let Some((first, second)) = ascending.find(is_turned) {
                return Err(Error::new(
                    ErrorKind::ComparatorFailed,
                    format!(
                        "comparator '{}' of keyspace '{}' contradicts the order of its tables: in \
                         table {} the key '{}' comes before '{}'; nothing was changed, open it \
                         with the comparator that wrote it",
                        comparator.name(),
                        self.name,
                        file.number,
                        first.escape_ascii(),
                        second.escape_ascii(),
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Returns the comparator of the keyspace, from those that the caller registered.
    fn find_comparator(&self, options: &Options) -> Result<Arc<dyn Comparator>> {
        let default = options.default.comparator();
        let Some(name) = self.comparator.as_deref().filter(|name| *name != default.name()) else {
            return Ok(default);
        };
        if self.given(options).is_some() {
            return Err(Error::invalid_argument(format!(
                "the database is ordered by comparator '{name}', not '{}': open it with that one",
                default.name()
            )));
        }
        let comparator = options.comparator_named(name).ok_or_else(|| {
            Error::new(
                ErrorKind::UnknownComparator,
                format!(
                    "keyspace '{}' is ordered by comparator '{name}', which is not registered: add \
                     it to Options::comparators",
                    self.name
                ),
            )
        })?;
        check_comparator(&*comparator)?;
        Ok(comparator)
    }
}

/// Returns the default operator: the operator of the options, or else the stored one. A stored
/// operator stays stored even if its implementation is not registered.
fn choose_default_operator(
    spec: Option<&str>,
    stored: Option<OperatorId>,
    registry: &Arc<Registry>,
) -> Result<(Option<OperatorId>, Option<Operator>)> {
    let found = match (spec, stored) {
        (Some(spec), _) => {
            let implementation = registry.parse(spec)?;
            let id = match registry.id_of(&*implementation) {
                Some(id) => id,
                None => {
                    let definition = registry.next_definition(&*implementation);
                    registry.adopt(&definition)?;
                    definition.id
                }
            };
            Some((id, implementation))
        }
        (None, Some(id)) if registry.resolver().definition(id).is_none() => {
            let message = format!("the default operator {id} has no definition");
            return Err(Error::corruption(message));
        }
        (None, stored) => stored.and_then(|id| registry.standing_for(id)),
    };
    Ok(match found {
        None => (stored, None),
        Some((id, implementation)) => {
            let operator = Operator { id, registry: Arc::clone(registry), implementation };
            (Some(id), Some(operator))
        }
    })
}
