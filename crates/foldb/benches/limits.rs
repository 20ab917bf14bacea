//! What the bare machine does: the limits that the engine's figures are held against.
//!
//! `TMPDIR` says which disk. Each figure is the best of several rounds; nothing of foldb is in
//! them.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
/// Far beyond the caches that belong to one core.
const LARGE: usize = 256 << 20;

fn main() {
    memory();
    processor();
    threads();
    files().expect("TMPDIR must be writable and have a gigabyte free");
}

fn report(what: &str, figure: f64, unit: &str) {
    println!("{what:<58} {figure:>9.2} {unit}");
}

/// The least time of some rounds, nanoseconds for each of `count`.
fn nanos(count: usize, mut round: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        round();
        begun.elapsed().as_nanos() as f64 / count as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn gigabytes_per_second(bytes: usize, round: impl FnMut()) -> f64 {
    1.0 / nanos(bytes, round)
}

fn memory() {
    let words = LARGE / 8;
    let next = one_cycle(words);
    let loads = 1 << 20;
    let mut at = 0;
    let dependent = nanos(loads, || (0..loads).for_each(|_| at = next[at] as usize));
    black_box(at);
    report("load from memory, each address from the load before", dependent, "ns");
    let mut random = fastrand::Rng::with_seed(1);
    let places: Vec<u32> = (0..loads).map(|_| random.u32(..words as u32)).collect();
    let mut sum = 0;
    let independent = nanos(loads, || places.iter().for_each(|&place| sum += next[place as usize]));
    black_box(sum);
    report("load from memory, addresses known ahead", independent, "ns");
    let mut copy = vec![0_u64; words];
    let copied = gigabytes_per_second(LARGE, || black_box(&mut copy).copy_from_slice(&next));
    report("copy of 256 MiB", copied, "GB/s");
    let pages = LARGE / 4096;
    let touched = nanos(pages, || {
        let mut fresh = vec![0_u8; LARGE];
        fresh.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        black_box(&fresh);
    });
    report("first touch of a page of 4 KiB", touched, "ns");
}

/// A permutation that is a single cycle: following it visits every word (Sattolo's algorithm).
fn one_cycle(words: usize) -> Vec<u64> {
    let mut next: Vec<u64> = (0..words as u64).collect();
    let mut random = fastrand::Rng::with_seed(2);
    for at in (1..words).rev() {
        next.swap(at, random.usize(..at));
    }
    next
}

fn processor() {
    let count = 1 << 20;
    let clock = nanos(count, || (0..count).for_each(|_| _ = black_box(Instant::now())));
    report("reading the clock", clock, "ns");
    let word = AtomicU64::new(0);
    let locked = nanos(count, || {
        (0..count).for_each(|_| _ = black_box(word.fetch_add(1, Ordering::AcqRel)));
    });
    report("locked instruction on a cached line", locked, "ns");
    let block: Vec<u8> = (0..4096_u32).map(|at| ((at * at) >> 7) as u8).collect();
    let hashed = gigabytes_per_second(block.len() * 1000, || {
        (0..1000).for_each(|_| _ = black_box(xxhash_rust::xxh3::xxh3_64(black_box(&block))));
    });
    report("xxh3 of 4 KiB", hashed, "GB/s");
}

fn threads() {
    let turns = 200_000;
    let ball = AtomicU64::new(0);
    let play = |own: u64| {
        for turn in (0..turns).filter(|turn| turn % 2 == own) {
            while ball.load(Ordering::Acquire) != turn {
                std::hint::spin_loop();
            }
            ball.store(turn + 1, Ordering::Release);
        }
    };
    let passed = nanos(turns as usize, || {
        ball.store(0, Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| play(0));
            play(1);
        });
    });
    report("a cache line from one core to the other", passed, "ns");
    let slept = nanos(100, || {
        (0..100).for_each(|_| thread::sleep(Duration::from_micros(50)));
    });
    report("a sleep of 50 us", slept / 1e3, "us");
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) {
    #[cfg(unix)]
    let read = file.read_exact_at(buffer, offset);
    #[cfg(windows)]
    let read = file.seek_read(buffer, offset).map(|len| assert_eq!(len, buffer.len()));
    read.expect("was written");
}

fn write_at(file: &File, buffer: &[u8], offset: u64) {
    #[cfg(unix)]
    let written = file.write_all_at(buffer, offset);
    #[cfg(windows)]
    let written = file.seek_write(buffer, offset).map(|len| assert_eq!(len, buffer.len()));
    written.expect("the disk works");
}

fn files() -> std::io::Result<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("limits");
    let mut file = File::options().create_new(true).read(true).write(true).open(path)?;
    let megabyte = vec![7_u8; 1 << 20];
    let mut longest = Duration::ZERO;
    let begun = Instant::now();
    for _ in 0..256 {
        file.write_all(&megabyte)?;
        let synced = Instant::now();
        file.sync_data()?;
        longest = longest.max(synced.elapsed());
    }
    report("256 MiB written and synced by the MiB", 268.4 / begun.elapsed().as_secs_f64(), "MB/s");
    report("the longest of those syncs", longest.as_secs_f64() * 1e3, "ms");
    for size in [4096, 64 << 10] {
        let mut buffer = vec![0; size];
        let mut random = fastrand::Rng::with_seed(3);
        let reads = 20_000;
        let read = nanos(reads, || {
            for _ in 0..reads {
                let block = random.u64(..(256 << 20) / size as u64);
                read_at(&file, &mut buffer, block * size as u64);
            }
        });
        report(&format!("pread of {} KiB from the page cache", size >> 10), read, "ns");
        let written = nanos(reads, || {
            for _ in 0..reads {
                let block = random.u64(..(256 << 20) / size as u64);
                write_at(&file, &buffer, block * size as u64);
            }
        });
        report(&format!("pwrite of {} KiB to the page cache", size >> 10), written, "ns");
    }
    let syncs = 200;
    let synced = nanos(syncs, || {
        for block in 0..syncs as u64 {
            write_at(&file, &megabyte[..4096], block * 4096);
            file.sync_data().expect("the disk works");
        }
    });
    report("pwrite of 4 KiB and fdatasync", synced / 1e3, "us");
    Ok(())
}
