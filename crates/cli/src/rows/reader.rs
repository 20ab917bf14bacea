//! Rows one after the other, as they are written.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use indicatif::ProgressBar;

use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::interrupt::Watch;
use crate::rows::input::{Allowance, Input, name_of};
#[cfg(feature = "parquet")]
use crate::rows::parquet;
use crate::rows::{Column, Layout, MAX_ROW, Row};

/// Bytes that a reader takes from its input at once.
const BUFFER: usize = 128 << 10;

/// A row as it is written.
#[derive(Debug)]
pub(crate) enum Raw {
    /// The cells of a row of CSV.
    Csv(csv::ByteRecord),
    /// A line, without its end. A row of Parquet becomes one.
    Json(Vec<u8>),
}

/// Reads the rows of a file.
pub(crate) struct Reader<'a> {
    rows: Rows<'a>,
    allowance: Option<Allowance>,
    name: String,
    watch: &'a Watch,
    /// The line at which the current row begins, or the number of a row of Parquet.
    line: u64,
    /// The names of the columns, or nothing for JSON lines.
    header: Vec<String>,
    has_header: bool,
}

enum Rows<'a> {
    Csv(Box<csv::Reader<Input<'a>>>),
    Json(BufReader<Input<'a>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Rows>),
}

impl<'a> Reader<'a> {
    /// Opens a file, or standard input if it is `-`, and reads the names of columns. Also returns
    /// its progress bar. Rows of Parquet have only the columns `only`, if it is given.
    ///
    /// # Errors
    /// Fails for a file that cannot be read, for CSV without a row, and for a header that is not
    /// UTF-8 or names a column twice.
    pub(crate) fn open(
        file: &Path,
        layout: Layout,
        only: Option<&[&str]>,
        watch: &'a Watch,
    ) -> Outcome<(Reader<'a>, ProgressBar)> {
        layout.check_supported()?;
        #[cfg(feature = "parquet")]
        if layout == Layout::Parquet {
            let (rows, bar) = parquet::Rows::open(file, only)?;
            let (name, header) = (name_of(file), rows.names().to_vec());
            let rows = Rows::Parquet(Box::new(rows));
            let (line, has_header, allowance) = (0, false, None);
            return Ok((Reader { rows, allowance, name, watch, line, header, has_header }, bar));
        }
        let _ = only;
        let (input, bar) = Input::open(file, watch)?;
        let allowance = Some(input.allowance());
        let (rows, has_header) = match layout {
            Layout::Csv { delimiter, header } => {
                let mut builder = csv::ReaderBuilder::new();
                builder.has_headers(header).delimiter(delimiter);
                builder.flexible(true).buffer_capacity(BUFFER);
                (Rows::Csv(Box::new(builder.from_reader(input))), header)
            }
            Layout::Json | Layout::Parquet => {
                (Rows::Json(BufReader::with_capacity(BUFFER, input)), false)
            }
        };
        let (name, header) = (name_of(file), Vec::new());
        let mut reader = Reader { rows, allowance, name, watch, line: 0, header, has_header };
        reader.read_header()?;
        Ok((reader, bar))
    }

    fn read_header(&mut self) -> Outcome {
        let Rows::Csv(rows) = &mut self.rows else { return Ok(()) };
        let first = match rows.byte_headers() {
            Ok(first) => first.clone(),
            Err(error) => return Err(self.failed(&error.to_string())),
        };
        if first.is_empty() {
            return Err(Exit::failed(format!("{} is empty: it has no row", self.name)));
        }
        for (index, cell) in first.iter().enumerate() {
            let name = match std::str::from_utf8(cell) {
                Ok(name) if self.has_header => name.to_owned(),
                Ok(_) => (index + 1).to_string(),
                Err(_) if !self.has_header => (index + 1).to_string(),
                Err(_) => {
                    let (name, cell) = (&self.name, quoted(cell));
                    return Err(Exit::failed(format!("{name}: the header {cell} is not UTF-8")));
                }
            };
            if self.header.contains(&name) {
                let (file, name) = (&self.name, quoted(name.as_bytes()));
                return Err(Exit::failed(format!("{file}: the header has {name} twice")));
            }
            self.header.push(name);
        }
        Ok(())
    }

    /// Finds a column by its name, or by its number if there is no header.
    ///
    /// # Errors
    /// Fails if CSV has no such column.
    pub(crate) fn column(&self, name: &str) -> Outcome<Column> {
        if matches!(self.rows, Rows::Json(_)) {
            return Ok(Column { name: name.to_owned(), at: 0 });
        }
        match self.header.iter().position(|column| column == name) {
            Some(at) => Ok(Column { name: name.to_owned(), at }),
            None => {
                let (file, column) = (&self.name, quoted(name.as_bytes()));
                let nearest = match self.has_header || self.unit() == "row" {
                    true => crate::args::nearest::hint(name, self.header.iter().map(|it| &**it)),
                    false => format!("; it has the columns 1 to {}", self.header.len()),
                };
                Err(Exit::failed(format!("{file} has no column {column}{nearest}")))
            }
        }
    }

    /// Returns the names of the columns, if there is a header.
    pub(crate) fn header(&self) -> Option<&[String]> {
        self.has_header.then_some(&self.header)
    }

    /// Reads the next row; `None` at the end.
    ///
    /// # Errors
    /// Fails if the input does, or if a row is too long. Ctrl-C interrupts it.
    pub(crate) fn read(&mut self, raw: Option<Raw>) -> Outcome<Option<Raw>> {
        if let Some(allowance) = &self.allowance {
            allowance.renew();
        }
        // The text's input checks this where it waits.
        #[cfg(feature = "parquet")]
        if matches!(self.rows, Rows::Parquet(_)) && self.watch.interrupted() {
            return Err(self.failed("interrupted"));
        }
        let read = match (&mut self.rows, raw) {
            (Rows::Csv(rows), raw) => {
                let mut record = match raw {
                    Some(Raw::Csv(record)) => record,
                    _ => csv::ByteRecord::new(),
                };
                let read = rows.read_byte_record(&mut record).map_err(|error| error.to_string());
                self.line = record.position().map_or(self.line, csv::Position::line);
                read.map(|found| found.then_some(Raw::Csv(record)))
            }
            (Rows::Json(lines), raw) => {
                let line = match raw {
                    Some(Raw::Json(line)) => line,
                    _ => Vec::new(),
                };
                next_line(lines, line, &mut self.line).map(|found| found.map(Raw::Json))
            }
            #[cfg(feature = "parquet")]
            (Rows::Parquet(rows), raw) => {
                let line = match raw {
                    Some(Raw::Json(line)) => line,
                    _ => Vec::new(),
                };
                self.line += 1;
                rows.read(line).map(|found| found.map(Raw::Json))
            }
        };
        read.map_err(|why| self.failed(&why))
    }

    /// Returns the line at which the current row begins, or the number of a row of Parquet.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Returns what [`line`](Self::line) counts.
    pub(crate) fn unit(&self) -> &'static str {
        match self.rows {
            Rows::Csv(_) | Rows::Json(_) => "line",
            #[cfg(feature = "parquet")]
            Rows::Parquet(_) => "row",
        }
    }

    /// Returns the cells of a row.
    ///
    /// # Errors
    /// A message that says what is wrong with the row.
    pub(crate) fn row<'r>(&'r self, raw: &'r Raw) -> Result<Row<'r>, String> {
        Row::parse(raw, &self.header, self.has_header)
    }

    fn failed(&self, why: &str) -> Exit {
        match self.watch.interrupted() {
            true => Exit::Interrupted("interrupted".to_owned()),
            // The reading thread names the file.
            false if why.starts_with("cannot read ") => Exit::failed(why),
            false => Exit::failed(format!("{}: {why}", self.name)),
        }
    }
}

/// Reads the next line that is not blank.
fn next_line(
    lines: &mut BufReader<Input<'_>>,
    mut line: Vec<u8>,
    number: &mut u64,
) -> Result<Option<Vec<u8>>, String> {
    loop {
        line.clear();
        let mut bounded = lines.by_ref().take(MAX_ROW);
        let read = bounded.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if read == 0 {
            return Ok(None);
        }
        *number += 1;
        if !line.ends_with(b"\n") && line.len() as u64 == MAX_ROW {
            return Err(format!("line {number} is longer than {} MiB", MAX_ROW >> 20));
        }
        if *number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        let len = line.trim_ascii_end().len();
        line.truncate(len);
        if !line.is_empty() {
            return Ok(Some(line));
        }
    }
}
