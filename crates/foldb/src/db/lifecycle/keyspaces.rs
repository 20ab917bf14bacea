//! Creating and dropping keyspaces.
//!
//! Each of them is one synced manifest edit, made under the writer lock. So the log never names a
//! keyspace that the manifest does not know, and no write to a keyspace is logged after its drop.
//! Ids are never reused, so an old log's writes to a dropped keyspace never reach another keyspace.
//!
//! ```text
//! create 'x': edit (id 3, next 4)    write x/a    drop 'x': log synced, edit (3 dropped)
//! replay: a write to 3 is skipped, one to 4 is damage
//! ```

use std::sync::{Arc, PoisonError};

use crate::compaction::policy::DeadShare;
use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::state::keyspace::{DEFAULT_NAME, KeyspaceParts, KeyspaceState, check_name};
use crate::db::state::tree::KeyspaceTree;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Operator;
use crate::key::{DEFAULT_KEYSPACE, GuardedPolicy};
use crate::options::{KeyspaceOptions, check_comparator};
use crate::version::{Edit, Version};

impl Db {
    /// Creates a keyspace, durably. Names are UTF-8 of 1 to 255 bytes without control characters.
    /// An empty keyspace has no memtable. A memtable takes about 35 KiB in addition to its records.
    ///
    /// # Errors
    /// `KeyspaceExists`; `InvalidArgument` for the name or an option; `UnknownOperator`; `Io`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// let users = db.create_keyspace("users", foldb::KeyspaceOptions::default())?;
    /// users.put("ada", "1815")?;
    /// assert_eq!(db.get("ada")?, None);
    /// assert_eq!(db.keyspace("users")?.get("ada")?.unwrap(), b"1815");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn create_keyspace(&self, name: &str, options: KeyspaceOptions) -> Result<Keyspace> {
        let state = self.core().create_keyspace(name, &options)?;
        Ok(Keyspace::new(Arc::clone(self.default_keyspace().handle()), state))
    }

    /// Returns a keyspace by its name. Creates it with `options` if it does not exist; an existing
    /// keyspace keeps its own options.
    ///
    /// # Errors
    /// As [`Db::create_keyspace`], without `KeyspaceExists`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, KeyspaceOptions};
    ///
    /// let db = Db::create(dir.path().join("db"))?;
    /// let counters = || KeyspaceOptions {
    ///     merge_operator: Some("uint64add".to_owned()),
    ///     ..KeyspaceOptions::default()
    /// };
    /// for _open in 0..2 {
    ///     let visits = db.keyspace_or_create("visits", counters())?;
    ///     visits.merge("page", 1u64.to_le_bytes())?;
    /// }
    /// assert_eq!(db.keyspace("visits")?.get("page")?.unwrap(), 2u64.to_le_bytes());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn keyspace_or_create(&self, name: &str, options: KeyspaceOptions) -> Result<Keyspace> {
        loop {
            match self.keyspace(name) {
                Err(error) if error.kind() == ErrorKind::KeyspaceMissing => {}
                found => return found,
            }
            match self.create_keyspace(name, options.clone()) {
                // Another thread created the keyspace in the meantime. It may also have dropped it
                // again.
                Err(error) if error.kind() == ErrorKind::KeyspaceExists => {}
                created => return created,
            }
        }
    }

    /// Returns a keyspace by its name.
    ///
    /// # Errors
    /// `KeyspaceMissing`, `Closed`.
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        self.core().check_open()?;
        let state = self.core().find_keyspace(name).ok_or_else(|| missing(name))?;
        Ok(Keyspace::new(Arc::clone(self.default_keyspace().handle()), state))
    }

    /// Returns the names of all keyspaces, in order. `default` is always one of them.
    pub fn keyspaces(&self) -> Vec<String> {
        let all = self.core().all_keyspaces();
        all.iter().map(|keyspace| String::from(&*keyspace.name)).collect()
    }

    /// Drops a keyspace and its contents, durably. All earlier logged writes to other keyspaces
    /// become durable first. Its files are removed when the last iterator over it is dropped. Its
    /// name may be used again.
    ///
    /// # Errors
    /// `KeyspaceMissing`; `InvalidArgument` for `default`, which cannot be dropped; `Io`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// let old = db.create_keyspace("sessions", Default::default())?;
    /// db.drop_keyspace("sessions")?;
    /// assert_eq!(old.get("key").unwrap_err().kind(), foldb::ErrorKind::KeyspaceDropped);
    /// assert_eq!(db.keyspaces(), ["default"]);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn drop_keyspace(&self, name: &str) -> Result<()> {
        self.core().drop_keyspace(name)
    }
}

