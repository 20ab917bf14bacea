//! Ingesting tables that were written outside of the database.
//!
//! RocksDB adds the files to its tree. This library reads them and writes their records: a few as
//! one batch, many as a sorted load, which skips the log. Both are one atomic and durable step.
//!
//! ```text
//! database:  a.PUT.1  b.PUT.2       files: [ DELETE a..c, b.PUT.3 ]  [ c.PUT.4 ]
//! after:     b is 3, c is 4; a snapshot from before sees 1 and 2
//! ```
//!
//! Invariant: the records are newer than all that the database held. Tombstones of ranges cover
//! older records only, and none of their own file. A later file of a call is newer.

use std::ffi::c_char;

use foldb::WriteOptions;
use foldb::env::Env;
use foldb::limits::LEAST_MAX_BATCH_BYTES;

use crate::batch::apply::{add, no_operator};
use crate::batch::rep::{Kind, Op};
use crate::boundary::{arg, array, call, path};
use crate::copies::external::External;
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Database, Family, rocksdb_t};
use crate::objects::listener_info::rocksdb_externalfileingestioninfo_t;
use crate::options::calls::rocksdb_ingestexternalfileoptions_t;
use crate::status::{Outcome, Status};

/// Files with more bytes become a sorted load, if they can.
const MOST_FOR_A_BATCH: usize = 1 << 20;

/// Files with more bytes are not written as a batch. Entries in memory take more than their bytes.
const LARGEST_BATCH: usize = LEAST_MAX_BATCH_BYTES / 4;

/// The files of a call.
struct Ingestion<'d> {
    database: &'d Database,
    family: &'d Family,
    env: Env,
    files: Vec<External>,
    /// Places in `files`, in the order of their keys.
    sorted: Vec<usize>,
    overlap: bool,
}

impl<'d> Ingestion<'d> {
    /// Reads and checks the files.
    unsafe fn of(
        database: &'d Database,
        family: &'d Family,
        names: &[*const c_char],
    ) -> Outcome<Ingestion<'d>> {
        if names.is_empty() {
            return Err(Status::invalid("external_files[0] is empty"));
        }
        let env = database.options.env.as_ref().map_or_else(Env::system, |env| env.for_engine());
        let order = family.writable()?.comparator();
        let mut files = Vec::with_capacity(names.len());
        for &name in names {
            let name = path(name, "a file")?;
            files.push(External::check(&*env.fs, &name, family, order)?);
        }
        let mut sorted: Vec<usize> = (0..files.len()).collect();
        sorted.sort_by(|&one, &other| files[one].compare(&files[other], order));
        let overlap = sorted.windows(2).any(|pair| files[pair[0]].overlaps(&files[pair[1]], order));
        Ok(Ingestion { database, family, env, files, sorted, overlap })
    }

    /// # Errors
    /// `Invalid argument` if the records would need a number of their own, and may have none.
    fn check_needs_no_number(&self) -> Outcome<()> {
        if self.overlap {
            return Err(Status::invalid(
                "Global seqno is required, but disabled (because external files key range \
                 overlaps).",
            ));
        }
        for file in &self.files {
            let mut found = self.family.read(|keyspace| keyspace.range(file.range()))?;
            if found.next().transpose()?.is_some() {
                return Err(Status::invalid("Global seqno is required, but disabled"));
            }
        }
        Ok(())
    }

    /// Writes the records.
    fn write(&self) -> Outcome<()> {
        let bytes: usize = self.files.iter().map(|file| file.bytes).sum();
        let has_merges = self.files.iter().any(|file| file.has_merges);
        let has_deletions = self.files.iter().any(|file| file.has_deletions);
        let expires = self.family.writable()?.options().expiry.is_some();
        let can_load = !(self.overlap || has_deletions || has_merges && expires);
        if bytes <= MOST_FOR_A_BATCH || (!can_load && bytes <= LARGEST_BATCH) {
            return self.write_as_batch();
        }
        if can_load {
            return self.load();
        }
        Err(Status::unsupported(format!(
            "an ingestion of {bytes} bytes that overlaps itself, or has deletes, or operands \
             that expire: write smaller files, of {LARGEST_BATCH} bytes at most in one call"
        )))
    }

    fn write_as_batch(&self) -> Outcome<()> {
        let family = self.family.id;
        let mut batch = foldb::WriteBatch::new();
        for file in &self.files {
            for range in &file.ranges {
                let (key, value) = (&*range.start, &*range.end);
                add(&mut batch, self.family, Op { family, kind: Kind::DeleteRange, key, value })?;
            }
            file.each(&*self.env.fs, |record| {
                let (kind, key, value) = (record.kind, record.key, record.value);
                add(&mut batch, self.family, Op { family, kind, key, value })
            })?;
        }
        let durable = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
        Ok(self.database.writable()?.with(&durable).write(&batch)?)
    }

    fn load(&self) -> Outcome<()> {
        let mut load = self.family.writable()?.sorted_load()?;
        for &place in &self.sorted {
            self.files[place].each(&*self.env.fs, |record| {
                match (record.kind, &self.family.operator) {
                    (Kind::Merge, Some(operator)) => {
                        load.merge_with(operator, record.key, record.value)?;
                    }
                    (Kind::Merge, None) => return Err(no_operator()),
                    _ => load.put(record.key, record.value)?,
                }
                Ok(())
            })?;
        }
        load.finish()?;
        Ok(())
    }

    fn tell_listeners(&self) {
        for file in &self.files {
            let (family, file) = (self.family.name.clone(), file.path.clone());
            let info = rocksdb_externalfileingestioninfo_t { family, file };
            self.database.events.tell_ingestion(&info);
        }
    }

    /// Removes the files, whose records the database has. So a failure fails nothing.
    fn remove_files(&self) {
        for file in &self.files {
            if let Err(error) = self.env.fs.remove(&file.path) {
                self.database.events.note(&format!("{}: {error}", file.path.display()));
            }
        }
    }
}

unsafe fn ingest(
    database: &Database,
    family: &Family,
    files: *const *const c_char,
    count: usize,
    options: *const rocksdb_ingestexternalfileoptions_t,
) -> Outcome<()> {
    let options = &arg(options, "opt")?.values;
    database.writable()?;
    if options.ingest_behind != 0 {
        return Err(Status::unsupported(
            "ingest_behind, which would put records under those of the database",
        ));
    }
    if options.fail_if_not_bottommost_level != 0 {
        return Err(Status::unsupported(
            "fail_if_not_bottommost_level: the level of ingested records is the engine's choice",
        ));
    }
    let own = Ingestion::of(database, family, array(files, count)?)?;
    if options.allow_global_seqno == 0 {
        own.check_needs_no_number()?;
    }
    own.write()?;
    own.tell_listeners();
    if options.move_files != 0 {
        own.remove_files();
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_ingest_external_file(
    db: *mut rocksdb_t,
    files: *const *const c_char,
    count: usize,
    options: *const rocksdb_ingestexternalfileoptions_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let database = &arg(db, "db")?.database;
        ingest(database, &database.default, files, count, options)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_ingest_external_file_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    files: *const *const c_char,
    count: usize,
    options: *const rocksdb_ingestexternalfileoptions_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, family) = (arg(db, "db")?, arg(family, "handle")?);
        ingest(&db.database, &family.family, files, count, options)
    });
}
