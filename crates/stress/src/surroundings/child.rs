//! Forked children. A child has a copy of the database, but may not use it: each call that writes
//! or waits answers `Forked`, and each read is right or answers `Forked`. The parent notices
//! nothing, and neither does the next life beside a child that outlives its parent.
//!
//! A child has no lock of standard output, which another thread may hold at the fork. So it reports
//! in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use foldb::{Db, Error, ErrorKind, Options, WriteBatch, WriteOptions};
use rustix::process::{Pid, Signal, WaitOptions, getppid, kill_process, waitpid};

use super::calls;
use crate::check::{Wrong, told};
use crate::model::{Map, Model};
use crate::stage::Stage;

/// A child that takes longer than this counts as hanging.
const LONGEST: Duration = Duration::from_secs(30);
/// How long a child waits for the end of its parent.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long a child goes on without its parent.
const ALONE: Duration = Duration::from_millis(150);

const RUNNING: &str = "running";
const RIGHT: &str = "right";

/// A child that may outlive its parent.
#[derive(Debug)]
pub(super) struct Orphan {
    child: Pid,
    report: PathBuf,
}

/// Forks a child that makes every call, and waits for it. `thread` does not write meanwhile.
pub(crate) fn fork(stage: &Stage, thread: u8, model: &Model) -> Result<(), Wrong> {
    let report = |child| report_of(&stage.around.database, child);
    let child = calls::fork(|| {
        leave_output(stage);
        let outcome = every_call(stage, thread, model).and_then(|()| own_database(stage));
        tell(&report(std::process::id()), outcome)
    });
    let child = child.map_err(|error| format!("cannot fork: {error}"))?;
    let begun = Instant::now();
    loop {
        match has_ended(child)? {
            Some(true) => return Ok(()),
            Some(false) => return Err(what_it_told(&report(child.as_raw_pid() as u32))),
            None if begun.elapsed() > LONGEST => {
                let _it_hangs = kill_process(child, Signal::KILL);
                return Err("a forked child hangs".to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Forks a child that calls until some time after the end of its parent. Ends the last such child.
pub(crate) fn leave_an_orphan(stage: &Stage, thread: u8, model: &Model) -> Result<(), Wrong> {
    let mut orphan = stage.around.orphan.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Orphan { child, report }) = &*orphan {
        match has_ended(*child)? {
            Some(true) => {}
            Some(false) => return Err(what_it_told(report)),
            None => return Ok(()),
        }
    }
    let parent = std::process::id();
    let child = calls::fork(|| {
        leave_output(stage);
        outlive(stage, parent, thread, model)
    });
    let child = child.map_err(|error| format!("cannot fork: {error}"))?;
    let report = report_of(&stage.around.database, child.as_raw_pid() as u32);
    *orphan = Some(Orphan { child, report });
    Ok(())
}

/// Calls until the parent's end, and some time longer.
fn outlive(stage: &Stage, parent: u32, thread: u8, model: &Model) -> bool {
    let report = report_of(&stage.around.database, std::process::id());
    let is_alone = || getppid().is_none_or(|found| found.as_raw_pid() as u32 != parent);
    let begun = Instant::now();
    while !is_alone() {
        if let Err(wrong) = write(stage) {
            return tell(&report, Err(wrong));
        }
        if begun.elapsed() > PATIENCE {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _told_again = fs::write(&report, RUNNING);
    let begun = Instant::now();
    while begun.elapsed() < ALONE {
        let outcome = write(stage).and_then(|()| every_call(stage, thread, model));
        if outcome.is_err() {
            return tell(&report, outcome);
        }
    }
    let _told = fs::write(&report, RIGHT);
    true
}

/// Returns how many children of this database outlived their parents, or what one did wrong. Waits
/// for those that still run.
pub(crate) fn orphans(database: &Path) -> Result<u64, Wrong> {
    let begun = Instant::now();
    loop {
        let (mut right, mut running) = (0, 0);
        for report in reports(database) {
            match fs::read_to_string(&report).unwrap_or_default().as_str() {
                RIGHT => right += 1,
                RUNNING | "" => running += 1,
                wrong => return Err(format!("a child that outlived its parent: {wrong}")),
            }
        }
        if running == 0 {
            return Ok(right);
        }
        if begun.elapsed() > LONGEST {
            return Err("a child that outlived its parent hangs".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn reports(database: &Path) -> Vec<PathBuf> {
    let prefix = database.file_name().map(|name| format!("{}.child-", name.to_string_lossy()));
    let entries = database.parent().and_then(|parent| fs::read_dir(parent).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_report = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        prefix.as_ref().is_some_and(|prefix| name.starts_with(prefix))
    };
    paths.filter(is_report).collect()
}

fn report_of(database: &Path, child: u32) -> PathBuf {
    database.with_extension(format!("child-{child}"))
}

/// Reports what went wrong, and returns whether nothing did.
fn tell(report: &Path, outcome: Result<(), Wrong>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(wrong) => {
            let _the_exit_code_tells_too = fs::write(report, wrong);
            false
        }
    }
}

fn what_it_told(report: &Path) -> Wrong {
    let told = fs::read_to_string(report).unwrap_or_else(|_| "it panicked".to_owned());
    format!("a forked child: {told}")
}

/// Returns whether the child ended well, if it has ended.
fn has_ended(child: Pid) -> Result<Option<bool>, Wrong> {
    let ended = waitpid(Some(child), WaitOptions::NOHANG);
    let ended = ended.map_err(|error| format!("cannot wait for a child: {error}"))?;
    Ok(ended.map(|(_, status)| status.exit_status() == Some(0)))
}

/// Leaves the supervisor's pipe: its end tells the end of the worker.
fn leave_output(stage: &Stage) {
    let _it_writes_nothing_there = rustix::stdio::dup2_stdout(&stage.around.nowhere);
}

fn write(stage: &Stage) -> Result<(), Wrong> {
    expect_forked("put", stage.tally.put([u8::MAX], 0u64.to_le_bytes()))
}

fn expect_forked<T>(what: &str, outcome: foldb::Result<T>) -> Result<(), Wrong> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::Forked => Ok(()),
        Err(error) => Err(format!("{what} answers {error}")),
        Ok(_) => Err(format!("{what} succeeded")),
    }
}

/// Makes every call that writes or waits, and reads the keys of a thread that does not write.
fn every_call(stage: &Stage, thread: u8, model: &Model) -> Result<(), Wrong> {
    let (db, tally, one) = (&stage.db, &stage.tally, 1u64.to_le_bytes());
    let key = [u8::MAX];
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    let in_time = WriteOptions { deadline: Some(Duration::from_secs(1)), ..synced };
    let mut batch = WriteBatch::new();
    batch.put_in(tally, key, one).put_in(tally, [u8::MAX, 1], one);
    write(stage)?;
    expect_forked("merge", tally.merge(key, one))?;
    expect_forked("delete", tally.delete(key))?;
    expect_forked("delete_range", tally.delete_range([0]..key))?;
    expect_forked("write", db.write(&batch))?;
    expect_forked("an empty write", db.with(&synced).write(&WriteBatch::new()))?;
    for options in [synced, unlogged, in_time] {
        expect_forked("a put with options", tally.with(&options).put(key, one))?;
    }
    expect_forked("put_if_absent", tally.put_if_absent(key, one))?;
    expect_forked("update", tally.update(key, |_| Some(one.to_vec())))?;
    expect_forked("take_first", tally.take_first(..))?;
    expect_forked("merge_get", tally.merge_get(key, one))?;
    expect_forked("transact", db.transact(|own| own.put("child", "1")))?;
    expect_forked("flush", db.flush())?;
    expect_forked("sync", db.sync())?;
    expect_forked("compact", db.compact(..))?;
    expect_forked("wait_for_background", db.wait_for_background())?;
    expect_forked("collect_garbage", db.collect_garbage())?;
    expect_forked("create_keyspace", db.create_keyspace("child", Default::default()))?;
    expect_forked("drop_keyspace", db.drop_keyspace("child"))?;
    expect_forked("sorted_load", db.sorted_load())?;
    let copy = stage.around.database.with_extension("copy-of-child");
    expect_forked("checkpoint", db.checkpoint(copy))?;
    expect_forked("verify", db.verify())?;
    expect_forked("close", db.clone().close())?;
    let _these_answer = (db.stats(), db.memory(), format!("{db:?}"));
    reads(stage, thread, model)
}

fn reads(stage: &Stage, thread: u8, model: &Model) -> Result<(), Wrong> {
    let features = &stage.features;
    for (at, keyspace) in stage.keyspaces.iter().enumerate() {
        for (key, value) in model.entries(at).step_by(17) {
            match keyspace.get(features.stored_key(key)) {
                Ok(Some(found)) if found == value[..] => {}
                Err(error) if error.kind() == ErrorKind::Forked => {}
                other => return Err(format!("a read of {key:?} answers {other:?}")),
            }
        }
        match scan(stage, keyspace, thread) {
            Ok(found) if model.entries(at).eq(&found) => {}
            Err(error) if error.kind() == ErrorKind::Forked => {}
            Ok(_) => return Err(format!("a scan of {} is wrong", keyspace.name())),
            Err(error) => return Err(format!("a scan answers {error}")),
        }
    }
    Ok(())
}

/// Returns the entries of one thread.
fn scan(stage: &Stage, keyspace: &foldb::Keyspace, thread: u8) -> Result<Map, Error> {
    let mut found = Map::new();
    for entry in keyspace.iter()? {
        let (key, value) = entry?;
        let key = stage.features.written_key(&key);
        if stage.features.owner(&key) == Some(thread) {
            found.insert(key, value.to_vec());
        }
    }
    Ok(found)
}

/// A child may open a database of its own. It does not try to open its parent's: once the parent is
/// killed, that would succeed.
fn own_database(stage: &Stage) -> Result<(), Wrong> {
    if stage.features.surroundings.few_handles {
        return Ok(());
    }
    let path = stage.around.database.with_extension(format!("of-child-{}", std::process::id()));
    let options = Options { create_if_missing: true, ..Options::default() };
    let write = |db: Db| db.put("child", "1").and_then(|()| db.flush()).and_then(|()| db.close());
    Db::open(&path, options).and_then(write).map_err(told("the child's own database"))?;
    fs::remove_dir_all(&path).map_err(super::wrong("the child's own database"))
}
