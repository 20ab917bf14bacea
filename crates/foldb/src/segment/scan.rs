//! Reads values for a walk over keys, and reads ahead where the values are neighbours in a file.
//!
//! Values are written in key order, so a walk over keys that were flushed together meets them in
//! file order. After three neighbours in a row, the reader fetches a read-ahead window
//! ([`Stretch`]) and returns values from the window without a copy. Later windows are longer. Each
//! value keeps its window alive. The reader fetches a value outside the window alone. Values of
//! several flushes lie in several files, in key order within each file:
//!
//! ```text
//! keys   a b c d e f        file 3: a c f        file 5: b d e        one stream each
//! ```

use std::sync::Arc;

use crate::error::Result;
use crate::key::KeyspaceId;
use crate::segment::map::SegmentMap;
use crate::segment::open::{Located, OpenSegments, about};
use crate::value::Value;

/// Lengths of the first and the longest read-ahead window, in bytes.
const FIRST_STRETCH: u64 = 16 << 10;
const LONGEST_STRETCH: u64 = 256 << 10;

/// Most files that are read ahead at the same time. A new window gets at most [`LONGEST_STRETCH`]
/// divided by the number of files that have a window.
const STREAMS: usize = 6;

/// Largest gap in bytes between two values that still count as neighbours.
const MOST_SKIPPED: u64 = 16 << 10;

/// Reads the values of a walk.
pub(crate) struct ValueReader {
    segments: Arc<OpenSegments>,
    keyspace: KeyspaceId,
    map: SegmentMap,
    /// One stream for each of the last files read, the latest last.
    streams: Vec<Stream>,
}

/// A walk through one file.
struct Stream {
    file: u64,
    /// Offset of the end of the last value.
    end: u64,
    /// Number of values in a row that followed a neighbour.
    streak: u32,
    stretch: Option<Stretch>,
}

/// A read-ahead window: the bytes of one read.
struct Stretch {
    offset: u64,
    bytes: Arc<[u8]>,
}

impl ValueReader {
    pub(crate) fn new(
        segments: &Arc<OpenSegments>,
        keyspace: KeyspaceId,
        map: &SegmentMap,
    ) -> ValueReader {
        let (segments, map) = (Arc::clone(segments), map.clone());
        ValueReader { segments, keyspace, map, streams: Vec::new() }
    }

    /// Returns the value at an address, which the tree holds for `key`.
    ///
    /// # Errors
    /// As [`OpenSegments::value`].
    pub(crate) fn value(&mut self, address: &[u8], key: &[u8]) -> Result<Value> {
        let located = self.segments.locate(self.keyspace, &self.map, address, key)?;
        let walking = self.streams.iter().filter(|stream| stream.stretch.is_some()).count();
        let longest = LONGEST_STRETCH / walking.max(1) as u64;
        self.stream_of(located.number).value(&located, longest, key)
    }

    /// Returns the stream of a file. A new stream replaces the least recently used one if there are
    /// already [`STREAMS`].
    fn stream_of(&mut self, file: u64) -> &mut Stream {
        let known = self.streams.iter().position(|stream| stream.file == file);
        match known {
            Some(at) => self.streams[at..].rotate_left(1),
            None => {
                if self.streams.len() == STREAMS {
                    self.streams.remove(0);
                }
                self.streams.push(Stream { file, end: 0, streak: 0, stretch: None });
            }
        }
        self.streams.last_mut().expect("the stream was pushed")
    }
}

impl Stream {
    /// Returns a value. If it must be read, one read fetches the value and at most `longest` bytes
    /// in all, or the value alone if it is longer.
    fn value(&mut self, located: &Located, longest: u64, key: &[u8]) -> Result<Value> {
        let (offset, end) = (located.offset, located.offset + located.len());
        let follows = self.end > 0 && (self.end..=self.end + MOST_SKIPPED).contains(&offset);
        self.end = end;
        self.streak = if follows { self.streak + 1 } else { 0 };
        if let Some(stretch) = &self.stretch
            && let Some(start) = stretch.find(located)
        {
            return located.value_in(&stretch.bytes, start, key);
        }
        let ahead = match self.streak {
            0 | 1 => 0,
            streak => (FIRST_STRETCH << (streak - 2).min(8)).min(longest),
        };
        let len = located.len().max(ahead).min(located.records_end - offset);
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len as usize).collect();
        let buffer = Arc::get_mut(&mut bytes).expect("a new Arc is not shared");
        located.file.read(buffer, offset).map_err(|error| about(error, key))?;
        let value = located.value_in(&bytes, 0, key);
        self.stretch = (ahead > 0).then_some(Stretch { offset, bytes });
        if ahead > 0 {
            located.file.will_need(offset + len, longest);
        }
        value
    }
}

