//! Reading separated values.

use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::fold::Chain;
use crate::segment::ValueReader;
use crate::version::Version;

impl KeyspaceState {
    /// If the base of a chain is a separated value, replaces its address by the value.
    #[inline]
    pub(crate) fn resolve(&self, version: &Version, key: &[u8], chain: &mut Chain) -> Result<()> {
        if chain.separated().is_some() { self.read_value(version, key, chain) } else { Ok(()) }
    }

    #[inline(never)]
    fn read_value(&self, version: &Version, key: &[u8], chain: &mut Chain) -> Result<()> {
        let Some(base) = chain.separated() else { return Ok(()) };
        let segments = self.tables.segments();
        let value = segments.value(self.id, &version.segments, &base.value, key)?;
        chain.resolve(value);
        Ok(())
    }

    /// Returns the reader of separated values for a walk; `None` if no value is separated.
    pub(crate) fn value_reader(&self, version: &Version) -> Option<ValueReader> {
        let map = &version.segments;
        (!map.is_empty()).then(|| ValueReader::new(self.tables.segments(), self.id, map))
    }
}
