//! The text of `ldb dump --hex` or `ldb scan --hex` as a stream of entries.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use foldb_rocksdb_format::ldb::{self, Line};

use crate::exit::{Exit, Outcome};
use crate::foreign::Stream;
use crate::location::shown;

/// A text being read.
pub(crate) struct Dump {
    name: String,
    text: Box<dyn BufRead>,
    line: Vec<u8>,
    /// Lines, and entries among them.
    lines: u64,
    entries: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Dump {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub(crate) fn open(path: &Path) -> Outcome<Dump> {
        let (name, text): (String, Box<dyn BufRead>) = if path == Path::new("-") {
            ("standard input".to_owned(), Box::new(BufReader::new(io::stdin())))
        } else {
            let name = shown(path);
            let opened = File::open(path);
            let file =
                opened.map_err(|error| Exit::failed(format!("cannot read {name}: {error}")))?;
            (name, Box::new(BufReader::new(file)))
        };
        let (key, value) = (Vec::new(), Vec::new());
        Ok(Dump { name, text, line: Vec::new(), lines: 0, entries: 0, key, value })
    }

    /// Reads the next line. `None` at the end.
    fn next(&mut self) -> Outcome<Option<Line>> {
        self.line.clear();
        let read = self.text.read_until(b'\n', &mut self.line);
        let read =
            read.map_err(|error| Exit::failed(format!("cannot read {}: {error}", self.name)))?;
        if read == 0 {
            return Ok(None);
        }
        self.lines += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        ldb::line(line).map(Some).map_err(|fault| self.wrong(&fault.to_string()))
    }

    fn wrong(&self, what: &str) -> Exit {
        Exit::failed(format!("{} line {}: {what}; nothing was imported", self.name, self.lines))
    }
}

impl Stream for Dump {
    fn advance(&mut self) -> Outcome<bool> {
        loop {
            match self.next()? {
                None => return Ok(false),
                Some(Line::Empty) => {}
                Some(Line::Count(count)) if count == self.entries => {}
                Some(Line::Count(count)) => {
                    let found = self.entries;
                    return Err(self.wrong(&format!("expected {count} entries, found {found}")));
                }
                Some(Line::Entry(key, _)) if self.entries > 0 && key <= self.key => {
                    return Err(self.wrong("the keys do not ascend"));
                }
                Some(Line::Entry(key, value)) => {
                    (self.key, self.value) = (key, value);
                    self.entries += 1;
                    return Ok(true);
                }
            }
        }
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn base(&self) -> Option<&[u8]> {
        Some(&self.value)
    }
}
