//! The engines by name, and the reason if this program cannot run one.

use foldb_report::results;

use crate::failure::{Failure, Result};

/// An engine, or a way to run one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The engine compared.
    Foldb,
    /// RocksDB, leveled.
    RocksDb,
    /// RocksDB, universal compaction.
    RocksDbUniversal,
    /// fjall.
    Fjall,
    /// fjall, with transactions that run one at a time.
    FjallSingleWriter,
    /// fjall, with optimistic transactions.
    FjallOptimistic,
    /// redb.
    Redb,
    /// LMDB.
    Lmdb,
    /// The original LevelDB.
    LevelDb,
    /// MergeDB's or another LevelDB's own `db_bench`.
    MergeDb,
    /// No engine: a file that records are appended to, and synced.
    Bare,
    /// No engine: measures the cost of the harness itself.
    Nothing,
}

impl Name {
    /// The compared engines, in the order of the tables.
    pub const ALL: [Name; 11] = [
        Name::Foldb,
        Name::RocksDb,
        Name::RocksDbUniversal,
        Name::Fjall,
        Name::FjallSingleWriter,
        Name::FjallOptimistic,
        Name::Redb,
        Name::Lmdb,
        Name::LevelDb,
        Name::MergeDb,
        Name::Bare,
    ];

    /// Returns the engine of this name.
    ///
    /// # Errors
    /// Fails for an unknown name; the error lists the known ones.
    pub fn named(name: &str) -> Result<Name> {
        let known = Name::ALL.into_iter().chain([Name::Nothing]);
        known.into_iter().find(|engine| engine.as_str() == name).ok_or_else(|| {
            let names: Vec<_> = Name::ALL.into_iter().map(Name::as_str).collect();
            Failure::new(format!("unknown engine {name}; there are {}", names.join(", ")))
        })
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Name::Foldb => "foldb",
            Name::RocksDb => "rocksdb",
            Name::RocksDbUniversal => "rocksdb-universal",
            Name::Fjall => "fjall",
            Name::FjallSingleWriter => "fjall-single-writer",
            Name::FjallOptimistic => "fjall-optimistic",
            Name::Redb => "redb",
            Name::Lmdb => "lmdb",
            Name::LevelDb => "leveldb",
            Name::MergeDb => "mergedb",
            Name::Bare => "bare",
            Name::Nothing => "nothing",
        }
    }

    /// Returns the cargo feature that the engine needs, and whether this program has it.
    fn feature(self) -> Option<(&'static str, bool)> {
        match self {
            Name::RocksDb | Name::RocksDbUniversal => Some(("rocksdb", cfg!(feature = "rocksdb"))),
            Name::Fjall | Name::FjallSingleWriter | Name::FjallOptimistic => {
                Some(("fjall", cfg!(feature = "fjall")))
            }
            Name::Redb => Some(("redb", cfg!(feature = "redb"))),
            Name::Lmdb => Some(("lmdb", cfg!(feature = "lmdb"))),
            Name::LevelDb => Some(("leveldb", cfg!(feature = "leveldb"))),
            Name::Foldb | Name::MergeDb | Name::Bare | Name::Nothing => None,
        }
    }

    /// Returns why this program cannot run the engine. For MergeDB, `--mergedb` decides.
    pub fn absent(self) -> Option<String> {
        let (feature, built) = self.feature()?;
        (!built).then(|| format!("not built (feature {feature} is off)"))
    }

    /// Returns whether unsynced commits that returned survive a kill of the process. A test kills
    /// a process of each engine and looks.
    pub fn keeps_unsynced_commits(self) -> bool {
        !matches!(self, Name::Redb)
    }

    /// Its own version.
    pub fn version(self) -> Option<String> {
        let version = match self {
            Name::Foldb => env!("VERSION_FOLDB").to_owned(),
            Name::RocksDb | Name::RocksDbUniversal => env!("VERSION_LIBROCKSDB_SYS").to_owned(),
            Name::Fjall | Name::FjallSingleWriter | Name::FjallOptimistic => {
                env!("VERSION_FJALL").to_owned()
            }
            Name::Redb => env!("VERSION_REDB").to_owned(),
            Name::Lmdb => format!("of lmdb-master-sys {}", env!("VERSION_LMDB_MASTER_SYS")),
            #[cfg(feature = "leveldb")]
            Name::LevelDb => super::leveldb::version(),
            #[cfg(not(feature = "leveldb"))]
            Name::LevelDb => return None,
            Name::MergeDb | Name::Bare | Name::Nothing => return None,
        };
        self.absent().is_none().then_some(version)
    }

    /// Returns the engine as results store it. `given`: whether `--mergedb` names a program.
    pub fn describe(self, given: bool) -> results::Engine {
        let absent = match self {
            Name::MergeDb if !given => Some("not run (--mergedb gives its db_bench)".to_owned()),
            _ => self.absent(),
        };
        results::Engine { name: self.as_str().to_owned(), version: self.version(), absent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_found_by_its_name() {
        for name in Name::ALL {
            assert_eq!(Name::named(name.as_str()), Ok(name));
        }
        assert_eq!(
            Name::named("sqlite").unwrap_err().to_string(),
            "unknown engine sqlite; there are foldb, rocksdb, rocksdb-universal, fjall, \
             fjall-single-writer, fjall-optimistic, redb, lmdb, leveldb, mergedb, bare"
        );
    }

    #[test]
    fn an_engine_that_is_not_built_is_named_as_absent() {
        let described = Name::RocksDb.describe(false);
        assert_eq!(described.absent.is_none(), cfg!(feature = "rocksdb"));
        assert_eq!(described.version.is_some(), cfg!(feature = "rocksdb"));
        let absent = Name::MergeDb.describe(false).absent;
        assert_eq!(absent.as_deref(), Some("not run (--mergedb gives its db_bench)"));
        assert_eq!(Name::MergeDb.describe(true).absent, None);
    }
}
