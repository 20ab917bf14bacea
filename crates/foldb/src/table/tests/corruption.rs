//! Damaged, truncated and misplaced tables: an error or the original data, never anything else.

use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::encoding::{checksum, checksum_seed, key_hash};
use crate::table::data_block::DataBlock;
use crate::table::footer::FOOTER_LEN;
use crate::table::frame::{FRAME_TRAILER, Handle};
use crate::table::kept_block::{Held, KeptBlock};
use crate::table::order::KeyOrder;
use crate::table::properties::Properties;
use crate::table::slots::Home;

/// A table small enough to damage at every byte, with everything in it: two blocks, one with a
/// directory, versions of one key, merges, range tombstones, a filter.
fn small_table(compression: Compression) -> (Vec<Record>, Vec<u8>) {
    let mut records = Vec::new();
    for n in 0..14u64 {
        let key = format!("key-{n:02}");
        records.push(Record {
            key: key.clone().into(),
            header: header(90, Kind::Merge),
            value: b"+1".into(),
        });
        records.push(put(&key, 40, [n as u8; 24]));
        if n % 4 == 0 {
            records.push(Record {
                key: key.into(),
                header: header(7, Kind::Delete),
                value: vec![],
            });
        }
    }
    let shape = TableBuilderOptions { block_size: 300, compression, ..options() };
    let (file, _) = build_with(&records, &small_tombstones(), shape);
    (records, file.bytes())
}

fn small_tombstones() -> Vec<RangeTombstone> {
    vec![
        tombstone("a", "key-03", 300),
        tombstone("key-01", ">key-09", 41),
        tombstone(">key-09", "z", 5),
    ]
}

/// Reads everything there is to read; errors must be of the kinds that damage may have.
fn read_all(bytes: Vec<u8>, records: &[Record]) -> Result<()> {
    let outcome = try_read_all(bytes, records);
    if let Err(error) = &outcome {
        let kind = error.kind();
        assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Unsupported), "{error:?}");
        assert!(error.path().is_some() && error.offset().is_some(), "{error:?}");
    }
    outcome
}

fn try_read_all(bytes: Vec<u8>, records: &[Record]) -> Result<()> {
    let table = open(Arc::new(MemoryFile::of(bytes)))?;
    let mut outcome = Ok(());
    if let Some(tombstones) = table.range_tombstones() {
        let mut tombstones = tombstones.to_vec();
        tombstones.reverse();
        assert_eq!(tombstones, small_tombstones());
    }
    // Each way of reading gives the original or an error, also after another way failed.
    for result in [
        scan(&table, CursorOptions::default()),
        scan_back(&table, CursorOptions::default()),
        scan(&table, CursorOptions::walk()),
    ] {
        match result {
            Ok(found) => assert_eq!(found, records),
            Err(error) => outcome = Err(error),
        }
    }
    for record in records {
        match table.may_contain(key_hash(&record.key), &record.key) {
            Ok(admits) => assert!(admits),
            Err(error) => outcome = Err(error),
        }
        match get(&table, &record.key, record.header.seqno) {
            Ok(found) => assert_eq!(found[0], *record),
            Err(error) => outcome = Err(error),
        }
    }
    outcome.and(table.verify().map(drop))
}

