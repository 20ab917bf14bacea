//! What listeners learn of the caller's code that failed: operators, comparators, filter policies.

use std::sync::Arc;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Error;
use crate::events::{DifferingFold, Event, FailedMerge};
use crate::key::OperatorId;

impl Core {
    /// Reports keys that a flush or compaction could not fold.
    pub(crate) fn tell_failures(
        &self,
        keyspace: &KeyspaceState,
        failures: &[(Vec<u8>, OperatorId)],
    ) {
        self.tell_difference();
        for (key, operator) in failures {
            self.events.tell(&Event::MergeFailed(FailedMerge {
                keyspace: Arc::clone(&keyspace.name),
                key: key.clone(),
                operator: self.registry.resolver().name(*operator),
            }));
        }
    }

    /// Reports a fold that another grouping contradicts, if there is one.
    #[inline]
    pub(crate) fn tell_difference(&self) {
        // Other builds sample nothing, and a read of theirs must not pay for the look.
        if cfg!(debug_assertions)
            && let Some(found) = self.registry.resolver().take_difference()
        {
            self.events.tell(&Event::FoldDiffers(DifferingFold::clone(&found)));
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
