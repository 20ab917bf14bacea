//! The knobs, and functions of the layers below the database for this crate's benches. The
//! interface is not stable.

use std::hint::black_box;

use crate::db::Db;
use crate::error::Result;
use crate::iterator::{MergingCursor, RunCursor, Source};
use crate::key::MAX_SEQNO;
use crate::rewriting::folding::{FoldCounts, Folder, RecordSink};
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::output::TableOutput;
use crate::version::KeyRange;

pub use crate::decoders::{DECODERS, Decoder, decoder};
pub use crate::encoding::key_hash;
pub use crate::fold::Definition;
pub use crate::key::{Kind, RecordHeader};
pub use crate::settings::Knobs;
pub use crate::table::{
    BlockCache, CursorOptions, TableBuilder, TableBuilderOptions, TableCursor, TableReader,
};

/// What [`merge`] does with the folded records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// Drops them, to measure reading, merging and folding alone.
    Nothing,
    /// Writes them to a table, then removes it.
    Table,
}

/// Merges and folds all runs and memtables of a database's default keyspace, with the code of
/// compactions and flushes. The tree does not change. Returns the number of records read and the
/// number of records after folding.
///
/// # Errors
/// As [`Db::flush`].
pub fn merge(db: &Db, into: Into) -> Result<(u64, u64)> {
    let core = db.core();
    let keyspace = core.keyspaces.default();
    let view = keyspace.view.load_full();
    let memtables = view.memtables().filter(|memtable| !memtable.is_empty());
    let memtables = memtables.map(|memtable| {
        memtable.order_all();
        Source::Memtable(Box::new(memtable.cursor(MAX_SEQNO)))
    });
    let all = KeyRange::all();
    let runs = view.version.runs().map(|(_, run)| {
        Source::Run(RunCursor::new(
            run,
            &all,
            &keyspace.tables,
            &keyspace.comparator,
            CursorOptions::walk(),
        ))
    });
    let mut records = MergingCursor::new(memtables.chain(runs).collect(), &keyspace.comparator);
    records.seek_to_first()?;
    let operators = core.registry.resolver();
    let inputs: Vec<_> = view.version.runs().map(|(_, run)| run.id).collect();
    let older = OlderTables::below(&view.version, &inputs, &all, &keyspace.comparator);
    let mut folder = Folder::new(&operators, &[], older);
    match into {
        Into::Nothing => fold_all(&mut records, &mut folder, &mut Nowhere)?,
        Into::Table => {
            let next_number = || core.new_file_number();
            let fs = &core.options.env.fs;
            let options = core.table_options(keyspace, keyspace.num_levels - 1);
            let mut output =
                TableOutput::new(fs, &core.names, &next_number, options, &core.work_memory());
            fold_all(&mut records, &mut folder, &mut output)?;
            output.cut()?;
        }
    }
    let FoldCounts { records_in, records_out, .. } = folder.counts;
    Ok((records_in, records_out))
}

fn fold_all(
    records: &mut MergingCursor,
    folder: &mut Folder<'_>,
    sink: &mut impl RecordSink,
) -> Result<()> {
    while records.valid() {
        folder.fold_key(records, sink)?;
    }
    Ok(())
}

struct Nowhere;

impl RecordSink for Nowhere {
    fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()> {
        black_box((key, header, value));
        Ok(())
    }
}
