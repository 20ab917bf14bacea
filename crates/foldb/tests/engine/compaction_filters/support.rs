//! A filter that notes what it is shown.

use std::fmt;
use std::sync::{Arc, Mutex};

use foldb::custom::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};
use foldb::env::MemFs;
use foldb::{Db, Options};

use crate::support::{PATH, options};

/// Judges a key and its value.
type Rule = dyn Fn(&[u8], &[u8]) -> Verdict + Send + Sync;

/// Filters by a rule, and notes what they are shown.
#[derive(Clone)]
pub(super) struct Noting {
    rule: Arc<Rule>,
    /// Whether only compactions that a caller asks for get a filter.
    only_manual: bool,
    shown: Arc<Mutex<Vec<(String, String)>>>,
    parts: Arc<Mutex<Vec<Part>>>,
}

/// What a factory was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) keyspace: String,
    pub(super) level: u32,
    pub(super) is_full: bool,
    pub(super) is_manual: bool,
}

impl Noting {
    pub(super) fn by(
        rule: impl Fn(&[u8], &[u8]) -> Verdict + Send + Sync + 'static,
    ) -> Arc<Noting> {
        let (shown, parts) = (Arc::default(), Arc::default());
        Arc::new(Noting { rule: Arc::new(rule), only_manual: false, shown, parts })
    }

    pub(super) fn only_manual(&self) -> Arc<Noting> {
        Arc::new(Noting { only_manual: true, ..self.clone() })
    }

    /// Returns what was shown since the last call, by key.
    pub(super) fn take_shown(&self) -> Vec<(String, String)> {
        let mut shown = std::mem::take(&mut *self.shown.lock().unwrap());
        // Parts of a compaction come in any order.
        shown.sort();
        shown
    }

    pub(super) fn take_keys(&self) -> Vec<String> {
        self.take_shown().into_iter().map(|(key, _)| key).collect()
    }

    pub(super) fn take_parts(&self) -> Vec<Part> {
        std::mem::take(&mut *self.parts.lock().unwrap())
    }
}

impl fmt::Debug for Noting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Noting")
    }
}

impl CompactionFilterFactory for Noting {
    fn filter(&self, context: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>> {
        let &FilterContext { keyspace, level, is_full, is_manual, .. } = context;
        let part = Part { keyspace: keyspace.to_owned(), level, is_full, is_manual };
        self.parts.lock().unwrap().push(part);
        (is_manual || !self.only_manual).then(|| Box::new(self.clone()) as _)
    }
}

impl CompactionFilter for Noting {
    fn filter(&mut self, _level: u32, key: &[u8], value: &[u8]) -> Verdict {
        let shown = [key, value].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        self.shown.lock().unwrap().push(shown.into());
        (self.rule)(key, value)
    }
}

/// Removes values that begin with `remove`, and changes those that begin with `change`.
pub(super) fn by_value(_: &[u8], value: &[u8]) -> Verdict {
    match value {
        _ if value.starts_with(b"remove") => Verdict::Remove,
        _ if value.starts_with(b"change") => Verdict::Change(b"changed".to_vec()),
        _ => Verdict::Keep,
    }
}

pub(super) fn keep(_: &[u8], _: &[u8]) -> Verdict {
    Verdict::Keep
}

pub(super) fn filtered(fs: &MemFs, filter: &Arc<Noting>) -> Options {
    Options {
        compaction_filters: vec![("default".to_owned(), Arc::clone(filter) as _)],
        ..options(fs)
    }
}

pub(super) fn open(filter: &Arc<Noting>) -> Db {
    Db::open(PATH, filtered(&MemFs::new(), filter)).unwrap()
}

pub(super) fn owned<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}
