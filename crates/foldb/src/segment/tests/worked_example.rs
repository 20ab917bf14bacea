//! Tests that the worked example in the format page of segment files is what the engine writes and
//! reads.

use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, MemFs};

use crate::files::FileNames;
use crate::segment::SegmentFiles;
use crate::segment::format::{KEYED, MOVED, Tail};
use crate::segment::hints::{Hints, HintsWriter};
use crate::segment::map::{Placement, SegmentMap};
use crate::segment::open::OpenSegments;
use crate::segment::section::{Section, WriterContext};
use crate::segment::tails::TailWriter;
use crate::separated::address::Address;
use crate::separated::extents::{Extent, Extents, PieceWriter};
use crate::separated::record::{put_key_part, put_record};
use crate::table::BlockCache;
use crate::testing::worked_example::{assert_page_shows, bytes_on_the_page};

const PAGE: &str = include_str!("../../../../../docs/format/value_segment.md");

const DATABASE: u64 = 0xdb;
const FILE: u64 = 12;

/// The values left in segment 8: key, sequence number, position and value. "honey" lay between
/// them.
const FIRST: [(&str, u64, u64, &str); 2] = [("apple", 300, 0, "pie"), ("tea", 305, 26, "green")];
/// The value of segment 11, in which each record is followed by its key.
const SECOND: (&str, u64, u64, &str) = ("bee", 310, 0, "wax");

fn names() -> FileNames {
    FileNames::new(Path::new("db"))
}

fn kept() -> Extents {
    Extents::of(vec![Extent { start: 0, end: 12 }, Extent { start: 26, end: 40 }])
}

/// Writes the file. Returns where its sections lie.
fn write(mem: &MemFs) -> [Placement; 2] {
    let fs: Arc<dyn FileSystem> = Arc::new(mem.clone());
    mem.create_dir_all(names().directory()).unwrap();
    let (segment_files, names) = (Arc::<SegmentFiles>::default(), names());
    let context = WriterContext {
        fs: &fs,
        names: &names,
        segment_files: &segment_files,
        next_number: &|| FILE,
        database: DATABASE,
        keyspace: 0,
    };
    let mut section = Section::begin(8, MOVED, context.create().unwrap(), &context);
    let (mut hints, mut tails) = (HintsWriter::new(8, MOVED), Vec::new());
    for (key, seqno, position, value) in FIRST {
        let mut record = Vec::new();
        put_record(&mut record, 8, position, value.as_bytes());
        section.append(&record, 1 << 20, &names).unwrap();
        hints.add(key.as_bytes(), seqno, value.len() as u64, &mut tails);
        section.values += 1;
    }
    let (mut moves, mut pieces) = (TailWriter::new(8, MOVED, Tail::Moves), PieceWriter::default());
    kept().iter().for_each(|stretch| assert!(!pieces.add(stretch), "the piece is not full"));
    moves.put(&mut tails, pieces.piece());
    moves.end(&mut tails);
    hints.end(&mut tails);
    section.end_records();
    section.append(&tails, 1 << 20, &names).unwrap();
    let (first, appender) = section.finish(&names).unwrap();
    let mut section = Section::begin(11, KEYED, appender.growing, &context);
    let (key, seqno, position, value) = SECOND;
    let mut record = Vec::new();
    put_record(&mut record, 11, position, value.as_bytes());
    put_key_part(&mut record, 11, position, key.as_bytes(), seqno);
    section.append(&record, 1 << 20, &names).unwrap();
    section.values += 1;
    section.end_first(HintsWriter::new(11, KEYED), &[]);
    let (second, _) = section.finish(&names).unwrap();
    [first, second]
}

/// Format version 1, byte for byte. If this fails, the format changed: raise its version.
#[test]
fn page_shows_what_is_written() {
    let fs = MemFs::new();
    write(&fs);
    assert_page_shows(PAGE, &fs.read(&names().segment(FILE)).unwrap());
}

#[test]
fn page_can_be_read() {
    let (fs, segment_files) = (MemFs::new(), Arc::<SegmentFiles>::default());
    let placements = write(&fs);
    fs.create(&names().segment(FILE)).unwrap().write_at(&bytes_on_the_page(PAGE), 0).unwrap();
    let mut map = SegmentMap::default();
    for &placed in &placements {
        map.place(placed, segment_files.get(FILE)).unwrap();
    }
    let pool = BlockCache::new(0).store().file_pool(100);
    let segments = OpenSegments::new(Arc::new(fs), names(), pool, DATABASE, Arc::default());
    let read = |segment, (key, _, position, value): (&str, u64, u64, &str), key_part| {
        let address = Address { segment, position, len: value.len() as u64, key_part };
        let mut bytes = Vec::new();
        address.encode(&mut bytes);
        segments.value(0, &map, &bytes, key.as_bytes()).map(|value| value.to_vec())
    };
    for entry in FIRST {
        assert_eq!(read(8, entry, 0).unwrap(), entry.3.as_bytes());
    }
    assert_eq!(read(11, SECOND, 14).unwrap(), SECOND.3.as_bytes());
    assert!(read(8, ("bee", 301, 12, "honey"), 0).is_err(), "the value was left out");
    segments.verify(0, &map).unwrap();

    let segment = map.get(8).unwrap();
    let file = segments.get(0, &segment.file).unwrap();
    let (mut found, mut hints) = (Hints::new(&file, &segment.placement).unwrap(), Vec::new());
    while let Some(hint) = found.next().unwrap() {
        hints.push((hint.key.clone(), hint.seqno, hint.position));
    }
    let expected =
        FIRST.map(|(key, seqno, position, _)| (key.as_bytes().to_vec(), seqno, position));
    assert_eq!(hints, expected);
}
