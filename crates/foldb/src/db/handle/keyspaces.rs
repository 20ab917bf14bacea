//! Creating, finding and dropping keyspaces, as a program asks for them.

use std::sync::Arc;

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::lifecycle::keyspaces::missing;
use crate::db::state::keyspace::check_schema;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Definition;
use crate::options::KeyspaceOptions;

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
        let state = self.core().create_keyspace(name, options)?;
        Ok(Keyspace::new(Arc::clone(self.default_keyspace().handle()), state))
    }

    /// Returns a keyspace by its name. Creates it with `options` if it does not exist. An existing
    /// keyspace must have the options that are given; what `options` leave open it keeps.
    ///
    /// # Errors
    /// As [`Db::create_keyspace`], without `KeyspaceExists`. `InvalidArgument` if the keyspace has
    /// another operator, comparator, expiry, [schema](KeyspaceOptions::schema) or other stored
    /// option than `options` name. The message has both. Filter policies are not compared.
    /// [`Db::keyspace`] opens it whatever its options are.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, KeyspaceOptions};
    ///
    /// let db = Db::create(dir.path().join("db"))?;
    /// let counters = || KeyspaceOptions::with_operator("uint64add");
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
                found => {
                    let found = found?;
                    check_schema(name, found.schema(), options.schema.as_deref())?;
                    check_same(&found, &options)?;
                    return Ok(found);
                }
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
        let state = self.core().keyspaces.find(name).ok_or_else(|| missing(name))?;
        Ok(Keyspace::new(Arc::clone(self.default_keyspace().handle()), state))
    }

    /// Returns the names of all keyspaces, in order. `default` is always one of them.
    pub fn keyspaces(&self) -> Vec<String> {
        let all = self.core().keyspaces.all();
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

/// Checks that an existing keyspace has the options that are given.
///
/// # Errors
/// `InvalidArgument`, with each option that differs; `UnknownOperator`.
fn check_same(found: &Keyspace, given: &KeyspaceOptions) -> Result<()> {
    // One operator has several spellings: `stringappend` is `stringappend:,`.
    let spelled = |spec: &String| {
        let operator = found.core().registry.parse(spec)?;
        Ok::<_, Error>(Definition::of(0, &*operator).spec())
    };
    let merge_operator = given.merge_operator.as_ref().map(spelled).transpose()?;
    let given = KeyspaceOptions { merge_operator, ..given.clone() };
    let differences = given.differences(&found.state().options());
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "keyspace '{}' exists with other options: its {}; open it with Db::keyspace, or ask for the \
         options that it has",
        found.name().escape_debug(),
        differences.join("; its ")
    )))
}
