//! Writes the rows of an export in groups.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::kind::{Cell, Column, Columns, Kind};
use crate::exit::{Exit, Outcome};
use crate::rows::sink::{Sink, write_failed};

/// Most rows of a group.
const GROUP_ROWS: usize = 128 << 10;
/// Bytes of cells in memory that fill a group.
const GROUP_BYTES: usize = 32 << 20;

/// Writes rows.
pub(crate) struct Writer {
    out: SerializedFileWriter<Sink>,
    /// The file in messages; nothing for standard output.
    name: Option<String>,
    columns: Columns,
    /// The cells of each column that wait for their group.
    waiting: Vec<Vec<Cell>>,
    bytes: usize,
}

impl Writer {
    /// Begins a file, or standard output if it is `-`.
    ///
    /// # Errors
    /// As [`Sink::begin`].
    pub(crate) fn begin(file: &Path, columns: Columns) -> Outcome<Writer> {
        let schema = schema_of(&columns).map_err(|error| Exit::failed(error.to_string()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("foldb ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let (sink, name) = Sink::begin(file)?;
        let out = SerializedFileWriter::new(sink, schema, Arc::new(properties));
        let out = out.map_err(|error| failed(name.as_deref(), error))?;
        let waiting = columns.all().iter().map(|_| Vec::new()).collect();
        Ok(Writer { out, name, columns, waiting, bytes: 0 })
    }

    /// Returns the columns.
    pub(crate) fn columns(&mut self) -> &mut Columns {
        &mut self.columns
    }

    /// Adds a row, with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) -> Outcome {
        for (column, cell) in self.waiting.iter_mut().zip(cells) {
            self.bytes += cell.size();
            column.push(cell);
        }
        let rows = self.waiting.first().map_or(0, Vec::len);
        if rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.write_group() } else { Ok(()) }
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Outcome {
        if self.waiting.iter().any(|cells| !cells.is_empty()) {
            self.write_group()?;
        }
        let sink = self.out.into_inner();
        let mut sink = sink.map_err(|error| failed(self.name.as_deref(), error))?;
        io::Write::flush(&mut sink).map_err(|error| write_failed(self.name.as_deref(), &error))?;
        sink.finish()
    }

    fn write_group(&mut self) -> Outcome {
        let done = write_group(&mut self.out, &self.columns, &mut self.waiting);
        self.bytes = 0;
        done.map_err(|error| failed(self.name.as_deref(), error))
    }
}

fn failed(name: Option<&str>, error: ParquetError) -> Exit {
    let error = match error {
        // A closed pipe must stay one.
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    };
    write_failed(name, &error)
}

fn schema_of(columns: &Columns) -> Result<TypePtr, ParquetError> {
    let fields = columns.all().iter().map(|column| type_of(column).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("foldb").with_fields(fields).build()?))
}

fn type_of(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind.unwrap_or(Kind::Text) {
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Small | Kind::Signed => (Physical::INT64, None),
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Fraction => (Physical::DOUBLE, None),
        Kind::Text | Kind::Mixed => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Bytes | Kind::MixedBytes => (Physical::BYTE_ARRAY, None),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
    };
    let is_required = column.kind.is_some() && !column.has_null;
    let repetition = if is_required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_repetition(repetition).with_logical_type(logical).build()
}

fn write_group(
    out: &mut SerializedFileWriter<Sink>,
    columns: &Columns,
    waiting: &mut [Vec<Cell>],
) -> Result<(), ParquetError> {
    let mut group = out.next_row_group()?;
    for (column, cells) in columns.all().iter().zip(waiting) {
        let Some(writer) = group.next_column()? else { break };
        let cells = cells.drain(..);
        match column.kind.unwrap_or(Kind::Text) {
            Kind::Bool => write::<BoolType>(writer, column, cells, |cell| match cell {
                Cell::Bool(flag) => Some(flag),
                _ => None,
            }),
            Kind::Small | Kind::Signed => {
                write::<Int64Type>(writer, column, cells, |cell| match cell {
                    Cell::Signed(n) => Some(n),
                    _ => None,
                })
            }
            Kind::Unsigned => write::<Int64Type>(writer, column, cells, |cell| match cell {
                // Parquet has these bits as an unsigned number.
                Cell::Unsigned(n) => Some(n.cast_signed()),
                _ => None,
            }),
            Kind::Fraction => write::<DoubleType>(writer, column, cells, |cell| match cell {
                Cell::Fraction(n) => Some(n),
                Cell::Signed(n) => Some(n as f64),
                _ => None,
            }),
            Kind::Text | Kind::Mixed | Kind::Bytes | Kind::MixedBytes | Kind::Json => {
                let bytes = |cell: Cell| Some(ByteArray::from(cell.into_bytes()));
                write::<ByteArrayType>(writer, column, cells, bytes)
            }
        }?;
    }
    group.close()?;
    Ok(())
}

/// Writes the cells of a column, of which `value` makes values.
fn write<T: DataType>(
    mut writer: SerializedColumnWriter<'_>,
    column: &Column,
    cells: impl Iterator<Item = Cell>,
    value: impl Fn(Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        let is_null = cell == Cell::Null;
        levels.push(i16::from(!is_null));
        if !is_null {
            let name = &column.name;
            values.push(value(cell).ok_or_else(|| {
                ParquetError::General(format!("the column '{name}' changed while it was read"))
            })?);
        }
    }
    let is_required = column.kind.is_some() && !column.has_null;
    let levels = if is_required { None } else { Some(&levels[..]) };
    writer.typed::<T>().write_batch(&values, levels, None)?;
    writer.close()
}
