//! What the tree's lock guards: the newest versions of all keyspaces, and what is being done to
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::compaction::job::Job;
use crate::compaction::policy::DeadShare;
use crate::db::state::keyspace::KeyspaceState;
use crate::key::{KeyspaceId, SeqNo};
use crate::version::{KeyspaceEdit, Manifest, RunId, Version};

/// The newest versions of all keyspaces, and what is being done to them.
pub(crate) struct Tree {
    pub(crate) manifest: Manifest,
    pub(crate) next_run: RunId,
    /// Id of the keyspace that is created next.
    pub(crate) next_keyspace: KeyspaceId,
    /// First log that is needed after a crash.
    pub(crate) log: u64,
    /// The last sequence number when it was last found to be another than before, and when that
    /// was.
    pub(crate) unwritten_since: Option<(SeqNo, Duration)>,
    pub(crate) keyspaces: BTreeMap<KeyspaceId, KeyspaceTree>,
    /// The keyspace whose job was begun last: of equally urgent ones it is not the next again.
    pub(crate) last_served: KeyspaceId,
}

/// The tree of one keyspace.
pub(crate) struct KeyspaceTree {
    pub(crate) keyspace: Arc<KeyspaceState>,
    pub(crate) version: Arc<Version>,
    /// Jobs whose slices are being made, so that no two share a run.
    pub(crate) running: Vec<Job>,
    /// Writes up to here need no log.
    pub(crate) flushed_through: SeqNo,
    /// How much of what reached the oldest data was dead weight there.
    pub(crate) dead_share: DeadShare,
    /// Whether the policy wanted nothing when it was last asked, and nothing changed since.
    pub(crate) settled: bool,
}

impl KeyspaceTree {
    pub(crate) fn new(
        keyspace: Arc<KeyspaceState>,
        version: Arc<Version>,
        flushed_through: SeqNo,
        dead_share: DeadShare,
    ) -> KeyspaceTree {
        let (running, settled) = (Vec::new(), false);
        KeyspaceTree { keyspace, version, running, flushed_through, dead_share, settled }
    }

    /// What the manifest keeps of it.
    pub(crate) fn describe(&self) -> KeyspaceEdit {
        KeyspaceEdit {
            flushed_through: Some(self.flushed_through),
            dead_share: Some(self.dead_share.get()),
            tree: self.version.describe(),
            ..self.keyspace.describe()
        }
    }
}

/// A job and the keyspace whose tree it changes.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) keyspace: Arc<KeyspaceState>,
    pub(crate) job: Job,
}
