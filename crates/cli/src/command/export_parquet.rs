//! `export --to parquet`: entries become rows of columns with types.
//!
//! A file of Parquet begins with its columns, so the first of two passes finds their types. Both
//! read one snapshot, so they read the same entries.

use foldb::Iter;

use super::export_rows::{Rows, Walks};
use crate::exit::{Exit, Outcome};
use crate::output::key_in_message;
use crate::rows::parquet::{Cell, Columns, Writer};
use crate::rows::stored_fields;

/// Writes all entries, and returns how many there are.
pub(super) fn write(rows: &Rows, walks: &Walks<'_>) -> Outcome<u64> {
    let mut columns = match rows.is_stored {
        true => Columns::default(),
        false => Columns::named(rows.key_names.iter().chain([&rows.value_name]).cloned()),
    };
    walks.each(|entries| {
        let cells = cells(rows, &mut columns, entries)?;
        columns.widen(&cells);
        Ok(())
    })?;
    if columns.is_empty() {
        return Err(Exit::failed(
            "there is no entry, and the columns of Parquet are those of the first row",
        ));
    }
    let mut writer = Writer::begin(&walks.args.dst, columns)?;
    let count = walks.each(|entries| {
        let cells = cells(rows, writer.columns(), entries)?;
        writer.row(cells)
    })?;
    writer.finish()?;
    Ok(count)
}

/// Returns the cells of an entry. The first stored row names the columns.
fn cells(rows: &Rows, columns: &mut Columns, entries: &Iter) -> Outcome<Vec<Cell>> {
    let key = entries.key();
    let failed =
        |why: String| Exit::failed(format!("{} {why}", key_in_message(rows.key_form, key)));
    let value = entries.value().map_err(|error| failed(format!("cannot be read: {error}")))?;
    if rows.is_stored {
        return stored(columns, value).map_err(failed);
    }
    let texts = rows.keys.cells(key).map_err(failed)?;
    let mut cells = Vec::with_capacity(texts.len() + 1);
    for (at, text) in texts.iter().enumerate() {
        let number = std::str::from_utf8(text).ok().filter(|_| rows.keys.is_integer(at));
        let number = number.and_then(|text| text.parse().ok());
        cells.push(number.map_or_else(|| Cell::of_bytes(text), Cell::Signed));
    }
    let shown = rows.shown(value).map_err(|why| failed(format!("has a value that {why}")))?;
    cells.push(Cell::of(shown));
    Ok(cells)
}

/// Returns the cells of a row that `--value json` stored.
fn stored(columns: &mut Columns, value: &[u8]) -> Result<Vec<Cell>, String> {
    let fields = stored_fields(value)?;
    if columns.is_empty() {
        *columns = Columns::named(fields.iter().map(|(name, _)| name.clone()));
    }
    if !columns.names().eq(fields.iter().map(|(name, _)| name.as_str())) {
        let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let header: Vec<_> = columns.names().collect();
        return Err(format!(
            "has the columns {}, and the first row has {}",
            names.join(","),
            header.join(",")
        ));
    }
    Ok(fields.iter().map(|(_, raw)| Cell::of_raw(raw)).collect())
}
