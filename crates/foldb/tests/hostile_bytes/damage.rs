//! The damages to a database's files, one at a time.

use std::fmt;
use std::path::{Path, PathBuf};

use foldb::env::{FileSystem, MemFs};

use crate::support::PATH;

/// One damage.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    /// The bits of `mask` are flipped in the byte at `at`.
    Flip {
        file: String,
        at: usize,
        mask: u8,
    },
    /// The file ends at `len`.
    Cut {
        file: String,
        len: usize,
    },
    /// All bytes from `from` on are zero; the length stays.
    Zeroed {
        file: String,
        from: usize,
    },
    /// Two files of a kind have exchanged their bytes.
    Swap {
        a: String,
        b: String,
    },
    /// A file has the bytes of another one.
    Copied {
        from: String,
        to: String,
    },
    /// A file has the bytes of the same file in another database.
    Foreign {
        file: String,
        bytes: Vec<u8>,
    },
    Missing {
        file: String,
    },
    /// There is an extra file, with the bytes of another file or other bytes.
    Extra {
        from: Option<String>,
        to: String,
    },
}

use Damage::{Copied, Cut, Extra, Flip, Foreign, Missing, Swap, Zeroed};

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flip { file, at, mask } => write!(f, "{file}: byte {at} with {mask:#04x} flipped"),
            Cut { file, len } => write!(f, "{file}: cut to {len} bytes"),
            Zeroed { file, from } => write!(f, "{file}: zeros from {from} on"),
            Swap { a, b } => write!(f, "{a} and {b} swapped"),
            Copied { from, to } => write!(f, "{to}: has the bytes of {from}"),
            Foreign { file, .. } => write!(f, "{file}: of another database"),
            Missing { file } => write!(f, "{file}: missing"),
            Extra { from, to } => write!(f, "{to}: extra, with the bytes of {from:?}"),
        }
    }
}

/// Returns the path of a file of the database.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(PATH).join(name)
}

/// Returns the names of all files, in order.
pub(crate) fn names(fs: &MemFs) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.sort();
    names
}

pub(crate) fn write(fs: &MemFs, name: &str, bytes: &[u8]) {
    let file = fs.create(&path(name)).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
}

/// Returns a file's kind, as the printed figures name it.
pub(crate) fn kind_of(name: &str) -> &'static str {
    match name {
        "CURRENT" => "CURRENT",
        "CLOSED" => "CLOSED",
        "LOCK" => "LOCK",
        _ if name.starts_with("MANIFEST") => "manifest",
        _ if name.ends_with(".log") => "log",
        _ if name.ends_with(".tbl") => "table",
        _ if name.ends_with(".seg") => "segment",
        _ => "other",
    }
}

impl Damage {
    /// Returns a copy of the database with this damage.
    pub(crate) fn done_to(&self, whole: &MemFs) -> MemFs {
        let fs = whole.kill();
        let read = |name: &str| whole.read(&path(name)).unwrap();
        let change = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = read(name);
            change(&mut bytes);
            write(&fs, name, &bytes);
        };
        match self {
            Flip { file, at, mask } => change(file, &|bytes| bytes[*at] ^= mask),
            Cut { file, len } => change(file, &|bytes| bytes.truncate(*len)),
            Zeroed { file, from } => change(file, &|bytes| bytes[*from..].fill(0)),
            Swap { a, b } => {
                write(&fs, a, &read(b));
                write(&fs, b, &read(a));
            }
            Copied { from, to } => write(&fs, to, &read(from)),
            Foreign { file, bytes } => write(&fs, file, bytes),
            Missing { file } => fs.remove(&path(file)).unwrap(),
            Extra { from, to } => {
                let bytes = from.as_ref().map_or(b"not foldb's".to_vec(), |from| read(from));
                write(&fs, to, &bytes);
            }
        }
        fs
    }

    /// Returns the name of the damaged file.
    pub(crate) fn file(&self) -> &str {
        match self {
            Flip { file, .. } | Cut { file, .. } | Zeroed { file, .. } | Missing { file } => file,
            Foreign { file, .. } | Swap { a: file, .. } => file,
            Copied { to, .. } | Extra { to, .. } => to,
        }
    }

    /// Returns the kind of the damage, as the printed figures name it.
    pub(crate) fn deed(&self) -> &'static str {
        match self {
            Flip { .. } => "flipped",
            Cut { .. } => "cut",
            Zeroed { .. } => "zeroed",
            Swap { .. } | Copied { .. } | Foreign { .. } => "swapped",
            Missing { .. } => "missing",
            Extra { .. } => "extra",
        }
    }

    /// Returns whether the damage only changes bytes inside a file. Then an error must name a place
    /// in the file.
    pub(crate) fn is_inside(&self) -> bool {
        matches!(self, Flip { .. })
    }
}

/// Returns where the file's bytes end and its reserved space begins.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Returns every damage to a database. `other` is a database made in the same way. Of flips, cuts
/// and zeros it takes only each `stride`-th, from a random first place in each file.
pub(crate) fn all(fs: &MemFs, other: &MemFs, stride: usize) -> Vec<Damage> {
    let names = names(fs);
    let mut damages = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let file = || name.clone();
        let bytes = fs.read(&path(name)).unwrap();
        // Reserved space is long and all zero: its first bytes stand for it.
        let end = bytes.len().min(used(&bytes) + 40);
        for at in (number % stride..end).step_by(stride) {
            damages.push(Flip { file: file(), at, mask: 1 << (at % 8) });
            if at % 3 == 0 {
                damages.push(Flip { file: file(), at, mask: 0xff });
            }
        }
        for len in (number % stride..end).step_by(stride * 2) {
            damages.push(Cut { file: file(), len });
            damages.push(Zeroed { file: file(), from: len });
        }
        if stride == 1 {
            damages.extend((1..end).step_by(2).map(|len| Cut { file: file(), len }));
        }
        damages.push(Missing { file: file() });
        let foreign = other.read(&path(name)).ok().filter(|foreign| *foreign != bytes);
        damages.extend(foreign.map(|bytes| Foreign { file: file(), bytes }));
        for to in names.iter().filter(|to| *to != name && kind_of(to) == kind_of(name)) {
            damages.push(Copied { from: file(), to: to.clone() });
            if name < to {
                damages.push(Swap { a: file(), b: to.clone() });
            }
        }
        let numbered = match kind_of(name) {
            "manifest" => &["MANIFEST-000099", "MANIFEST-000001"][..],
            "log" => &["000001.log", "000099.log", "000099.seg"][..],
            "table" => &["000001.tbl", "000099.tbl"][..],
            "segment" => &["000001.seg", "000099.seg", "000099.log"][..],
            _ => &[][..],
        };
        let extra = numbered.iter().filter(|to| !names.iter().any(|name| name == *to));
        damages.extend(extra.map(|to| Extra { from: Some(file()), to: (*to).to_owned() }));
    }
    let strange = ["notes.txt", "CURRENT.tmp", "000099.log", "000099.tbl", "000099.seg"];
    let strange =
        strange.into_iter().chain(["MANIFEST-000099", "MANIFEST-x", "18446744073709551615.tbl"]);
    damages.extend(strange.map(|to| Extra { from: None, to: to.to_owned() }));
    damages
}
