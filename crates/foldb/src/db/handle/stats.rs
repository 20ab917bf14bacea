//! Options of the handles.

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::key::DEFAULT_KEYSPACE;
use crate::options::{ExplainedOption, OptionSource, OptionValue, Options};
use crate::version::Level;

impl Core {
    /// Returns the options in effect in a keyspace. Values that the database stores are marked as
    /// stored.
    pub(crate) fn explain_options(&self, keyspace: &KeyspaceState) -> Vec<ExplainedOption> {
        let is_default = keyspace.id == DEFAULT_KEYSPACE;
        let options = Options {
            default: keyspace.options(),
            num_levels: keyspace.num_levels,
            ..self.options.clone()
        };
        let mut explained = options.explain();
        for option in &mut explained {
            let stored = match option.name {
                "merge_operator" if is_default => {
                    options.default.merge_operator.is_some()
                        && self.options.default.merge_operator.is_none()
                }
                "num_levels" => options.num_levels != self.options.num_levels,
                _ => option.is_of_keyspace && !is_default,
            };
            if stored {
                option.source = OptionSource::Stored;
            }
            if option.name == "memory_budget" {
                option.lack = lack_of_filters(self);
            }
            if option.name == "map_log" && options.map_log && !self.logs.is_mapped() {
                // The file system does not keep blocks that it reserves, or cannot map.
                option.value = OptionValue::Flag(false);
                option.source = OptionSource::Derived;
            }
        }
        explained
    }
}

/// Tells whether the filters of all tables find room in memory.
fn lack_of_filters(core: &Core) -> Option<String> {
    let filters: u64 = core.keyspaces.all().iter().map(|own| filter_bytes(own)).sum();
    let room = core.runtime.ledger().tables.room() as u64;
    let left_out = core.keyspaces.default().tables.filters_left_out();
    (filters > room).then(|| {
        format!(
            "the filters of all tables take about {filters} bytes, but {room} are left for them: \
             {left_out} reads since the open searched a table without its filter"
        )
    })
}

/// Returns about how many bytes the filters of a keyspace's tables have.
fn filter_bytes(keyspace: &KeyspaceState) -> u64 {
    let (settings, view) = (&keyspace.settings, keyspace.view.load_full());
    let bits = |(level, own): (usize, &Level)| {
        let entries = own.runs.iter().flat_map(|run| &run.tables).map(|table| table.file.entries);
        entries.sum::<u64>() * u64::from(settings.filter_bits(keyspace.num_levels, level))
    };
    view.version.levels.iter().enumerate().map(bits).sum::<u64>() / 8
}
