//! Which options are in effect in a keyspace of an open database.

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::keyspace::KeyspaceState;
use crate::fold::Operator;
use crate::key::DEFAULT_KEYSPACE;
use crate::options::{ExplainedOption, OptionSource, Options};

impl Core {
    /// The options in effect in a keyspace; what the database itself remembers is told as that.
    pub(crate) fn explain_options(&self, keyspace: &KeyspaceState) -> Vec<ExplainedOption> {
        let is_default = keyspace.id == DEFAULT_KEYSPACE;
        let options = Options {
            merge_operator: keyspace.default_operator.as_ref().map(Operator::spec),
            comparator: Arc::clone(&keyspace.comparator),
            num_levels: keyspace.num_levels,
            compression: keyspace.settings.compression,
            bloom_bits: keyspace.settings.bloom_bits,
            compaction: keyspace.settings.compaction,
            ..self.options.clone()
        };
        let mut explained = options.explain();
        for option in &mut explained {
            let stored = match option.name {
                "merge_operator" => {
                    options.merge_operator.is_some()
                        && (!is_default || self.options.merge_operator.is_none())
                }
                "num_levels" => options.num_levels != self.options.num_levels,
                "comparator" | "compression" | "bloom_bits" | "compaction" => !is_default,
                _ => false,
            };
            if stored {
                option.source = OptionSource::Stored;
            }
        }
        explained
    }
}
