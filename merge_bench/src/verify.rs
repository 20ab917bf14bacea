//! Checks whether every key has its expected value.

use std::collections::BTreeMap;

use foldb::Db;

use crate::failure::Failure;
use crate::load::HotKeys;
use crate::plan::{Plan, key, told};

/// The expected value of every key after the writes of the plan and the load.
pub(crate) struct Expected<'a> {
    plan: &'a Plan,
    /// Generations of the keys that the load wrote.
    written: BTreeMap<u64, u64>,
}

/// Numbers of keys with the right value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    pub live: u64,
    pub deleted: u64,
}

impl Verified {
    /// Returns the line that ends every run.
    pub(crate) fn sentence(self) -> String {
        let Verified { live, deleted } = self;
        format!("verified {live} live, {deleted} deleted keys after reopen: ok")
    }
}

impl<'a> Expected<'a> {
    pub(crate) fn new(plan: &'a Plan, hot: &HotKeys) -> Expected<'a> {
        Expected { plan, written: hot.generations().collect() }
    }

    fn state(&self, index: u64) -> Option<u64> {
        self.written.get(&index).copied().or_else(|| self.plan.state(index))
    }

    /// Reads every key that ever existed, then iterates over the database: it must have exactly the
    /// live keys.
    ///
    /// # Errors
    /// The first wrong key.
    pub(crate) fn check_every_key(&self, db: &Db) -> Result<Verified, Failure> {
        let (mut verified, mut expected) = (Verified::default(), Vec::new());
        for index in 0..self.plan.keys() {
            let found = db.get(key(index)).map_err(|error| unreadable(index, &error))?;
            let state = self.state(index);
            self.check(index, state, found.as_deref(), &mut expected)?;
            match state {
                Some(_) => verified.live += 1,
                None => verified.deleted += 1,
            }
        }
        self.check_in_order(db)?;
        Ok(verified)
    }

    /// Iterates over the database: it must have exactly the live keys with their values.
    ///
    /// # Errors
    /// The first key that is wrong, missing or unexpected.
    pub(crate) fn check_in_order(&self, db: &Db) -> Result<(), Failure> {
        let failed = || Failure::during("walking through the database after the reopen");
        let mut found = db.iter().map_err(failed())?;
        let mut expected = Vec::new();
        for index in (0..self.plan.keys()).filter(|&index| self.state(index).is_some()) {
            let entry = found.next().transpose().map_err(|error| unreadable(index, &error))?;
            let key = key(index);
            let Some((_, value)) = entry.filter(|(found, _)| **found == key[..]) else {
                return Err(wrong(index, self.state(index), "nothing at its place in the order"));
            };
            self.check(index, self.state(index), Some(&value), &mut expected)?;
        }
        match found.next().transpose().map_err(failed())? {
            None => Ok(()),
            Some((key, _)) => Err(Failure::new(format!(
                "verification after reopen failed: key {} is there and must not be",
                key.escape_ascii()
            ))),
        }
    }

    fn check(
        &self,
        index: u64,
        state: Option<u64>,
        found: Option<&[u8]>,
        expected: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let is_right = match (state, found) {
            (None, None) => true,
            (Some(generation), Some(found)) => {
                self.plan.value(index, generation, expected);
                expected == found
            }
            _ => false,
        };
        if is_right {
            return Ok(());
        }
        let found = match found.map(told) {
            None => "no value".to_owned(),
            Some(Some((index, generation))) => {
                format!("generation {generation} of key number {index}")
            }
            Some(None) => "another value".to_owned(),
        };
        Err(wrong(index, state, &found))
    }
}

fn wrong(index: u64, state: Option<u64>, found: &str) -> Failure {
    let expected = match state {
        Some(generation) => format!("its value of generation {generation}"),
        None => "no value, for it was deleted".to_owned(),
    };
    Failure::new(format!(
        "verification after reopen failed: key {}: expected {expected}, found {found}",
        key(index).escape_ascii()
    ))
}

fn unreadable(index: u64, error: &foldb::Error) -> Failure {
    Failure::new(format!(
        "verification after reopen failed: key {}: {error}",
        key(index).escape_ascii()
    ))
}
