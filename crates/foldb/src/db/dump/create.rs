//! The new database of a restore: its operators and keyspaces, before it has entries.
//!
//! The database is created, gets the definitions of all operators and keyspaces, and is opened
//! again. The second open finds the implementations as every open does, newer versions of an
//! operator included. So an operator that is not registered is no obstacle: the new database knows
//! its name, version and parameters.
//!
//! Invariant: nothing is created before the whole description has been checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::dump::record::Described;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::state::keyspace::{DEFAULT_NAME, KeyspaceParts, check_name};
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Definition;
use crate::key::{Comparator, DEFAULT_KEYSPACE, OperatorId};
use crate::options::{KeyspaceOptions, Options};
use crate::version::{Edit, KeyspaceEdit, Version};

/// A database without entries.
pub(super) struct Created {
    pub(super) db: Db,
    /// In the order of the dump.
    pub(super) keyspaces: Vec<Keyspace>,
    /// The id in the new database of each operator of the dump.
    pub(super) operators: BTreeMap<OperatorId, OperatorId>,
}

/// The description of a database at the beginning of a dump.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub(super) operators: Vec<Definition>,
    pub(super) keyspaces: Vec<Described>,
}

/// A keyspace with the code that its description names.
struct Planned<'a> {
    described: &'a Described,
    comparator: Arc<dyn Comparator>,
    options: KeyspaceOptions,
}

impl Description {
    /// Checks the description against what the program has registered.
    ///
    /// # Errors
    /// `UnknownComparator` if a comparator is missing. `Unsupported` for an unknown setting or
    /// codec, `InvalidArgument` for a bad name or setting. `Corruption` if the description
    /// contradicts itself.
    fn plan(&self, options: &Options) -> Result<Vec<Planned<'_>>> {
        let known: BTreeSet<OperatorId> = self.operators.iter().map(|own| own.id).collect();
        if known.len() < self.operators.len() {
            return Err(Error::corruption("the dump defines an operator twice"));
        }
        let mut names = BTreeSet::new();
        let mut planned = Vec::with_capacity(self.keyspaces.len());
        for described in &self.keyspaces {
            let name = described.name.escape_debug();
            check_name(&described.name)?;
            if !names.insert(&described.name[..]) {
                return Err(Error::corruption(format!("the dump has keyspace '{name}' twice")));
            }
            if let Some(id) = described.default_operator.filter(|id| !known.contains(id)) {
                return Err(Error::corruption(format!(
                    "keyspace '{name}' has operator {id}, which the dump does not define"
                )));
            }
            let comparator = find_comparator(described, options)?;
            let own = described.options()?;
            own.check()?;
            planned.push(Planned { described, comparator, options: own });
        }
        if !names.contains(DEFAULT_NAME) {
            return Err(Error::corruption(format!("the dump has no keyspace '{DEFAULT_NAME}'")));
        }
        Ok(planned)
    }

    /// Creates a database of this description, marked as unfinished.
    ///
    /// # Errors
    /// As [`Description::plan`] and [`Db::open`]. `created` gets the id of the database, if one
    /// exists by then.
    pub(super) fn create(
        &self,
        path: &Path,
        options: &Options,
        created: &mut Option<u64>,
    ) -> Result<Created> {
        let planned = self.plan(options)?;
        let mut options =
            Options { create_if_missing: true, error_if_exists: true, ..options.clone() };
        if let Some(default) = planned.iter().find(|own| own.described.name == DEFAULT_NAME) {
            // Every open gives the options of the default keyspace. These hold for the restore.
            let schema = default.options.schema.clone();
            options.default = default.options.clone().or(&options.default);
            options.default.schema = schema;
            options.default.comparator = Some(Arc::clone(&default.comparator));
        }
        options.default.merge_operator = None;
        let db = Db::open_to_restore(path, options.clone())?;
        let core = db.core();
        *created = Some(core.database);
        adopt(core, &self.operators)?;
        let operators = core.ids_of(&self.operators);
        for own in &planned {
            let default_id = own.described.default_operator.and_then(|id| operators.get(&id));
            define(core, own, default_id.copied(), &options)?;
        }
        db.close()?;
        drop(db);
        options.error_if_exists = false;
        let db = Db::open_to_restore(path, options)?;
        let operators = db.core().ids_of(&self.operators);
        let names = self.keyspaces.iter().map(|own| db.keyspace(&own.name));
        Ok(Created { keyspaces: names.collect::<Result<_>>()?, operators, db })
    }
}

/// Writes the definitions that the database lacks to its manifest.
fn adopt(core: &Core, operators: &[Definition]) -> Result<()> {
    let _writer = core.lock_writer()?;
    let mut tree = core.lock_tree();
    let mut edit = Edit::default();
    for definition in operators {
        if core.registry.id_of_definition(definition).is_none() {
            let definition = Definition { id: core.registry.next_id(), ..definition.clone() };
            core.registry.adopt(&definition)?;
            edit.operators.push(definition);
        }
    }
    match edit.operators.is_empty() {
        true => Ok(()),
        false => core.append_edit(&mut tree, &edit),
    }
}

impl Core {
    /// Returns the id in this database of each operator of a dump.
    fn ids_of(&self, operators: &[Definition]) -> BTreeMap<OperatorId, OperatorId> {
        let id_of = |own: &Definition| Some((own.id, self.registry.id_of_definition(own)?));
        operators.iter().filter_map(id_of).collect()
    }
}

/// Creates a keyspace. The default one exists already, and gets its operator.
fn define(
    core: &Core,
    own: &Planned<'_>,
    default_id: Option<OperatorId>,
    options: &Options,
) -> Result<()> {
    if own.described.name == DEFAULT_NAME {
        let Some(id) = default_id else { return Ok(()) };
        let default = KeyspaceEdit { default_operator: Some(id), ..KeyspaceEdit::default() };
        let default = KeyspaceEdit { id: DEFAULT_KEYSPACE, ..default };
        return core.append_edit(&mut core.lock_tree(), &Edit::of_keyspace(default));
    }
    let policy = own.described.filter_policy.as_deref();
    core.install_keyspace(KeyspaceParts {
        id: DEFAULT_KEYSPACE,
        name: own.described.name.as_str().into(),
        comparator: Arc::clone(&own.comparator),
        registry: Arc::clone(&core.registry),
        default_operator: None,
        default_id,
        settings: own.options.clone().or(&options.default).settings(),
        filter_policy: options.policy_named(policy)?,
        filter_policy_name: policy.map(Arc::from),
        schema: own.options.schema.as_deref().map(Arc::from),
        compaction_filter: options.compaction_filter_of(&own.described.name),
        version: Arc::new(Version::empty(core.settings.tree.num_levels)),
    })?;
    Ok(())
}

/// Returns the comparator of a keyspace, from those that the program registered.
fn find_comparator(described: &Described, options: &Options) -> Result<Arc<dyn Comparator>> {
    let name = &described.comparator[..];
    options.comparator_named(name).ok_or_else(|| {
        Error::new(
            ErrorKind::UnknownComparator,
            format!(
                "comparator '{}' orders keyspace '{}' of the dump, and it is not registered: \
                 restore with a program that adds it to Options::comparators",
                name.escape_debug(),
                described.name.escape_debug()
            ),
        )
    })
}
