//! No engine: runs the harness alone, to measure its own cost.

use std::path::Path;

use foldb_report::results::BackgroundEvent;

use super::{Engine, Nominal, Scan, State, used};
use crate::failure::Result;

/// Forgets what is written and finds nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Engine for Nothing {
    fn open(_: &Nominal, _: &Path) -> Result<Nothing> {
        Ok(Nothing)
    }

    fn settings(_: &Nominal) -> String {
        String::new()
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        used(key);
        used(value);
        Ok(())
    }

    #[inline]
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.put(key, operand)
    }

    #[inline]
    fn get<R>(&self, key: &[u8], _: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        used(key);
        Ok(None)
    }

    fn scan(&self, _: Scan<'_>, _: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        Ok(())
    }

    fn rest(&self, _: bool) -> Result<()> {
        Ok(())
    }

    fn state(&self) -> State {
        State::default()
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        Vec::new()
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}
