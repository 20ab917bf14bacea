//! Verification of value segments, section by section.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::db::lifecycle::open::verify::{Checked, Verification};
use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{Error, Result};
use crate::files::FilePool;
use crate::segment::SegmentFiles;
use crate::segment::{OpenSegments, SEGMENT_HEADER_LEN, SegmentHeader, SegmentMap};
use crate::table::{BlockCache, BlockStore};
use crate::version::OpenTables;

impl Verification<'_> {
    /// Checks the segments of a keyspace.
    pub(crate) fn segments(&mut self, own: &KeyspaceParts, tables: &OpenTables) {
        let tables = own.open_tables(tables);
        let map = &own.version.segments;
        let mut files: BTreeMap<u64, (u64, Result<Checked>)> = BTreeMap::new();
        for segment in map.iter() {
            let placement = &segment.placement;
            let checked = tables.segments().verify_segment(own.id, segment);
            let (len, file) = files.entry(placement.file).or_insert_with(|| {
                let header = if placement.is_adopted() { 0 } else { SEGMENT_HEADER_LEN };
                (0, Ok(Checked { bytes: header, records: 0 }))
            });
            *len = (*len).max(placement.end());
            match (&mut *file, checked) {
                (Ok(done), Ok(())) => {
                    done.bytes += placement.len;
                    done.records += placement.values;
                }
                (Ok(_), Err(error)) => *file = Err(error),
                (Err(_), _) => {}
            }
        }
        for (number, (len, checked)) in files {
            self.finished(self.names.segment(number), len, checked);
        }
    }

    /// Checks each table and segment file on its own.
    pub(crate) fn files_alone(&mut self) {
        self.tables_alone();
        let cache = BlockCache::sharing(&Arc::new(BlockStore::new(1 << 20)));
        let pool = cache.store().file_pool(100);
        let numbers: Vec<u64> = self
            .present
            .iter()
            .filter_map(|kind| match kind {
                crate::files::FileKind::Segment(number) => Some(*number),
                _ => None,
            })
            .collect();
        for number in numbers {
            let path = self.names.segment(number);
            let len = self.fs.len(&path).unwrap_or(0);
            let checked = self.segment_file_alone(&path, number, len, &pool);
            self.finished(path, len, checked);
        }
    }

    fn segment_file_alone(
        &self,
        path: &Path,
        number: u64,
        len: u64,
        pool: &Arc<FilePool>,
    ) -> Result<Checked> {
        let failed = |error| Error::io(path, "read the value segment", &error);
        let open = self.fs.open(path).map_err(failed)?;
        let mut header = vec![0; (len.min(SEGMENT_HEADER_LEN)) as usize];
        open.read_exact_at(&mut header, 0).map_err(failed)?;
        let segment_files: Arc<SegmentFiles> = Arc::default();
        let file = segment_files.get(number);
        let segments = |database| {
            OpenSegments::new(
                Arc::clone(&self.fs),
                self.names.clone(),
                Arc::clone(pool),
                database,
                Arc::default(),
            )
        };
        let (segments, keyspace, found) = match SegmentHeader::decode(&header) {
            Ok(header) => {
                let segments = segments(header.database);
                let found = segments.sections(header.keyspace, &file, len)?;
                (segments, header.keyspace, found)
            }
            Err(error) => {
                // The file may be a log that was adopted as a segment.
                let segments = segments(0);
                match segments.adopted_log(&file, len)? {
                    Some((keyspace, log)) => (segments, keyspace, vec![log]),
                    None => return Err(error.at(path, 0)),
                }
            }
        };
        let mut map = SegmentMap::default();
        let mut done = Checked { bytes: SEGMENT_HEADER_LEN, records: 0 };
        for section in found {
            map.place(section.placement, segment_files.get(number))?;
        }
        for segment in map.iter() {
            segments.verify_segment(keyspace, segment)?;
            done.bytes += segment.placement.len;
            done.records += segment.placement.values;
        }
        Ok(done)
    }
}
