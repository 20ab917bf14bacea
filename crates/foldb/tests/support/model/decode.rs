//! Programs made of bytes. Any bytes are a program, so that a fuzzer can search for one that fails.
//!
//! Each choice takes one byte, so a changed byte changes one choice and leaves the rest. Where the
//! bytes end, the program ends.

use std::ops::Bound;

use arbitrary::{Result, Unstructured};
use foldb::{CompactionPreset, Compression};
use foldb_model::Operator;

use super::fading::RULES;
use super::program::{
    Condition, Draft, KEYS, Key, Move, Place, Program, Range, Settings, Step, Text,
};

/// Steps of the longest program.
const STEPS: usize = 400;

/// Returns the program of some bytes.
pub(crate) fn program(bytes: &[u8]) -> Program {
    let mut from = Unstructured::new(bytes);
    // A choice behind the end of the bytes takes the first alternative; nothing fails.
    let settings = settings(&mut from).expect("settings are made of any bytes");
    let mut steps = Vec::new();
    while !from.is_empty() && steps.len() < STEPS {
        steps.push(step(&mut from).expect("a step is made of any bytes"));
    }
    Program { settings, steps }
}

fn settings(from: &mut Unstructured<'_>) -> Result<Settings> {
    let presets =
        [CompactionPreset::LazyLeveled, CompactionPreset::Leveled, CompactionPreset::Tiered];
    let settings = Settings {
        feed: false,
        rule: RULES[0],
        few_notes: false,
        preset: *from.choose(&presets)?,
        compression: *from.choose(&[Compression::None, Compression::Lz4, Compression::Snappy])?,
        default_operator: operator(from)?,
        write_buffer: 4096 * usize::from(from.int_in_range(1..=4u8)?),
        target_file: *from.choose(&[1024, 1500, 3000, 100_000])?,
        block: *from.choose(&[256, 512, 4096, 65536])?,
        level0_trigger: from.int_in_range(1..=4u8)?.into(),
        level_base: 2048 * u64::from(from.int_in_range(1..=3u8)?),
        levels: from.int_in_range(2..=5u8)?.into(),
        fan_in: from.int_in_range(2..=4u8)?.into(),
        bloom_bits: *from.choose(&[0, 10])?,
        cache: *from.choose(&[0, 1 << 20])?,
        open_files: from.int_in_range(1..=19u8)?.into(),
        wal_limit: *from.choose(&[0, 4096, 20_000])?,
        separation: *from.choose(&[None, Some(0), Some(9), Some(100)])?,
        segment_size: *from.choose(&[4096, 20_000, 1 << 20])?,
        hints: false,
        dead_fraction: 0.0,
    };
    let bits: u8 = from.arbitrary()?;
    let rule = RULES[usize::from(bits >> 1 & 3)];
    let (hints, feed, few_notes) = (bits & 1 > 0, bits & 8 > 0, bits & 16 > 0);
    let dead_fraction = *from.choose(&[0.01, 0.25, 1.0])?;
    Ok(Settings { hints, feed, rule, few_notes, dead_fraction, ..settings })
}

fn operator(from: &mut Unstructured<'_>) -> Result<Operator> {
    use Operator::{Add, Max, Put, References, Register};
    let append = Operator::Append(b',');
    // The most common operators appear twice.
    Ok(*from.choose(&[append, Add, append, Add, Max, Put, References, Register])?)
}

fn key(from: &mut Unstructured<'_>) -> Result<Key> {
    // A few keys get most of the writes, so that chains form.
    let number = from.int_in_range(0..=3 * KEYS - 1)?;
    Ok(Key(if number < KEYS { number } else { number % 6 }))
}

fn text(from: &mut Unstructured<'_>) -> Result<Text> {
    let letter = from.int_in_range(b'a'..=b'z')?;
    let len = match from.int_in_range(0..=7u8)? {
        0 | 1 => letter.into(),
        2 | 3 => 8,
        4 => 0,
        5 | 6 => 10 + u16::from(letter - b'a'),
        _ => 100 + 5 * u16::from(from.arbitrary::<u8>()?),
    };
    Ok(Text { letter, len })
}

fn draft(from: &mut Unstructured<'_>) -> Result<Draft> {
    Ok(match from.int_in_range(0..=15u8)? {
        0..=2 => Draft::Put(key(from)?, text(from)?),
        3..=4 => Draft::PutNumber(key(from)?, text(from)?),
        5..=6 => Draft::Delete(key(from)?),
        7 => Draft::DeleteRange(bound(from)?, bound(from)?),
        8..=11 => Draft::Merge(None, key(from)?, text(from)?),
        _ => Draft::Merge(Some(operator(from)?), key(from)?, text(from)?),
    })
}

fn bound(from: &mut Unstructured<'_>) -> Result<Bound<Key>> {
    Ok(match from.int_in_range(0..=2u8)? {
        0 => Bound::Included(key(from)?),
        1 => Bound::Excluded(key(from)?),
        _ => Bound::Unbounded,
    })
}

fn range(from: &mut Unstructured<'_>) -> Result<Range> {
    Ok(match from.int_in_range(0..=4u8)? {
        0 | 1 => Range::All,
        2 | 3 => Range::Between(bound(from)?, bound(from)?),
        _ => Range::Prefix(key(from)?, from.int_in_range(0..=4u8)?.into()),
    })
}

