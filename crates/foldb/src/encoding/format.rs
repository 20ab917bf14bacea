//! What a file says of its format: a magic, which tells its kind, and a version.
//!
//! There is one version of each format. A file of another version, or of a format from before
//! version 1, is refused: no other byte of the file is interpreted.

use crate::error::{Error, ErrorKind, Result};

/// The version of every format.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Bytes of a magic.
pub(crate) const MAGIC_LEN: usize = 8;

/// The format of a kind of file. Magics are on disk: never reuse one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileFormat {
    /// The kind of file, as messages name it.
    what: &'static str,
    magic: [u8; MAGIC_LEN],
    /// The magic of this kind of file before version 1.
    before: [u8; MAGIC_LEN],
}

/// Logs.
pub(crate) const LOG: FileFormat = FileFormat::new("log", b"log/fold", b"foldblog");
/// Manifests.
pub(crate) const MANIFEST: FileFormat = FileFormat::new("manifest", b"man/fold", b"foldblog");
/// Tables.
pub(crate) const TABLE: FileFormat = FileFormat::new("table", b"tbl/fold", b"foldbtbl");
/// Value segments.
pub(crate) const SEGMENT: FileFormat = FileFormat::new("value segment", b"seg/fold", b"foldbseg");
/// Records of a clean close.
pub(crate) const CLOSED: FileFormat =
    FileFormat::new("record of a close", b"end/fold", b"foldbend");
/// Records of backups.
pub(crate) const BACKUP: FileFormat =
    FileFormat::new("record of a backup", b"bak/fold", b"foldbbak");
/// Files of a flight recorder.
pub(crate) const FLIGHT: FileFormat = FileFormat::new("flight recording", b"rec/fold", b"foldbrec");
/// Dumps.
pub(crate) const DUMP: FileFormat = FileFormat::new("dump", b"dmp/fold", b"foldbdmp");

impl FileFormat {
    const fn new(
        what: &'static str,
        magic: &[u8; MAGIC_LEN],
        before: &[u8; MAGIC_LEN],
    ) -> FileFormat {
        FileFormat { what, magic: *magic, before: *before }
    }

    /// Returns the bytes by which a file of this format is known.
    pub(crate) fn magic(&self) -> &[u8; MAGIC_LEN] {
        &self.magic
    }

    /// Returns whether the bytes begin with the magic of this format, in this version or before
    /// version 1.
    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(&self.magic) || bytes.starts_with(&self.before)
    }

    /// Checks the magic of a file.
    ///
    /// # Errors
    /// `Unsupported` for the magic of the format before version 1; else `Corruption`.
    pub(crate) fn check_magic(&self, found: &[u8]) -> Result<()> {
        if found == self.magic {
            return Ok(());
        }
        let FileFormat { what, magic, before } = self;
        let (magic, shown) = (magic.escape_ascii(), found.escape_ascii());
        if found == before {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{what} of the format \"{shown}\", expected \"{magic}\" version \
                     {FORMAT_VERSION}: copy the entries with the foldb that wrote them, by \
                     `foldb dump` and `foldb load`"
                ),
            ));
        }
        Err(Error::corruption(format!(
            "not a {what} of foldb: expected the magic \"{magic}\", found \"{shown}\""
        )))
    }

    /// Checks the version of a file. The caller has already verified a checksum that covers it.
    ///
    /// # Errors
    /// `Unsupported` for any other than [`FORMAT_VERSION`].
    pub(crate) fn check_version(&self, found: u32) -> Result<()> {
        if found == FORMAT_VERSION {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} of format version {found}, expected version {FORMAT_VERSION}: use the foldb \
                 that wrote it",
                self.what
            ),
        ))
    }
}
