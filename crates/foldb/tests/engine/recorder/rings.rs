//! What the flight recorder writes: samples, events, keys; its room; what it leaves alone.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use foldb::env::Env;
use foldb::recorder::{Recording, Remarkable};
use foldb::{Db, KeyspaceOptions, Options};

fn options() -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    }
}

fn count(db: &Db, key: &str, times: u64) {
    (0..times).for_each(|_| db.merge(key, 1u64.to_le_bytes()).unwrap());
}

/// Counts until the recording satisfies a condition.
fn recorded(db: &Db, path: &Path, is_enough: impl Fn(&Recording) -> bool) -> Recording {
    let start = Instant::now();
    loop {
        count(db, "hot", 1000);
        let recording = Recording::read(path).unwrap();
        if is_enough(&recording) {
            return recording;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{recording:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn files(path: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let flights = entries.filter(|it| it.file_name().to_string_lossy().starts_with("FLIGHT-"));
    let with_len = |it: std::fs::DirEntry| {
        (it.file_name().to_string_lossy().into_owned(), it.metadata().unwrap().len())
    };
    let mut files: Vec<_> = flights.map(with_len).collect();
    files.sort();
    files
}

#[test]
fn a_recording_has_figures_calls_events_and_keys() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    count(&db, "hot", 1000);
    db.flush().unwrap();
    db.get("hot").unwrap();
    let recording = recorded(&db, dir.path(), |it| it.samples.len() > 1);
    let last = recording.samples.last().unwrap();
    assert!(last.figure("foldb_merges_total").unwrap() >= 1000.0, "{last:?}");
    assert_eq!(last.figure("foldb_level_runs{level=\"0\"}"), Some(1.0));
    assert_eq!(last.figure("foldb_keyspace_runs{keyspace=\"default\"}"), Some(1.0));
    assert_eq!(last.figure("foldb_no_such_figure"), None);
    let writes = &recording.times()["write"];
    assert!(writes.count() > 10 && writes.quantile(0.5) > Duration::ZERO, "{writes:?}");
    let flush = recording.events.iter().find(|event| event.name == "flush").unwrap();
    assert_eq!((&*flush.keyspace, flush.count), ("default", 1));
    assert!(flush.bytes_written > 0 && flush.at <= SystemTime::now());
    let session = recording.sessions.last().unwrap();
    assert_eq!((session.process, session.ended), (u64::from(std::process::id()), None));
    db.close().unwrap();
    let recording = Recording::read(dir.path()).unwrap();
    assert!(recording.sessions[0].ended.is_some());
    let hot = recording.keys.iter().find(|key| matches!(key.why, Remarkable::Hot(_))).unwrap();
    assert_eq!((&*hot.key, hot.len, &*hot.keyspace), (&b"hot"[..], 3, "default"));
    assert_eq!(recording.unread_bytes, 0);
}

/// A reopen goes on in the same ring, and a short recording does not push out a long one.
#[test]
fn each_open_is_a_session_and_short_ones_share_a_file() {
    let dir = tempfile::tempdir().unwrap();
    for sessions in 1..=3 {
        let db = Db::open(dir.path(), options()).unwrap();
        recorded(&db, dir.path(), |it| it.sessions.len() == sessions);
        db.close().unwrap();
    }
    let recording = Recording::read(dir.path()).unwrap();
    assert!(recording.sessions.iter().all(|session| session.ended.is_some()), "{recording:?}");
    assert_eq!(files(dir.path()).len(), 1);
    let merges: Vec<f64> =
        recording.samples.iter().map(|it| it.figure("foldb_merges_total").unwrap()).collect();
    assert!(merges.is_sorted(), "figures go on from open to open: {merges:?}");
}

#[test]
fn a_short_program_leaves_no_recording() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    count(&db, "a", 10_000);
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(files(dir.path()), []);
    let recording = Recording::read(dir.path()).unwrap();
    assert!(recording.sessions.is_empty() && recording.samples.is_empty());
}

#[test]
fn an_idle_database_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    recorded(&db, dir.path(), |it| !it.samples.is_empty());
    std::thread::sleep(Duration::from_millis(3500));
    let before = files(dir.path());
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(files(dir.path()), before);
}

#[test]
fn a_recorder_that_is_off_and_a_read_only_open_write_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let off = Options { flight_recorder: 0, ..options() };
    let db = Db::open(dir.path(), off).unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2500) {
        count(&db, "a", 1000);
    }
    db.close().unwrap();
    let read_only = Db::open_read_only(dir.path(), options()).unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2500) {
        read_only.get("a").unwrap();
    }
    assert_eq!(files(dir.path()), []);
}

