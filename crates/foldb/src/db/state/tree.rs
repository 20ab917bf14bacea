//! The data that the tree lock guards: the current versions of all keyspaces, and the jobs on them.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use crate::compaction::job::Job;
use crate::compaction::policy::{DeadShare, Trials};
use crate::db::state::damage::DamagedPart;
use crate::db::state::keyspace::KeyspaceState;
use crate::fold::stamp::{Moment, NEVER};
use crate::key::{KeyspaceId, SeqNo};
use crate::locks::rank::TREE;
use crate::locks::{Lock, LockGuard};
use crate::user_code::Holder;
use crate::version::{KeyspaceEdit, Manifest, RunId, Version};

/// The lock around the trees. Comparators run under it.
pub(crate) struct TreeLock {
    tree: Lock<Tree, TREE>,
    holder: Holder,
}

/// Holds the lock.
pub(crate) struct TreeGuard<'a> {
    guard: LockGuard<'a, Tree, TREE>,
    holder: &'a Holder,
}

impl TreeLock {
    pub(crate) fn new(tree: Tree) -> TreeLock {
        TreeLock { tree: Lock::new(tree), holder: Holder::default() }
    }

    /// Takes the lock.
    ///
    /// # Panics
    /// If this thread holds it already.
    pub(crate) fn lock(&self) -> TreeGuard<'_> {
        assert!(!self.is_held_here(), "a comparator's call would wait for that comparator");
        self.held(self.tree.lock())
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_lock(&self) -> Option<TreeGuard<'_>> {
        self.tree.try_lock().map(|guard| self.held(guard))
    }

    /// Returns whether this thread holds the lock.
    pub(crate) fn is_held_here(&self) -> bool {
        self.holder.is_this_thread()
    }

    fn held<'a>(&'a self, guard: LockGuard<'a, Tree, TREE>) -> TreeGuard<'a> {
        self.holder.note();
        TreeGuard { guard, holder: &self.holder }
    }
}

impl Deref for TreeGuard<'_> {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        &self.guard
    }
}

impl DerefMut for TreeGuard<'_> {
    fn deref_mut(&mut self) -> &mut Tree {
        &mut self.guard
    }
}

impl Drop for TreeGuard<'_> {
    fn drop(&mut self) {
        self.holder.forget();
    }
}

/// The current versions of all keyspaces, and the jobs on them.
pub(crate) struct Tree {
    pub(crate) manifest: Manifest,
    pub(crate) next_run: RunId,
    /// Id of the next keyspace to be created.
    pub(crate) next_keyspace: KeyspaceId,
    /// The first log that an open after a crash would need.
    pub(crate) log: u64,
    /// The sequence number of the last sorted load. It is stored before it is published.
    pub(crate) last_loaded: SeqNo,
    /// The last sequence number at the last check that found a new one, and the time of that check.
    pub(crate) unwritten_since: Option<(SeqNo, Duration)>,
    pub(crate) keyspaces: BTreeMap<KeyspaceId, KeyspaceTree>,
    /// The keyspace whose job began last. Among equally urgent keyspaces, another one is next.
    pub(crate) last_served: KeyspaceId,
}

impl Tree {
    /// Lets the policy choose again in all trees. It forgets what was tried on a full disk: a
    /// compaction may give space back now, or need not.
    pub(crate) fn choose_again(&mut self) {
        for own in self.keyspaces.values_mut() {
            own.settled = false;
            own.trials.clear();
        }
    }
}

/// The tree of one keyspace.
pub(crate) struct KeyspaceTree {
    pub(crate) keyspace: Arc<KeyspaceState>,
    pub(crate) version: Arc<Version>,
    /// Running jobs. Only parts of one job share a run.
    pub(crate) running: Vec<Job>,
    /// Writes up to this number need no log.
    pub(crate) flushed_through: SeqNo,
    /// The fraction of dead bytes among the bytes that recent compactions moved to the oldest data.
    pub(crate) dead_share: DeadShare,
    /// Whether the policy picked nothing at the last check, and nothing has changed since.
    pub(crate) settled: bool,
    /// What was tried on a full disk and gave no space back.
    pub(crate) trials: Trials,
    /// The last time up to which the policy knows what has expired.
    expired_through: Moment,
}

impl KeyspaceTree {
    pub(crate) fn new(
        keyspace: Arc<KeyspaceState>,
        version: Arc<Version>,
        flushed_through: SeqNo,
        dead_share: DeadShare,
    ) -> KeyspaceTree {
        let (running, settled, expired_through) = (Vec::new(), false, 0);
        KeyspaceTree {
            keyspace,
            version,
            running,
            flushed_through,
            dead_share,
            settled,
            trials: Trials::default(),
            expired_through,
        }
    }

    /// Asks the policy again if more records may have expired since the last call.
    pub(crate) fn note_expired_through(&mut self, through: Moment) {
        if self.keyspace.settings.expiry.is_some() && through != self.expired_through {
            (self.settled, self.expired_through) = (false, through);
        }
    }

    /// Forgets damage that the current version no longer shows.
    pub(crate) fn forget_gone_damage(&self) {
        let KeyspaceState { damage, comparator, .. } = &*self.keyspace;
        if !damage.is_empty() {
            let forget = || {
                damage.keep_shown(&self.version, &**comparator);
                Ok(())
            };
            // A comparator that fails here has failed its keyspace, which asks no policy any more.
            let _failed = self.keyspace.guarded("a change of the tree", forget);
        }
    }

    /// Returns whether half of some table's records expire some day.
    pub(crate) fn has_ends(&self) -> bool {
        self.ends().any(|end| end != NEVER)
    }

    /// Returns when half of each table's records have expired, if entries of the keyspace expire.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Moment> {
        let expires = self.keyspace.settings.expiry.is_some();
        let tables = expires.then(|| self.version.tables()).into_iter().flatten();
        tables.filter_map(|table| Some(table.file.expiry?.half_expires))
    }

    /// Returns the manifest's description of the tree.
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
    /// The damaged parts that were known when the job was chosen. It goes round them.
    pub(crate) damage: Arc<[DamagedPart]>,
    /// How often in a row its slice was refused because of a snapshot.
    pub(crate) refusals: u32,
}
