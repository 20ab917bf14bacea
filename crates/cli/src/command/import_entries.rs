//! Copies the entries of another program's database into a keyspace, and compares them.
//!
//! Operands stay operands. The comparison is with their folds, as the operator itself makes them.

use std::path::Path;

use foldb::operators::Full;
use foldb::{
    Db, ErrorKind, Keyspace, KeyspaceReader, Options, ReadOnlyDb, WriteBatch, WriteOptions,
};
use indicatif::ProgressBar;

use crate::args::Import;
use crate::command::scan::{Walk, once};
use crate::digest::Digest;
use crate::exit::{Exit, Outcome};
use crate::foreign::Stream;
use crate::form::escape::quoted;
use crate::interrupt::Watch;
use crate::location::shown;
use crate::operator::Spec;

/// Bytes of keys and values that fill a batch.
const BATCH_BYTES: usize = 1 << 20;

/// The template of progress bars.
pub(super) const TEMPLATE: &str = "{prefix} {wide_bar} {bytes} of {total_bytes}, {elapsed}";

/// Returns the operator of a new database that has only one.
pub(super) fn only_operator(args: &Import) -> Outcome<Option<String>> {
    match &args.operator[..] {
        [] => Ok(None),
        [text] => Ok(Some(Spec::parse(text)?.text().to_owned())),
        _ => Err(Exit::usage("--operator: the new database has only one")),
    }
}

/// Refuses everything but a database of this engine, by name if foldb knows it. RocksDB
/// takes databases of LevelDB, too.
pub(super) fn check_source(src: &Path, engine: &str) -> Outcome {
    let name = shown(src);
    if src.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(Exit::failed(format!(
            "{name} is not a {engine} database: it is a file, not a directory"
        )));
    }
    match ReadOnlyDb::open(src, Options { allow_unresolved_operators: true, ..Options::default() })
    {
        Ok(_) => Err(Exit::failed(format!(
            "{name} is a foldb database already: to copy it, use foldb checkpoint"
        ))),
        Err(error) if error.kind() == ErrorKind::ForeignDatabase => {
            if !src.join("CURRENT").exists() {
                return Err(Exit::failed(format!(
                    "{name} has files of {engine}, but no CURRENT: repair the database with \
                     {engine} first"
                )));
            }
            match engine == "LevelDB" && error.to_string().contains("RocksDB") {
                true => Err(error.into()),
                false => Ok(()),
            }
        }
        Err(error) if !src.is_dir() => {
            Err(Exit::failed(format!("there is no {engine} database at {name}: {error}")))
        }
        Err(_) => Err(Exit::failed(format!("{name} is not a {engine} database"))),
    }
}

/// Creates a database.
pub(super) fn create(path: &Path, options: &Options) -> Outcome<Db> {
    let create = Options { create_if_missing: true, error_if_exists: true, ..options.clone() };
    Ok(Db::open(path, create)?)
}

/// Makes the entries of a new database durable, and closes it.
pub(super) fn end(db: Db) -> Outcome {
    db.flush()?;
    Ok(db.close()?)
}

/// A copy into a keyspace of a new database.
pub(super) struct Copy<'a> {
    pub db: &'a Db,
    pub keyspace: &'a Keyspace,
    /// The operator of the keyspace.
    pub operator: Option<&'a Spec>,
    pub bar: &'a ProgressBar,
    pub watch: &'a Watch,
}

impl Copy<'_> {
    /// Copies all entries, and returns what reads of them will give.
    pub(super) fn all(&self, entries: &mut impl Stream) -> Outcome<Digest> {
        let mut batch = WriteBatch::new();
        let mut digest = Digest::default();
        let begun = self.bar.position();
        let mut pending = 0;
        while entries.advance()? {
            let (key, base, operands) = (entries.key(), entries.base(), entries.operands());
            if let Some(base) = base {
                batch.put_in(self.keyspace, key, base);
            }
            for operand in operands {
                batch.merge_in(self.keyspace, key, operand);
            }
            self.note(key, base, operands, &mut digest)?;
            pending += key.len() + base.map_or(0, <[u8]>::len);
            pending += operands.iter().map(|operand| key.len() + operand.len()).sum::<usize>();
            if pending >= BATCH_BYTES {
                self.write(&mut batch)?;
                self.bar.set_position(begun + digest.bytes());
                pending = 0;
                check_interrupt(self.watch)?;
            }
        }
        self.write(&mut batch)?;
        self.bar.set_position(begun + digest.bytes());
        Ok(digest)
    }

    fn write(&self, batch: &mut WriteBatch) -> Outcome {
        // The import is repeated after a crash, so nothing needs a log.
        let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
        self.db.with(&unlogged).write(batch)?;
        batch.clear();
        Ok(())
    }

    /// Adds what a read of the key will give.
    fn note(
        &self,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[Vec<u8>],
        digest: &mut Digest,
    ) -> Outcome {
        if operands.is_empty() {
            digest.add(key, base.unwrap_or_default());
            return Ok(());
        }
        let named = || quoted(&key[..key.len().min(40)]);
        let Some(operator) = self.operator else {
            return Err(Exit::failed(format!(
                "key {} has operands, and nothing names their operator: name it with --operator \
                 {}=NAME (foldb operators lists them)",
                named(),
                self.keyspace.name()
            )));
        };
        let refs: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        let mut folded = Vec::new();
        match operator.fold(key, base, &refs, &mut folded) {
            Full::Value => digest.add(key, &folded),
            Full::Operand(n) => digest.add(key, refs.get(n).copied().unwrap_or_default()),
            Full::Existing => digest.add(key, base.unwrap_or_default()),
            Full::Delete => {}
            Full::Fail => {
                return Err(Exit::failed(format!(
                    "the operator {} cannot fold the operands of key {}",
                    operator.text(),
                    named()
                )));
            }
        }
        Ok(())
    }
}

/// Reads a keyspace of the new database, and compares it with what was read before.
pub(super) fn compare(
    read: &Digest,
    keyspace: &KeyspaceReader,
    bar: &ProgressBar,
    watch: &Watch,
) -> Outcome {
    let entries = keyspace.with(&once()).iter()?;
    let begun = bar.position();
    let mut found = Digest::default();
    Walk { entries, reverse: false, limit: u64::MAX }.each(|entries| {
        found.add(entries.key(), entries.value()?);
        bar.set_position(begun + found.bytes());
        check_interrupt(watch)
    })?;
    match read.difference(&found) {
        None => Ok(()),
        Some(difference) => Err(Exit::failed(format!(
            "the new database differs from the old one, so it was removed: {difference}"
        ))),
    }
}

/// Ends the command after Ctrl-C. Dropping the staged directory removes it.
pub(super) fn check_interrupt(watch: &Watch) -> Outcome {
    match watch.interrupted() {
        false => Ok(()),
        true => Err(Exit::Interrupted("interrupted; the new database was removed".to_owned())),
    }
}