impl Core {
    pub(crate) fn find_keyspace(&self, name: &str) -> Option<Arc<KeyspaceState>> {
        self.keyspaces.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn create_keyspace(
        self: &Arc<Core>,
        name: &str,
        options: &KeyspaceOptions,
    ) -> Result<Arc<KeyspaceState>> {
        self.check_writable()?;
        check_name(name)?;
        let settings = options.settings(&self.options)?;
        let comparator = options.comparator.as_ref().unwrap_or(&self.options.comparator);
        check_comparator(&**comparator)?;
        let filter_policy = options.filter_policy.as_ref().or(self.options.filter_policy.as_ref());
        let filter_policy = filter_policy.cloned().map(GuardedPolicy::new).transpose()?;
        let default_operator = self.default_operator_of(options)?;
        self.install_keyspace(KeyspaceParts {
            id: DEFAULT_KEYSPACE,
            name: name.into(),
            comparator: Arc::clone(comparator),
            registry: Arc::clone(&self.registry),
            default_id: default_operator.as_ref().map(|operator| operator.id),
            default_operator,
            settings,
            filter_policy_name: filter_policy.as_ref().map(|policy| policy.name().into()),
            filter_policy,
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
        if self.find_keyspace(&parts.name).is_some() {
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
        let state = KeyspaceState::new(parts, &self.settings, &self.default.tables);
        let dead_share = DeadShare::new(1.0, 32 * self.settings.tree.target_file_size);
        let own = KeyspaceTree::new(Arc::clone(&state), version, self.published(), dead_share);
        let edit = Edit { next_keyspace: Some(next), ..Edit::of_keyspace(own.describe()) };
        self.append_edit(&mut tree, &edit)?;
        tree.next_keyspace = next;
        if state.settings.expiry.is_some() {
            self.time.note_use();
        }
        tree.keyspaces.insert(id, own);
        self.background.note_news();
        writer.buffers.add(Arc::clone(&state));
        let mut keyspaces = self.keyspaces.write().unwrap_or_else(PoisonError::into_inner);
        keyspaces.insert(Arc::clone(&state.name), Arc::clone(&state));
        drop(keyspaces);
        self.log_created(&mut writer.log, &state);
        Ok(state)
    }

    fn default_operator_of(
        self: &Arc<Core>,
        options: &KeyspaceOptions,
    ) -> Result<Option<Operator>> {
        match &options.merge_operator {
            Some(spec) => self.operator(spec).map(Some),
            None => Ok(self.default.merge_operator().cloned()),
        }
    }

    fn drop_keyspace(&self, name: &str) -> Result<()> {
        if name == DEFAULT_NAME {
            return Err(Error::invalid_argument("the keyspace 'default' cannot be dropped"));
        }
        self.check_process()?;
        self.check_not_inside()?;
        let mut writer = self.lock_writer()?;
        self.check_writable()?;
        let state = self.find_keyspace(name).ok_or_else(|| missing(name))?;
        // The drop survives a power loss. The program may have copied the contents to another
        // keyspace, so those earlier writes must survive too.
        let (sync, frame) = (Arc::clone(writer.log.sync_handle()), writer.log.frames());
        sync.sync_through(frame).inspect_err(|error| self.note_failed_sync(error))?;
        let mut tree = self.lock_tree();
        let edit = Edit { dropped: vec![state.id], ..Edit::default() };
        if let Err(error) = self.append_edit(&mut tree, &edit) {
            self.open_reserve(error, &mut writer)?;
            self.append_edit(&mut tree, &edit)?;
        }
        writer.buffers.remove(state.id);
        self.keyspaces.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        state.mark_dropped();
        if let Some(own) = tree.keyspaces.remove(&state.id) {
            own.version.mark_obsolete_files(&Version::empty(own.version.levels.len()));
            state.growing.remove_obsolete();
        }
        self.log_dropped(&mut writer.log, &state);
        drop((tree, writer));
        self.remove_unreferenced_tables();
        Ok(())
    }
}

fn missing(name: &str) -> Error {
    Error::new(
        ErrorKind::KeyspaceMissing,
        format!("there is no keyspace '{}'; create it first", name.escape_debug()),
    )
}