impl Stretch {
    /// Returns the offset of a record in the window, if the window holds all of the record.
    fn find(&self, located: &Located) -> Option<usize> {
        let start = located.offset.checked_sub(self.offset)?;
        (start + located.len() <= self.bytes.len() as u64).then_some(start as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use foldb_env::{FileSystem, MemFs};

    use super::*;
    use crate::files::FileNames;
    use crate::segment::hints::HintsWriter;
    use crate::segment::section::{Section, WriterContext};
    use crate::separated::address::Address;
    use crate::separated::record::put_record;
    use crate::table::BlockCache;

    use crate::segment::SegmentFiles;

    const FILES: u64 = 4;
    const VALUES: u64 = 600;
    const LEN: u64 = 500;

    /// Writes files with one segment each. The bytes of each value depend on its file and its
    /// index.
    fn written() -> (Arc<OpenSegments>, SegmentMap) {
        let (fs, names, segment_files) =
            (MemFs::new(), FileNames::new(Path::new("db")), Arc::<SegmentFiles>::default());
        fs.create_dir_all(names.directory()).unwrap();
        let fs: Arc<dyn FileSystem> = Arc::new(fs);
        let mut map = SegmentMap::default();
        for number in 1..=FILES {
            let context = WriterContext {
                fs: &fs,
                names: &names,
                segment_files: &segment_files,
                next_number: &|| number,
                database: 0xdb,
                keyspace: 0,
            };
            let mut section = Section::begin(number, 0, context.create().unwrap(), &context);
            for n in 0..VALUES {
                let (mut record, value) = (Vec::new(), [n as u8 ^ number as u8; LEN as usize]);
                put_record(&mut record, number, address(number, n).position, &value);
                section.append(&record, 1 << 20, &names).unwrap();
            }
            section.end_first(HintsWriter::new(number, 0), &[]);
            let (placement, _) = section.finish(&names).unwrap();
            map.place(placement, segment_files.get(number)).unwrap();
        }
        let pool = BlockCache::new(0).store().file_pool(100);
        (Arc::new(OpenSegments::new(fs, names, pool, 0xdb, Arc::default())), map)
    }

    fn address(segment: u64, n: u64) -> Address {
        let first = Address { segment, position: 0, len: LEN, key_part: 0 };
        Address { position: n * first.record_len(), ..first }
    }

    /// Keys of several flushes alternate between files. The reader reads ahead in each file. The
    /// windows of all files together hold at most twice [`LONGEST_STRETCH`].
    #[test]
    fn a_walk_reads_ahead_in_several_files() {
        let (segments, map) = written();
        let mut reader = ValueReader::new(&segments, 0, &map);
        let mut stretches = std::collections::BTreeSet::new();
        for n in 0..VALUES {
            for file in (1..=FILES).filter(|file| (n * 7 + file) % 5 > 0) {
                let mut bytes = Vec::new();
                address(file, n).encode(&mut bytes);
                let value = reader.value(&bytes, b"key").unwrap();
                assert_eq!(value, [n as u8 ^ file as u8; LEN as usize]);
                let held = reader.streams.iter().filter_map(|stream| stream.stretch.as_ref());
                assert!(
                    held.map(|held| held.bytes.len() as u64).sum::<u64>() <= 2 * LONGEST_STRETCH
                );
                let latest = reader.streams.last().unwrap();
                stretches.extend(latest.stretch.as_ref().map(|held| (file, held.offset)));
            }
        }
        assert_eq!(reader.streams.len() as u64, FILES);
        assert!(
            stretches.len() < 40,
            "{} stretches for {} values",
            stretches.len(),
            FILES * VALUES
        );
    }
}