fn a_move(from: &mut Unstructured<'_>) -> Result<Move> {
    Ok(match from.int_in_range(0..=17u8)? {
        0 => Move::First,
        1 => Move::Last,
        2..=3 => Move::Seek(key(from)?),
        4..=5 => Move::SeekForPrev(key(from)?),
        6..=11 => Move::Advance,
        _ => Move::Retreat,
    })
}

fn place(from: &mut Unstructured<'_>) -> Result<Place> {
    let places: Vec<Place> = Place::all().collect();
    Ok(places[usize::from(*from.choose(&[0u8, 1, 2, 3, 1, 0])?)])
}

fn synced(from: &mut Unstructured<'_>) -> Result<bool> {
    Ok(from.int_in_range(0..=9u8)? == 9)
}

fn option<T>(
    from: &mut Unstructured<'_>,
    some: impl FnOnce(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Option<T>> {
    from.arbitrary::<bool>()?.then(|| some(from)).transpose()
}

/// Returns up to `most` items.
fn list<T>(
    from: &mut Unstructured<'_>,
    most: u8,
    one: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..from.int_in_range(0..=most)?).map(|_| one(from)).collect()
}

fn condition(from: &mut Unstructured<'_>) -> Result<Condition> {
    Ok(match from.int_in_range(0..=5u8)? {
        0 => Condition::PutIfAbsent(key(from)?, text(from)?),
        1 => Condition::Swap(key(from)?, text(from)?, from.arbitrary()?),
        2 => Condition::Take(key(from)?),
        3 => Condition::MergeGet(key(from)?, text(from)?),
        4 => Condition::MergeIf(key(from)?, text(from)?, from.arbitrary()?),
        _ => Condition::TakeFirst(key(from)?),
    })
}

fn step(from: &mut Unstructured<'_>) -> Result<Step> {
    Ok(match from.int_in_range(0..=139u8)? {
        36..=37 => Step::Follow { unsynced: from.arbitrary()?, anew: from.arbitrary()? },
        38..=39 => Step::Clock(from.int_in_range(-8..=20)?),
        127 => Step::Lasting(draft(from)?, from.int_in_range(1..=20)?),
        0..=35 => Step::Write { place: place(from)?, write: draft(from)?, sync: synced(from)? },
        40..=53 => {
            let write = |from: &mut Unstructured<'_>| Ok((place(from)?, draft(from)?));
            Step::Batch { writes: list(from, 11, write)?, sync: synced(from)? }
        }
        54..=57 => Step::Merges {
            place: place(from)?,
            operator: operator(from)?,
            key: key(from)?,
            text: text(from)?,
            count: from.int_in_range(2..=79)?,
            snapshot_after: option(from, |from| from.int_in_range(0..=79))?,
        },
        58..=60 => Step::LargePuts {
            place: place(from)?,
            text: text(from)?,
            count: from.int_in_range(1..=KEYS - 1)?,
        },
        61..=64 => Step::Get(place(from)?, key(from)?),
        65..=67 => Step::MultiGet {
            place: place(from)?,
            keys: list(from, 29, key)?,
            snapshot: from.arbitrary()?,
        },
        68..=70 => Step::GetOperands(place(from)?, key(from)?),
        71..=74 => Step::Snapshot,
        75..=78 => Step::ReadSnapshot(from.arbitrary()?),
        79..=80 => Step::DropSnapshot(from.arbitrary()?),
        81..=84 => Step::OpenIterator {
            place: place(from)?,
            range: range(from)?,
            snapshot: from.arbitrary()?,
        },
        85..=90 => Step::MoveIterator(from.arbitrary()?, list(from, 11, a_move)?),
        91 => Step::DropIterator(from.arbitrary()?),
        92..=95 => Step::Flush,
        96..=97 => Step::Compact(option(from, place)?, bound(from)?, bound(from)?),
        98..=104 => Step::Background,
        105 => Step::AllBackground,
        106..=108 => {
            let percent = from.int_in_range(0..=59)?;
            Step::Gc(percent, *from.choose(&[64 << 10, 64 << 20])?)
        }
        109 => Step::Sync,
        110 => Step::CheckAll,
        111..=112 => Step::Look,
        113 => Step::Checkpoint(option(from, settings)?),
        114..=117 => Step::CreateKeyspace(place(from)?),
        118 => Step::DropKeyspace(place(from)?),
        119..=120 => Step::Reopen(option(from, settings)?),
        121..=122 => Step::Kill,
        123..=124 => Step::Crash,
        128..=131 => Step::Load {
            place: place(from)?,
            loaded: list(from, 15, draft)?,
            meanwhile: list(from, 11, |from| Ok((place(from)?, draft(from)?)))?,
            finish: from.int_in_range(0..=5u8)? < 5,
        },
        132..=135 => Step::Transaction {
            place: place(from)?,
            serial: from.arbitrary()?,
            own: list(from, 11, |from| Ok((place(from)?, draft(from)?)))?,
            keys: list(from, 3, key)?,
            walks: from.arbitrary()?,
            meanwhile: list(from, 3, |from| Ok((place(from)?, draft(from)?)))?,
            commit: from.int_in_range(0..=5u8)? < 5,
        },
        136..=139 => Step::Conditional(place(from)?, condition(from)?),
        _ => Step::CrashPartly(from.arbitrary::<u16>()?.into()),
    })
}
