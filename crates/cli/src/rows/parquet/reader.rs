//! The rows of a Parquet file, one after the other, each as a line of JSON.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use indicatif::ProgressBar;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use parquet::record::reader::RowIter;
use parquet::schema::types::{Type, TypePtr};

use super::{json, schema};
use crate::exit::{Exit, Outcome};
use crate::location::shown;
use crate::progress;

/// Rows between two steps of the progress bar.
const STEP: u64 = 1024;

/// Reads the rows of a file.
pub(crate) struct Rows {
    rows: RowIter<'static>,
    /// The columns that are read.
    columns: TypePtr,
    /// The names of all columns of the file.
    names: Vec<String>,
    /// How many rows the file says that it has.
    expected: u64,
    read: u64,
    bar: ProgressBar,
}

impl Rows {
    /// Opens a file, to read all columns or those that `only` names. Also returns its progress bar.
    ///
    /// # Errors
    /// Fails for a file that is not Parquet, for a codec that this build lacks, and for a column
    /// whose type JSON cannot hold.
    pub(crate) fn open(path: &Path, only: Option<&[&str]>) -> Outcome<(Rows, ProgressBar)> {
        let name = shown(path);
        if path.as_os_str() == "-" || path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Exit::failed(format!(
                "{name} is no regular file: the columns of Parquet are read in several places at \
                 once"
            )));
        }
        let file = File::open(path);
        let file = file.map_err(|error| Exit::failed(format!("cannot read {name}: {error}")))?;
        let opened = guarded(|| SerializedFileReader::new(file));
        let reader = opened
            .map_err(|why| Exit::failed(format!("{name} is not a whole Parquet file: {why}")))?;
        let failed = |why: String| Exit::failed(format!("{name}: {why}"));
        let metadata = reader.metadata();
        let root = metadata.file_metadata().schema_descr().root_schema_ptr();
        let names: Vec<String> =
            root.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let columns = projected(&root, only).map_err(failed)?;
        schema::check(&columns).map_err(failed)?;
        check_codecs(metadata, &columns).map_err(failed)?;
        let groups = metadata.row_groups().iter();
        let expected = groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum();
        let rows = guarded(|| {
            RowIter::from_file_into(Box::new(reader)).project(Some(columns.as_ref().clone()))
        });
        let bar = progress::bar(
            expected,
            "importing",
            "{prefix} {wide_bar} {human_pos} of {human_len} rows, {eta} left",
        );
        let rows = rows.map_err(failed)?;
        Ok((Rows { rows, columns, names, expected, read: 0, bar: bar.clone() }, bar))
    }

    /// Returns the names of the columns of the file.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads the next row as a line of JSON; `None` at the end.
    ///
    /// # Errors
    /// A message if the file is damaged.
    pub(crate) fn read(&mut self, mut line: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
        let damaged = |why| format!("row {}: {why}", self.read + 1);
        let row: Option<Row> = guarded(|| self.rows.next().transpose()).map_err(damaged)?;
        let Some(row) = row else {
            return match self.read == self.expected {
                true => Ok(None),
                false => Err(format!(
                    "the file has {} rows, and says that it has {}",
                    self.read, self.expected
                )),
            };
        };
        line.clear();
        json::row(&mut line, &row, &self.columns);
        self.read += 1;
        if self.read.is_multiple_of(STEP) {
            self.bar.set_position(self.read);
        }
        Ok(Some(line))
    }
}

/// Returns the schema with only these columns. Names that the file lacks are left out: the caller
/// asks for each column by its name.
fn projected(root: &TypePtr, only: Option<&[&str]>) -> Result<TypePtr, String> {
    let Some(only) = only else { return Ok(root.clone()) };
    let fields = root.get_fields().iter().filter(|field| only.contains(&field.name()));
    let fields: Vec<TypePtr> = fields.cloned().collect();
    if fields.is_empty() {
        return Ok(root.clone());
    }
    let built = Type::group_type_builder(root.name()).with_fields(fields).build();
    built.map(Into::into).map_err(|error| error.to_string())
}

fn check_codecs(metadata: &ParquetMetaData, columns: &Type) -> Result<(), String> {
    let read = |name: &str| columns.get_fields().iter().any(|field| field.name() == name);
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    for chunk in chunks {
        let path = chunk.column_path();
        if path.parts().first().is_some_and(|name| read(name)) {
            schema::check_codec(chunk.compression(), path)?;
        }
    }
    Ok(())
}

/// Calls the crate `parquet`, which panics at some damaged files.
fn guarded<T>(call: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the file is damaged".to_owned()),
    }
}
