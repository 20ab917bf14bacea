//! Opens of databases and keyspaces.

use std::path::PathBuf;
use std::sync::Arc;

use foldb::{Db, ErrorKind, KeyspaceOptions, Options};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffers::Numbers;
use crate::callbacks::detached;
use crate::database::{Database, Handle};
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::keys::Codec;
use crate::keyspace::Keyspace;
use crate::options::{Code, of_database};
use crate::reader::{Data, Reader, described};
use crate::released::Released;
use crate::snapshot::Home;
use crate::standing::Standing;

fn open_writable(
    py: Python<'_>,
    path: &PathBuf,
    mut options: Options,
    keys: Option<&Codec>,
) -> PyResult<Db> {
    let schema = keys.and_then(|keys| keys.schema(options.default.merge_operator.as_deref()));
    detached(py, || {
        let create = options.create_if_missing;
        // The schema is for a new database; a stored one is compared by its keys alone.
        options.create_if_missing = create && schema.is_none();
        match Db::open(path, options.clone()) {
            Err(error) if create && error.kind() == ErrorKind::DatabaseMissing => {
                options.create_if_missing = true;
                options.default.schema = schema;
                Db::open(path, options)
            }
            opened => opened,
        }
    })
}

/// Opens a database, and creates it if there is none.
///
/// `keys` says how keys are written: bytes, or "str", "int", "float", "bool", "datetime", "uuid",
/// or a tuple of these. The database stores it. `merge_operator` names the operator of merges, or
/// is a `MergeOperator`. `operators` are further operators in Python, for keyspaces and merges that
/// name one. `comparator` is the order of keys, and `comparators` are those of other keyspaces.
/// `read_only` reads the state of this moment, also while another process writes. `sync` makes
/// every write wait for the medium. Further options have the names of `foldb options`.
#[pyfunction]
#[pyo3(signature = (
    path, *, create=true, keys=None, merge_operator=None, operators=None, comparator=None,
    comparators=None, read_only=false, sync=false, **options
))]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    create: bool,
    keys: Option<&Bound<'py, PyAny>>,
    merge_operator: Option<&Bound<'py, PyAny>>,
    operators: Option<&Bound<'py, PyAny>>,
    comparator: Option<&Bound<'py, PyAny>>,
    comparators: Option<&Bound<'py, PyAny>>,
    read_only: bool,
    sync: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Database>> {
    let given = Codec::of_argument(keys)?;
    let mut options =
        of_database(Code { merge_operator, operators, comparator, comparators }, options)?;
    options.create_if_missing = create;
    let (handle, data) = if read_only {
        let db = detached(py, || Db::open_read_only(&path, options))?;
        let data = Released::new(Data::Reader(db.default_keyspace().clone()));
        (Released::new(Handle::ReadOnly(db)), data)
    } else {
        let db = open_writable(py, &path, options, given.as_ref())?;
        let data = Released::new(Data::Live(db.default_keyspace().clone()));
        (Released::new(Handle::Writable(db)), data)
    };
    let standing = Arc::new(Standing::new());
    let db = Released::new(Some(Handle::clone(&handle)));
    let base = reader(py, data, db, given, sync, &standing)?;
    let database = Database { handle, standing, sync };
    Bound::new(py, Keyspace::parts(base).add_subclass(database))
}

/// Creates a keyspace. Its operator is the one that is named, or none: the engine would give it
/// that of `default`, whose operands are seldom right elsewhere.
pub(crate) fn created(
    db: &Db,
    name: &str,
    options: KeyspaceOptions,
) -> foldb::Result<foldb::Keyspace> {
    let is_named = options.merge_operator.is_some();
    match db.create_keyspace(name, options.clone()) {
        // Another thread created it in the meantime.
        Err(error) if error.kind() == ErrorKind::KeyspaceExists => {
            db.keyspace_or_create(name, options)
        }
        Err(error) => Err(error),
        Ok(keyspace) => {
            if !is_named && keyspace.default_operator().is_some() {
                keyspace.unset_default_operator()?;
            }
            Ok(keyspace)
        }
    }
}

/// Makes the reader of a keyspace. After an error the handles close the database, which waits for
/// folds: so they are [`Released`] from the beginning.
pub(crate) fn reader(
    py: Python<'_>,
    data: Released<Data>,
    db: Released<Option<Handle>>,
    keys: Option<Codec>,
    sync: bool,
    closed: &Arc<Standing>,
) -> PyResult<Reader> {
    let operator = py.unlocked(|| described!(&*data, own => own.options().merge_operator));
    let (name, schema) = described!(&*data, own => (own.name(), own.schema()));
    let keys = Codec::check(keys, schema, name).map_err(raise)?;
    let numbers = Numbers::of(operator.as_deref());
    Ok(Reader { data, db, keys, numbers, sync, closed: Arc::clone(closed) })
}
