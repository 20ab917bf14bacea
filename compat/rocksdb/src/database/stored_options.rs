//! When a database stores its options: at an open, and when it gets or loses a family.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::database::info_log::LogSettings;
use crate::database::{Database, Engine, Family};
use crate::options::files::{file_error, file_system, store};
use crate::options::rocksdb_options_t;
use crate::options::stored::{info_log_text, text_of};
use crate::status::Outcome;

impl LogSettings {
    /// Returns what the options say of the file of events.
    pub(crate) fn of(options: &rocksdb_options_t) -> LogSettings {
        LogSettings {
            fs: file_system(options),
            directory: options.log_directory.clone(),
            level: options.values.info_log_level,
            limit: options.values.max_log_file_size as u64,
            most_files: options.values.keep_log_file_num.max(1),
            head: info_log_text(options),
        }
    }
}

impl Database {
    /// Stores the options of a database that is open for writing, with those of its families. The
    /// file is a help only, so a failure is noted in `LOG`.
    pub(crate) fn store_options(&self, families: &BTreeMap<u32, Arc<Family>>) {
        if let Engine::Writable(_) = self.engine
            && let Err(status) = self.store_options_in(&self.path, families)
        {
            self.events.note(&status.to_string());
        }
    }

    /// Stores the options in the directory of a copy.
    ///
    /// # Errors
    /// Fails if the file system does.
    pub(crate) fn store_options_in(
        &self,
        directory: &Path,
        families: &BTreeMap<u32, Arc<Family>>,
    ) -> Outcome<()> {
        let families: Vec<_> =
            families.values().map(|family| (&*family.name, &family.options)).collect();
        let fs = file_system(&self.options);
        let stored = store(&*fs, directory, &text_of(&self.options, &families));
        stored.map_err(|error| file_error(directory, &error))
    }
}
