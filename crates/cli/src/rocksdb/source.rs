//! A RocksDB database that is read, and its column families.

use std::path::{Path, PathBuf};

use foldb_rocksdb_format::edit;
use foldb_rocksdb_format::kind::user_key;
use foldb_rocksdb_format::manifest::Manifest;
use foldb_rocksdb_format::options::Options;

use super::families::{self, Choices, Family};
use super::files;
use super::logs::{self, Writes};
use super::losses::Losses;
use super::operators;
use super::order::Order;
use super::stream::{Entries, Place, Run};
use super::table::Table;
use super::tombstones::Tombstones;
use crate::exit::{Exit, Outcome};
use crate::foreign::Listing;
use crate::foreign::lock::SharedLock;
use crate::location::shown;

/// What a database consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Tables, and their bytes.
    pub(crate) tables: u64,
    pub(crate) table_bytes: u64,
    /// Logs whose writes are not in tables yet, and their bytes.
    pub(crate) logs: u64,
    pub(crate) log_bytes: u64,
    /// Bytes of an incomplete record at the end of the newest log. RocksDB leaves them out, too.
    pub(crate) tail_bytes: u64,
    /// Transactions that were prepared and never committed. They are left out.
    pub(crate) prepared: u64,
}

/// A database being read.
#[derive(Debug)]
pub(crate) struct Database {
    directory: PathBuf,
    /// The files before the first read.
    listing: Listing,
    manifest_path: PathBuf,
    manifest: Manifest,
    families: Vec<Family>,
    writes: Writes,
    facts: Facts,
    losses: Losses,
    only_default_column: bool,
    _lock: SharedLock,
}

impl Database {
    /// Opens the database in a directory, and reads its manifest, options and logs.
    ///
    /// # Errors
    /// Fails for damage, for what foldb lacks, and if a program has the database open.
    pub(crate) fn open(directory: &Path, choices: &Choices) -> Outcome<Database> {
        let lock = SharedLock::take(directory)?;
        let listing = Listing::of(directory)?;
        let manifest_path = files::in_force(directory)?;
        let manifest = files::manifest(directory)?;
        let options = files::options(directory, &listing)?;
        let losses = Losses::new(choices.skip_damaged);
        let in_tables = |id| operator_in_tables(directory, &manifest, id);
        let families = families::of(&manifest, &options, &in_tables, choices)?;
        let logs = logs_of(directory, &listing, &options, &manifest, choices)?;
        let writes = Writes::read(&logs, &manifest, &losses)?;
        let tables = || manifest.families.values().flat_map(|family| family.tables.values());
        let facts = Facts {
            tables: tables().count() as u64,
            table_bytes: tables().fold(0, |bytes, table| bytes.saturating_add(table.size)),
            logs: logs.len() as u64,
            log_bytes: writes.bytes,
            tail_bytes: writes.tail,
            prepared: writes.prepared(),
        };
        Ok(Database {
            directory: directory.to_owned(),
            listing,
            manifest_path,
            manifest,
            families,
            writes,
            facts,
            losses,
            only_default_column: choices.only_default_column,
            _lock: lock,
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the column families.
    pub(crate) fn families(&self) -> Vec<Family> {
        self.families.clone()
    }

    /// Returns what was given up.
    pub(crate) fn losses(&self) -> Vec<String> {
        self.losses.told()
    }

    /// Returns the visible entries of a family, once.
    ///
    /// # Errors
    /// Fails for damage.
    pub(crate) fn entries(&mut self, family: &Family) -> Outcome<Entries> {
        let place = Place {
            directory: self.directory.clone(),
            order: family.order,
            losses: self.losses.clone(),
        };
        let logged = self.writes.families.remove(&family.id).unwrap_or_default();
        let mut tombstones = logged.tombstones;
        let found = self.manifest.families.get_mut(&family.id);
        let tables = found.map(|found| std::mem::take(&mut found.tables)).unwrap_or_default();
        for info in tables.values() {
            // A table that is given up here is given up again below, and told twice otherwise.
            let quiet = self.losses.apart();
            let table = Table::open(&place.directory, info, place.order, &quiet)?;
            if let Some(mut table) = table {
                tombstones.extend(table.tombstones()?);
            }
        }
        let mut versions: Vec<_> = logged.versions.into_iter().collect();
        if family.order == Order::Reverse {
            versions.reverse();
        }
        let mut runs = vec![Run::Logs(versions.into_iter(), None)];
        let tables = levels(tables.into_values().collect(), family.order);
        runs.extend(tables.into_iter().map(|tables| Run::Tables(tables.into(), None)));
        runs.iter_mut().try_for_each(|run| run.advance(&place))?;
        let tombstones = Tombstones::new(tombstones, family.order);
        let operator = family.operator.as_ref();
        let forgets_base =
            operator.is_some_and(|operator| operators::forgets_base(operator.text()));
        Ok(Entries::new(place, runs, tombstones, self.only_default_column, forgets_base))
    }

    /// Checks, after the last entry, that no program changed the database meanwhile.
    ///
    /// # Errors
    /// Fails if a file appeared, disappeared or has another length.
    pub(crate) fn check_unchanged(&self) -> Outcome {
        self.listing.check_unchanged()?;
        match files::in_force(&self.directory)? == self.manifest_path {
            true => Ok(()),
            false => Err(self.listing.changed()),
        }
    }
}

/// Groups tables that follow each other: each table of level 0 alone, and those of other levels.
fn levels(mut tables: Vec<edit::Table>, order: Order) -> Vec<Vec<edit::Table>> {
    let first = |table: &edit::Table| user_key(&table.smallest).unwrap_or_default().to_vec();
    let last = |table: &edit::Table| user_key(&table.largest).unwrap_or_default().to_vec();
    tables.sort_by(|one, other| {
        let by_key = order.compare(&first(one), &first(other));
        let by_end = order.compare(&last(one), &last(other));
        one.level.cmp(&other.level).then(by_key).then(by_end)
    });
    let mut levels: Vec<Vec<edit::Table>> = Vec::new();
    for table in tables {
        match levels.last_mut() {
            Some(level) if table.level > 0 && level[0].level == table.level => level.push(table),
            _ => levels.push(vec![table]),
        }
    }
    levels
}

/// Returns the operator that a table of a family names, for a database without options.
fn operator_in_tables(directory: &Path, manifest: &Manifest, id: u32) -> Outcome<Option<String>> {
    let Some(family) = manifest.families.get(&id) else { return Ok(None) };
    for info in family.tables.values() {
        // Damage is told when the table is read.
        let quiet = Losses::new(true);
        let table = Table::open(directory, info, Order::Bytewise, &quiet)?;
        if let Some(name) = table.and_then(|table| table.properties().operator.clone()) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn logs_of(
    directory: &Path,
    listing: &Listing,
    options: &Options,
    manifest: &Manifest,
    choices: &Choices,
) -> Outcome<Vec<(u64, PathBuf)>> {
    if let Some(other) = &choices.logs {
        let found = Listing::of(other)?.numbered(".log");
        return Ok(logs::needed(&found, other, manifest));
    }
    let found = listing.numbered(".log");
    let elsewhere = options.database.get("wal_dir").filter(|other| !other.is_empty());
    if let Some(other) = elsewhere
        && found.is_empty()
        && Path::new(other).components().ne(directory.components())
    {
        return Err(Exit::failed(format!(
            "the options name {other} as the directory of the logs, and {} has none: say where \
             they are with --wal-dir DIR, or --wal-dir {} if there are none",
            shown(directory),
            shown(directory)
        )));
    }
    Ok(logs::needed(&found, directory, manifest))
}
