//! `import`: makes a database of another program's database, or of a file of rows.

use crate::args::{Common, Foreign, Import};
use crate::command::{import_ldb, import_leveldb, import_rocksdb, import_rows};
use crate::exit::{Exit, Outcome};

/// Imports, compares, and reports.
pub(super) fn run(args: &Import, common: &Common) -> Outcome {
    if let Some(layout) = args.rows.table.layout(args.from) {
        return import_rows::run(args, layout, common);
    }
    args.rows.check_none()?;
    match args.from {
        Foreign::RocksDb => import_rocksdb::run(args, common),
        Foreign::LdbDump => import_ldb::run(args, common),
        Foreign::RocksDbSst => Err(Exit::usage(
            "--from rocksdb-sst: tables are exported only; import the database that has them with \
             --from rocksdb",
        )),
        _ => import_leveldb::run(args, common),
    }
}