#[test]
fn a_budget_out_of_range_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { flight_recorder: 1000, ..options() };
    let error = Db::open(dir.path(), options).unwrap_err().to_string();
    assert!(error.contains("flight_recorder is 1000, but must be 0 (off) or between"), "{error}");
}

#[test]
fn an_absent_directory_and_one_without_a_database_have_no_recording() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().join("absent"), dir.path().to_owned()] {
        let error = Recording::read(&path).unwrap_err();
        assert_eq!(error.kind(), foldb::ErrorKind::DatabaseMissing, "{error}");
    }
}

/// A process that dies leaves half a frame, and a file may be cut or damaged anywhere.
#[test]
fn a_recording_that_was_cut_or_damaged_shows_what_is_before() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    recorded(&db, dir.path(), |it| it.samples.len() > 2);
    db.close().unwrap();
    let path = dir.path().join(&files(dir.path())[0].0);
    let whole = std::fs::read(&path).unwrap();
    let samples = Recording::read(dir.path()).unwrap().samples.len();
    for len in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..len]).unwrap();
        let recording = Recording::read(dir.path()).unwrap();
        assert!(recording.samples.len() <= samples);
    }
    for at in (12..whole.len()).step_by(101) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x20;
        std::fs::write(&path, damaged).unwrap();
        let recording = Recording::read(dir.path()).unwrap();
        assert!(recording.unread_bytes > 0, "byte {at}");
    }
    std::fs::write(&path, b"another program's file").unwrap();
    assert_eq!(Recording::read(dir.path()).unwrap().unread_bytes, 22);
    // The database needs none of it, and records on.
    let db = Db::open(dir.path(), options()).unwrap();
    count(&db, "a", 1);
}

/// A power loss may leave zeros where a file was that nothing synced. One such file once hid all
/// that the others hold.
#[test]
fn a_file_that_a_power_loss_emptied_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    recorded(&db, dir.path(), |it| it.samples.len() > 2);
    db.close().unwrap();
    let whole = Recording::read(dir.path()).unwrap();
    std::fs::write(dir.path().join("FLIGHT-000000"), [0; 5000]).unwrap();
    let last = files(dir.path()).last().unwrap().0.clone();
    let number: u64 = last.trim_start_matches("FLIGHT-").parse().unwrap();
    std::fs::write(dir.path().join(format!("FLIGHT-{:06}", number + 1)), [0; 7000]).unwrap();
    let recording = Recording::read(dir.path()).unwrap();
    assert_eq!(recording.samples.len(), whole.samples.len());
    assert_eq!(recording.unread_bytes, 12_000);
}

/// Destroy, verify, checkpoint and repair know the files.
#[test]
fn the_files_are_the_databases_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Db::open(&path, options()).unwrap();
    recorded(&db, &path, |it| !it.samples.is_empty());
    let copy = dir.path().join("copy");
    db.checkpoint(&copy).unwrap();
    db.close().unwrap();
    // Wine keeps the names of open files, and so their directory.
    drop(db);
    assert_eq!(files(&copy), [], "a copy has no past of its own");
    let report = foldb::repair::verify(&path, options()).unwrap();
    assert!(report.is_sound() && report.leftovers.is_empty(), "{report:?}");
    Db::repair(&path, options()).unwrap();
    assert_eq!(files(&path).len(), 1);
    Db::destroy(&path, &options()).unwrap();
    assert!(!path.exists());
}

/// In an environment with a seed a run is repeated, so nothing depends on real time.
#[test]
fn a_seeded_environment_has_no_recorder() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env { seed: Some(7), ..Env::system() };
    let db = Db::open(dir.path(), Options { env, ..options() }).unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2500) {
        count(&db, "a", 1000);
    }
    assert_eq!(files(dir.path()), []);
}
