//! The reader of the change feed, for fuzzing: see [`crate::decoders`].
//!
//! ```text
//! input: mode u8 | position 32 bytes, if mode & 1 | records
//! record: length u16 | bytes
//! ```
//!
//! The records become the archived log of a small database, behind its header and lineage, in
//! frames whose checksums are right. With mode & 4 the rest of the input is the file as it is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use foldb_env::{Env, FileSystem, MemFs};

use crate::db::batch::WriteBatch;
use crate::db::feed::UpdatesOptions;
use crate::db::feed::update::Change;
use crate::db::handle::database::Db;
use crate::db::state::position::Position;
use crate::encoding::ByteReader;
use crate::encoding::format::LOG;
use crate::files::FileKind;
use crate::options::{KeyspaceOptions, Options};
use crate::settings::Expiry;
use crate::wal::{LogHeader, LogReader, LogWriter};

const PATH: &str = "db";
/// More updates than a small input can hold.
const MOST_UPDATES: usize = 10_000;

/// A database with one archived log.
struct Prepared {
    fs: MemFs,
    archive: PathBuf,
    number: u64,
    /// The identity of the database, from the header of the log.
    database: u64,
    /// The records of the log behind its header; the first is its lineage.
    records: Vec<Vec<u8>>,
}

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        env: Env::in_memory(fs.clone()),
        wal_retention_bytes: 1 << 40,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    }
}

fn prepared() -> &'static Prepared {
    static PREPARED: OnceLock<Prepared> = OnceLock::new();
    PREPARED.get_or_init(prepare)
}

fn prepare() -> Prepared {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).expect("a database in memory opens");
    let fill = || {
        let expiry = Some(Expiry::per_write());
        let x = db.create_keyspace("x", KeyspaceOptions { expiry, ..Default::default() })?;
        x.put("key", "value")?;
        db.merge("count", 1u64.to_le_bytes())?;
        db.merge_with(&db.operator("stringappend:,")?, "list", "item")?;
        let mut batch = WriteBatch::new();
        batch.put("a", "1").delete("b").delete_range("c".."d");
        db.write(&batch)?;
        db.drop_keyspace("x")?;
        db.flush()?;
        db.put("last", "1")?;
        db.close()
    };
    fill().expect("a database in memory takes writes");
    let names = fs.list(Path::new(PATH)).expect("the directory exists");
    let number = names.iter().find_map(|name| match FileKind::parse(name) {
        Some(FileKind::Archive(number)) => Some(number),
        _ => None,
    });
    let number = number.expect("the flush archived the log");
    let archive = Path::new(PATH).join(format!("{number:06}.arc"));
    let mut log = LogReader::open(&fs, &archive, number).expect("the archive opens");
    let mut records = Vec::new();
    let mut record = Vec::new();
    while log.next(&mut record).expect("the archive is whole") {
        records.push(std::mem::take(&mut record));
    }
    let header = records.remove(0);
    let header = LogHeader::of_record(&header, &LOG).expect("the log begins with its header");
    let database = header.database;
    Prepared { fs, archive, number, database, records }
}

/// Reads the feed of a database with a forged archive.
pub(crate) fn feed(bytes: &[u8]) {
    let Some((&mode, mut rest)) = bytes.split_first() else { return };
    let mut position = Position::BEGINNING;
    if mode & 1 > 0 {
        let Some((stored, behind)) = rest.split_at_checked(Position::LEN) else { return };
        position = Position::from_bytes(stored).expect("the length is right");
        rest = behind;
    }
    let own = prepared();
    let fs = own.fs.kill();
    match mode & 4 > 0 {
        true => {
            let file = fs.create(&own.archive).expect("a file in memory is created");
            file.write_at(rest, 0).expect("a file in memory takes bytes");
        }
        false => forge(&fs, own, rest),
    }
    let Ok(shown) = Db::open_read_only(PATH, options(&fs)) else { return };
    let include_unsynced = mode & 2 > 0;
    let how = UpdatesOptions { include_unsynced };
    let Ok(mut updates) = shown.with(&how).updates_since(&position) else { return };
    let mut before = updates.position();
    for _ in 0..MOST_UPDATES {
        let update = match updates.next() {
            Some(Ok(update)) => update,
            Some(Err(_)) => {
                // After an error, a later call tries again.
                let _again = updates.next();
                return;
            }
            None => return,
        };
        assert!(update.position >= before, "{} comes after {before}", update.position);
        before = update.position;
        if let Change::Batch(batch) = &update.change {
            assert_eq!(batch.iter().count(), batch.len());
            let _added = batch.add_to(&mut WriteBatch::new(), shown.db());
        }
    }
}

/// Writes an archive with these records behind the header and the lineage.
fn forge(fs: &MemFs, own: &Prepared, records: &[u8]) {
    let to: Arc<dyn FileSystem> = Arc::new(fs.clone());
    let log = LogWriter::create(&to, &own.archive, own.number, own.database, None);
    let mut log = log.expect("a file in memory is created");
    let mut bytes = ByteReader::new(records);
    let mut next = own.records.first().cloned();
    while let Some(record) = next {
        log.begin().extend_from_slice(&record);
        log.append().expect("a file in memory takes bytes");
        let mut half = || bytes.u8("length").map_or(0, usize::from);
        let len = (half() | half() << 8).min(bytes.remaining());
        let record = bytes.take(len, "record").ok().filter(|record| !record.is_empty());
        next = record.map(<[u8]>::to_vec);
    }
    log.trim().expect("a file in memory is cut");
}

/// Returns inputs with the records of the log as they are.
#[cfg(test)]
pub(crate) fn inputs() -> Vec<Vec<u8>> {
    let own = prepared();
    let mut records = Vec::new();
    for record in &own.records[1..] {
        records.extend_from_slice(&(record.len() as u16).to_le_bytes());
        records.extend_from_slice(record);
    }
    let shown = Db::open_read_only(PATH, options(&own.fs.kill())).unwrap();
    let updates =
        shown.with(&UpdatesOptions::default()).updates_since(&Position::BEGINNING).unwrap();
    let mut inputs = vec![[&[0][..], &records].concat(), [&[2][..], &records].concat()];
    for update in updates {
        let position = update.unwrap().position.to_bytes();
        inputs.push([&[1][..], &position, &records].concat());
    }
    let whole = own.fs.read(&own.archive).unwrap();
    inputs.push([&[4][..], &whole].concat());
    inputs
}

/// The input without changes reaches each record of the archive.
#[cfg(test)]
#[test]
fn the_first_input_yields_every_update() {
    let own = prepared();
    let fs = own.fs.kill();
    forge(&fs, own, &inputs()[0][1..]);
    assert_eq!(fs.read(&own.archive).unwrap().len(), own.fs.read(&own.archive).unwrap().len());
    let shown = Db::open_read_only(PATH, options(&fs)).unwrap();
    let updates =
        shown.with(&UpdatesOptions::default()).updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(updates.map(Result::unwrap).count(), 7);
}
