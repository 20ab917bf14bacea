//! Creating, changing and dropping keyspaces.
//!
//! To create or drop one is one synced manifest edit, made under the writer lock. So the log never
//! names a keyspace that the manifest does not know, and no write to a keyspace is logged after its
//! drop. Ids are never reused, so an old log's writes to a dropped keyspace never reach another
//! keyspace.
//!
//! ```text
//! create 'x': edit (id 3, next 4)    write x/a    drop 'x': log synced, edit (3 dropped)
//! replay: a write to 3 is skipped, one to 4 is damage
//! ```

use std::sync::Arc;
use std::time::Duration;

use crate::compaction::policy::DeadShare;
use crate::db::core::Core;
use crate::db::state::keyspace::{DEFAULT_NAME, KeyspaceParts, KeyspaceState, check_name};
use crate::db::state::tree::KeyspaceTree;
use crate::error::{Error, ErrorKind, Result};
use crate::key::DEFAULT_KEYSPACE;
use crate::options::KeyspaceOptions;
use crate::version::{Edit, Version};

impl Core {
    pub(crate) fn create_keyspace(
        self: &Arc<Core>,
        name: &str,
        options: KeyspaceOptions,
    ) -> Result<Arc<KeyspaceState>> {
        self.check_writable()?;
        check_name(name)?;
        let (operator, schema) = (options.merge_operator.clone(), options.schema.clone());
        let options = options.or(&self.options.default);
        options.check()?;
        let filter_policy = options.guarded_policy()?;
        let default_operator = match operator {
            Some(spec) => Some(self.operator(&spec)?),
            // An earlier open may have set it.
            None => self.keyspaces.default().merge_operator().cloned(),
        };
        self.install_keyspace(KeyspaceParts {
            id: DEFAULT_KEYSPACE,
            name: name.into(),
            comparator: options.comparator(),
            registry: Arc::clone(&self.registry),
            default_id: default_operator.as_ref().map(|operator| operator.id),
            default_operator,
            settings: options.settings(),
            filter_policy_name: filter_policy.as_ref().map(|policy| policy.name().into()),
            filter_policy,
            schema: schema.map(Arc::from),
            compaction_filter: self.options.compaction_filter_of(name),
            version: Arc::new(Version::empty(self.settings.tree.num_levels)),
        })
    }

    /// Creates a keyspace of these parts, with the next id. The name and the parts were checked.
    pub(crate) fn install_keyspace(&self, parts: KeyspaceParts) -> Result<Arc<KeyspaceState>> {
        if parts.settings.expiry.is_some()
            && let Some(operator) = &parts.default_operator
        {
            self.wrapping_operator(operator)?;
        }
        self.check_not_inside()?;
        let mut writer = self.lock_writer()?;
        self.check_writable()?;
        if self.keyspaces.find(&parts.name).is_some() {
            let name = &parts.name;
            return Err(Error::new(
                ErrorKind::KeyspaceExists,
                format!("keyspace '{name}' already exists"),
            ));
        }
        let mut tree = self.lock_tree();
        let id = tree.next_keyspace;
        let next = id.checked_add(1).ok_or_else(|| {
            Error::invalid_argument("the database has had 2^32 - 1 keyspaces, which is the limit")
        })?;
        let version = Arc::clone(&parts.version);
        let parts = KeyspaceParts { id, ..parts };
        let tables = &self.keyspaces.default().tables;
        let state = KeyspaceState::new(parts, &self.settings, tables, &self.work_memory());
        let dead_share = DeadShare::new(1.0, 32 * self.settings.tree.target_file_size);
        let own = KeyspaceTree::new(Arc::clone(&state), version, self.published(), dead_share);
        let edit = Edit { next_keyspace: Some(next), ..Edit::of_keyspace(own.describe()) };
        self.append_edit(&mut tree, &edit)?;
        tree.next_keyspace = next;
        if state.settings.expiry.is_some() {
            self.time.note_use();
        }
        let replaced = tree.keyspaces.insert(id, own);
        assert!(replaced.is_none(), "no two keyspaces of a database have one id");
        self.background.rest.note_news();
        writer.buffers.add(Arc::clone(&state));
        self.keyspaces.add(&state);
        self.log_created(&mut writer, &state);
        Ok(state)
    }

    pub(crate) fn drop_keyspace(&self, name: &str) -> Result<()> {
        if name == DEFAULT_NAME {
            return Err(Error::invalid_argument("the keyspace 'default' cannot be dropped"));
        }
        self.standing.check_process()?;
        self.check_not_inside()?;
        let mut writer = self.lock_writer()?;
        self.check_writable()?;
        let state = self.keyspaces.find(name).ok_or_else(|| missing(name))?;
        // The drop survives a power loss. The program may have copied the contents to another
        // keyspace, so those earlier writes must survive too.
        let (sync, frame) = (Arc::clone(writer.log.sync_handle()), writer.log.frames());
        self.sync_through(&sync, frame)?;
        let mut tree = self.lock_tree();
        let edit = Edit { dropped: vec![state.id], ..Edit::default() };
        if let Err(error) = self.append_edit(&mut tree, &edit) {
            self.open_reserve(error, &mut writer)?;
            self.append_edit(&mut tree, &edit)?;
        }
        writer.buffers.remove(state.id);
        self.keyspaces.remove(name);
        state.mark_dropped();
        assert!(
            tree.keyspaces.contains_key(&state.id),
            "a keyspace that a caller finds has a tree"
        );
        if let Some(own) = tree.keyspaces.remove(&state.id) {
            own.version.mark_obsolete_files(&Version::empty(own.version.levels.len()));
            state.growing.remove_obsolete();
        }
        self.log_dropped(&mut writer, &state);
        drop((tree, writer));
        self.remove_unreferenced_tables();
        Ok(())
    }
}

/// Changes the lifetime that entries of a keyspace get from now on, durably: writes a new manifest.
pub(crate) fn set_lifetime(
    core: &Core,
    keyspace: &KeyspaceState,
    lifetime: Duration,
) -> Result<()> {
    core.check_writable()?;
    core.check_not_inside()?;
    let mut tree = core.lock_tree();
    keyspace.check_exists()?;
    let before = keyspace.expiry().ok_or_else(|| {
        let message = "entries of this keyspace do not expire: create another with an expiry";
        Error::invalid_argument(message)
    })?;
    keyspace.change_expiry(before.with_lifetime(lifetime)?);
    core.begin_manifest(&mut tree).inspect_err(|_| keyspace.change_expiry(before))
}

pub(crate) fn missing(name: &str) -> Error {
    Error::new(
        ErrorKind::KeyspaceMissing,
        format!("there is no keyspace '{}'; create it first", name.escape_debug()),
    )
}
