//! What listeners learn of the caller's code that failed: operators, comparators, filter policies.

use std::sync::Arc;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Error;
use crate::events::{Event, FailedMerge};
use crate::key::OperatorId;

impl Core {
    /// Reports keys that a flush or compaction could not fold.
    pub(crate) fn tell_failures(
        &self,
        keyspace: &KeyspaceState,
        failures: &[(Vec<u8>, OperatorId)],
    ) {
        self.registry.tell_difference(&self.events);
        for (key, operator) in failures {
            self.events.tell(&Event::MergeFailed(FailedMerge {
                keyspace: Arc::clone(&keyspace.name),
                key: key.clone(),
                operator: self.registry.resolver().name(*operator),
            }));
        }
    }

    /// Counts and reports a failed merge of a read. Ignores other errors.
    #[cold]
    pub(crate) fn note_failed_read(&self, keyspace: &KeyspaceState, error: &Error) {
        let Some((key, operator)) = error.failed_merge() else { return };
        self.totals.add(Total::FailedMerges, 1);
        self.events.tell(&Event::MergeFailed(FailedMerge {
            keyspace: Arc::clone(&keyspace.name),
            key: key.to_vec(),
            operator: operator.to_owned(),
        }));
    }

    /// Tells listeners which keyspaces' comparators and filter policies have failed. The caller
    /// holds no locks.
    pub(crate) fn tell_failed_callbacks(&self) {
        let failures: Vec<Error> = self.keyspaces.look(|all| {
            let of_each = all.flat_map(|own| {
                [own.take_unreported_failure(), own.take_unreported_policy_failure()]
            });
            of_each.flatten().collect()
        });
        for error in failures {
            self.events.tell(&Event::BackgroundError { error });
        }
    }
}
