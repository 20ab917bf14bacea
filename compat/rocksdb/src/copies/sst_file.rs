//! The files of tables that programs write and ingest, in the file system of an environment.
//!
//! A writer collects small appends. A reader takes the bytes of one block at a time.

use std::io;
use std::path::Path;
use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::env::{FileSystem, RandomAccessFile, WritableFile};
use foldb_leveldb_format::BYTEWISE;
use foldb_leveldb_format::builder::Output;
use foldb_rocksdb_format::table::{Input, Stop};
use foldb_rocksdb_format::{Fault, table};

use crate::status::{Code, Status};

/// Bytes that are written together.
const COLLECTED: usize = 256 << 10;

/// Returns RocksDB's name of an order of keys.
pub(crate) fn order_name(order: &dyn Comparator) -> &str {
    if order.name() == BytewiseComparator.name() { BYTEWISE } else { order.name() }
}

/// Says an error of a file as RocksDB does.
pub(crate) fn io_error(doing: &str, path: &Path, error: &io::Error) -> Status {
    let shown = path.display();
    let message = match error.kind() {
        io::ErrorKind::NotFound => {
            let missing = "No such file or directory";
            format!("{missing}: {doing}: {shown}: {missing}")
        }
        _ => format!("{doing}: {shown}: {error}"),
    };
    Status::new(Code::IoError, message)
}

/// The file of a table being written.
#[derive(Debug)]
pub(crate) struct SstOutput {
    file: Arc<dyn WritableFile>,
    collected: Vec<u8>,
    written: u64,
}

impl SstOutput {
    /// Creates the file, in place of one of that name.
    ///
    /// # Errors
    /// Fails if the file system does.
    pub(crate) fn create(fs: &dyn FileSystem, path: &Path) -> io::Result<SstOutput> {
        Ok(SstOutput { file: fs.create(path)?, collected: Vec::new(), written: 0 })
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_at(&self.collected, self.written)?;
        self.written += self.collected.len() as u64;
        self.collected.clear();
        Ok(())
    }

    /// Makes the bytes durable.
    ///
    /// # Errors
    /// Fails if the file system does.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.write()?;
        self.file.sync()
    }
}

impl Output for SstOutput {
    type Error = io::Error;

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.collected.extend_from_slice(bytes);
        if self.collected.len() >= COLLECTED { self.write() } else { Ok(()) }
    }
}

/// The file of a table being read.
#[derive(Debug)]
pub(crate) struct SstInput {
    file: Arc<dyn RandomAccessFile>,
    size: u64,
}

impl SstInput {
    /// Opens the file.
    ///
    /// # Errors
    /// Fails if the file system does.
    pub(crate) fn open(fs: &dyn FileSystem, path: &Path) -> io::Result<SstInput> {
        let file = fs.open(path)?;
        let size = file.len()?;
        Ok(SstInput { file, size })
    }
}

impl Input for SstInput {
    type Error = io::Error;

    fn size(&self) -> u64 {
        self.size
    }

    fn bytes(&mut self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

/// A table being read from a file.
pub(crate) type SstTable = table::Table<SstInput>;

/// Returns the status of a table that cannot be read on.
pub(crate) fn read_status(path: &Path, stop: &Stop<io::Error>) -> Status {
    match stop {
        Stop::Input(error) => io_error("While reading a table", path, error),
        Stop::At(at, fault) => {
            let code = match fault {
                Fault::Damaged(_) => Code::Corruption,
                Fault::Unsupported(_) => Code::NotSupported,
            };
            Status::new(code, format!("{}: at {at}: {fault}", path.display()))
        }
    }
}