#[test]
fn every_flipped_bit_is_noticed() {
    for &compression in [Compression::None].iter().chain(CODECS) {
        let (records, bytes) = small_table(compression);
        read_all(bytes.clone(), &records).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(read_all(damaged, &records).is_err(), "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    let (records, bytes) = small_table(Compression::Lz4);
    for len in 0..bytes.len() {
        assert!(read_all(bytes[..len].to_vec(), &records).is_err(), "{len} bytes");
        let mut zeroed = bytes.clone();
        zeroed[len..].fill(0);
        assert!(read_all(zeroed, &records).is_err(), "zeroes from {len}");
    }
}

#[test]
fn bytes_after_the_footer_are_noticed() {
    let (records, mut bytes) = small_table(Compression::None);
    bytes.push(0);
    assert!(read_all(bytes, &records).is_err());
}

#[test]
fn table_under_another_number_is_refused() {
    let (_, bytes) = small_table(Compression::None);
    let cache = Arc::new(BlockCache::new(0));
    let comparator = Arc::new(BytewiseComparator);
    let file = Arc::new(MemoryFile::of(bytes));
    let error =
        TableReader::open(file, Path::new("8.sst"), 8, comparator, None, cache).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("expected file number 8, found 7"), "{error}");
}

/// Two intact sub-blocks exchange their places, as after a misdirected write.
#[test]
fn swapped_sub_blocks_are_noticed() {
    let records: Vec<_> = (0..64u64).map(|n| put(format!("{n:08}"), 1, [n as u8; 50])).collect();
    let (file, _) = build(&records, TableBuilderOptions { block_size: 300, ..options() });
    let table = open(file.clone()).unwrap();
    let handles = || (0..table.index().len()).map(|i| table.index().child(i).handle);
    let (a, b) = handles().zip(handles().skip(1)).find(|(a, b)| a.len == b.len).unwrap();
    let mut bytes = file.bytes();
    let (front, back) = bytes.split_at_mut(b.offset as usize);
    front[a.offset as usize..].swap_with_slice(&mut back[..b.len as usize]);
    assert!(read_all(bytes, &records).is_err());
}

#[test]
fn another_comparator_is_refused() {
    let (file, _) = build(&[put("a", 1, "v")], options());
    let error = open_with(file, Arc::new(super::round_trip::Descending)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("foldb.bytewise"), "{error}");
}

/// Seals the footer again after a change, so that only the change can be noticed.
fn reseal_footer(bytes: &mut [u8]) {
    let offset = bytes.len() - FOOTER_LEN;
    let seed = checksum_seed(FILE_NUMBER, offset as u64);
    let sum = checksum(seed, &bytes[offset..offset + 80]);
    bytes[offset + 80..offset + 88].copy_from_slice(&sum.to_le_bytes());
}

/// An open fails on malformed range tombstones. If it ignored them, deleted keys would come back.
#[test]
fn h10_tombstones_are_not_overlooked() {
    let (records, mut bytes) = small_table(Compression::None);
    let footer = bytes.len() - FOOTER_LEN;
    let (handles, tombstones) = bytes[footer..].split_at_mut(48);
    tombstones[..16].copy_from_slice(&handles[..16]);
    reseal_footer(&mut bytes);
    assert_eq!(read_all(bytes, &records).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn other_formats_are_unsupported() {
    let (records, bytes) = small_table(Compression::None);
    for version in [0, 2, 200] {
        let mut other = bytes.clone();
        other[bytes.len() - FOOTER_LEN + 72] = version;
        assert_eq!(read_all(other.clone(), &records).unwrap_err().kind(), ErrorKind::Corruption);
        reseal_footer(&mut other);
        let error = read_all(other, &records).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let expected = format!("table of format version {version}, expected version 1");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    let mut before = bytes.clone();
    before[bytes.len() - 8..].copy_from_slice(b"foldbtbl");
    let error = read_all(before, &records).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("expected \"tbl/fold\" version 1"), "{error}");
}

/// Zeros, 0xff and single bits in the footer looked like another format: open and repair both
/// refused the table, and nothing could be done about it.
#[test]
fn damage_is_never_taken_for_another_format() {
    let (records, bytes) = small_table(Compression::None);
    let kind = |damaged| read_all(damaged, &records).unwrap_err().kind();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(kind(damaged), ErrorKind::Corruption, "byte {at}, bit {bit}");
        }
        for (fill, len) in [(0, 4), (0xff, 4), (0, 64), (0xff, 64)] {
            let mut damaged = bytes.clone();
            let end = bytes.len().min(at + len);
            damaged[at..end].fill(fill);
            if damaged != bytes {
                assert_eq!(kind(damaged), ErrorKind::Corruption, "{len} times {fill} at {at}");
            }
        }
    }
}

/// C2: a reader refuses a record with a flag that is reserved for later formats.
#[test]
fn record_flags_are_refused() {
    let (records, bytes) = small_table(Compression::None);
    let handle = open(Arc::new(MemoryFile::of(bytes.clone()))).unwrap().index().child(0).handle;
    for flag in [0x10, 0x20, 0x40, 0x80] {
        let mut changed = bytes.clone();
        changed[handle.offset as usize] |= flag;
        reseal_frame(&mut changed, handle);
        assert_eq!(read_all(changed, &records).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

/// Makes the checksum of a changed frame right.
fn reseal_frame(bytes: &mut [u8], handle: Handle) {
    let frame = &mut bytes[handle.offset as usize..handle.end() as usize];
    let covered = frame.len() - 9;
    let sum = checksum(checksum_seed(FILE_NUMBER, handle.offset), &frame[..covered]);
    frame[covered + 1..].copy_from_slice(&sum.to_le_bytes());
}

/// Every build refuses codec 4. A build without `zstd` refuses codec 3 and names the feature.
#[test]
fn missing_codecs_are_unsupported() {
    let (records, bytes) = small_table(Compression::None);
    let handle = open(Arc::new(MemoryFile::of(bytes.clone()))).unwrap().index().child(0).handle;
    for (codec, why) in [(4, "codec 4 is not one"), (3, "its cargo feature `zstd`")] {
        let mut changed = bytes.clone();
        changed[handle.end() as usize - FRAME_TRAILER] = codec;
        reseal_frame(&mut changed, handle);
        let error = read_all(changed, &records).unwrap_err();
        if codec == 3 && cfg!(feature = "zstd") {
            assert_eq!(error.kind(), ErrorKind::Corruption);
            continue;
        }
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// What was compressed into a payload.
fn decompressed(payload: &[u8], codec: Compression) -> Result<Vec<u8>> {
    let (len, compressed) = super::super::frame::uncompressed_len(payload, codec)?;
    let mut out = vec![0; len];
    super::super::frame::decompress(compressed, codec, &mut out)?;
    Ok(out)
}

/// A length that the compressed bytes cannot decompress to is refused before any allocation.
#[test]
fn absurd_uncompressed_length_is_refused() {
    for &codec in CODECS {
        let mut payload = Vec::new();
        crate::encoding::put_varint(&mut payload, u64::from(u32::MAX));
        payload.extend_from_slice(&[1; 40]);
        let error = decompressed(&payload, codec).unwrap_err();
        assert!(error.to_string().contains("expected at most"), "{error}");
    }
}

fn exercise_block(bytes: &[u8], target: &[u8]) {
    for comparator in [
        Arc::new(BytewiseComparator) as Arc<dyn Comparator>,
        Arc::new(super::round_trip::Descending),
    ] {
        let order = KeyOrder::new(comparator);
        if let Ok(block) = DataBlock::parse(bytes) {
            walk_block(&block);
            let held = Held::Own(block.clone());
            let _ = held.seek(target, &order, &mut Default::default());
            if let Ok(kept) = KeptBlock::new(block, &order, Home::default()) {
                let held = Held::Kept(Arc::new(kept));
                let _ = held.seek(target, &order, &mut Default::default());
            }
        }
    }
}

fn walk_block(block: &DataBlock) {
    let mut at = 0;
    while let Ok(entry) = block.entry(at) {
        assert!(entry.end > at && entry.end <= block.entries_end());
        let _ = block.suffix(&entry);
        at = entry.end;
        if at == block.entries_end() {
            break;
        }
    }
}

/// Bytes that begin like records and end like restarts reach further into the decoder.
fn block_like() -> impl Strategy<Value = Vec<u8>> {
    let entry = (0..3u8, 0..4u8, 0..4u8, 0..4u8, prop::collection::vec(any::<u8>(), 0..12));
    let entries = prop::collection::vec(entry, 0..20);
    let restarts = prop::collection::vec(0..40u32, 0..4);
    (entries, restarts, prop::collection::vec(any::<u8>(), 0..3)).prop_map(
        |(entries, restarts, noise)| {
            let mut bytes = Vec::new();
            for (kind, shared, unshared, len, rest) in entries {
                bytes.extend([kind, shared, unshared, len]);
                bytes.extend(rest);
            }
            bytes.extend(noise);
            bytes.extend(0u32.to_le_bytes());
            for restart in &restarts {
                bytes.extend(restart.to_le_bytes());
            }
            bytes.extend((restarts.len() as u32 + 1).to_le_bytes());
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn decoders_are_total(bytes: Vec<u8>, target in prop::collection::vec(any::<u8>(), 0..6), codec in 0..3u8) {
        exercise_block(&bytes, &target);
        let order = KeyOrder::new(Arc::new(BytewiseComparator));
        if let Ok(index) = super::super::index::Index::parse(&bytes, &order, 1 << 40) {
            let _ = index.search(&target, &order);
        }
        let _ = Properties::decode(&bytes);
        let _ = super::super::filter::Filter::parse(&bytes).map(|filter| filter.may_contain(77));
        let _ = super::super::footer::Footer::decode(&bytes, 7, 0);
        let _ = super::super::frame::check_frame(&bytes, 7, 0);
        let codec = crate::settings::codec_from_u8(codec).unwrap();
        let _ = decompressed(&bytes, codec);
    }

    #[test]
    fn block_decoder_is_total(bytes in block_like(), target in prop::collection::vec(any::<u8>(), 0..6)) {
        exercise_block(&bytes, &target);
    }

    #[test]
    fn random_file_is_refused(bytes: Vec<u8>) {
        prop_assert!(read_all(bytes, &[]).is_err());
    }

    /// Random damage under a good checksum: never a panic, whatever it says.
    #[test]
    fn resealed_damage_never_panics(
        frame: prop::sample::Index,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (_, mut bytes) = small_table(Compression::None);
        let table = open(Arc::new(MemoryFile::of(bytes.clone()))).unwrap();
        let mut handles: Vec<_> = (0..table.index().len()).map(|i| table.index().child(i).handle).collect();
        handles.extend([table.footer().index, table.footer().properties]);
        handles.extend(table.footer().filter);
        let handle = handles[frame.index(handles.len())];
        let frame = &mut bytes[handle.offset as usize..handle.end() as usize];
        let covered = frame.len() - 9;
        for (at, byte) in damage {
            frame[at.index(covered - 1)] = byte;
        }
        let sum = checksum(checksum_seed(FILE_NUMBER, handle.offset), &frame[..covered]);
        frame[covered + 1..].copy_from_slice(&sum.to_le_bytes());
        let Ok(table) = open(Arc::new(MemoryFile::of(bytes))) else { return Ok(()) };
        let _ = scan(&table, CursorOptions::default());
        let _ = scan_back(&table, CursorOptions::default());
        for n in 0..15 {
            let _ = get(&table, format!("key-{n:02}").as_bytes(), 50);
        }
        let _ = table.verify();
    }
}
