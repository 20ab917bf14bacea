//! One life of a database: open, compare, write until the kill, or until it is closed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use foldb_stress::own_code::quiet_panics_by_design;

use crate::arguments::Life;
use crate::check::{self, Found, Wrong, told};
use crate::coverage::{Counted, Counts};
use crate::features::Features;
use crate::last_handle::{self, LastHandle};
use crate::report::{Line, tell_counts};
use crate::stage::Stage;
use crate::surroundings::Around;
use crate::thread::{Watched, Worker};

/// A thread that is in one call for longer than this counts as hanging.
const LONGEST_CALL: Duration = Duration::from_secs(60);

/// Runs one life. It ends by a kill, unless only the check is wanted.
pub(crate) fn run(life: &Life) -> Result<(), String> {
    let outcome = live(life);
    if let Err(message) = &outcome {
        Line::Wrong { message: message.clone() }.tell();
    }
    outcome
}

/// Switches on a deliberate bug in this process.
#[cfg(debug_assertions)]
pub(crate) fn plant(name: &str) -> Result<(), String> {
    use foldb::env::faults as of_env;
    use foldb::faults::{Fault, plant_everywhere};
    if let Some(fault) = of_env::Fault::from_name(name) {
        of_env::plant_everywhere(fault);
        return Ok(());
    }
    let own = Fault::ALL.map(|fault| format!("{fault:?}"));
    let others = of_env::Fault::ALL.map(|fault| format!("{fault:?}"));
    let names = || [&own[..], &others].concat().join(", ");
    let fault = Fault::from_name(name);
    let fault =
        fault.ok_or_else(|| format!("no fault is called '{name}'; there are {}", names()))?;
    plant_everywhere(fault);
    Ok(())
}

#[cfg(not(debug_assertions))]
pub(crate) fn plant(_name: &str) -> Result<(), String> {
    Err("faults can be planted in builds with debug assertions only".to_owned())
}

fn live(life: &Life) -> Result<(), Wrong> {
    if let Some(fault) = &life.plant {
        plant(fault)?;
    }
    quiet_panics_by_design();
    let counts = Arc::new(Counts::default());
    let slot = Arc::new(LastHandle::default());
    let features = Features::draw(life.seed);
    let around = Around::begin(&life.database, &features, &counts)?;
    let stage = Stage::open(around, features, &counts, &slot)?;
    let found = check::whole(&stage, &life.threads)?;
    for (thread, found) in found.iter().enumerate() {
        if found.kept_interrupted {
            counts.add(Counted::InterruptedWriteKept);
        }
        Line::Found { thread, progress: found.progress.clone() }.tell();
    }
    if life.check_only {
        stage.db.verify().map_err(told("the database does not verify"))?;
        counts.add(Counted::Verify);
        tell_counts(&counts);
        return stage.db.close().map_err(told("the database does not close"));
    }
    stage.begin_trouble(life.seed ^ u64::from(life.life));
    Line::Begun.tell();
    work(&stage, &counts, life, found)?;
    stage.trouble.end();
    close(stage, &counts, life, &slot)?;
    tell_counts(&counts);
    Ok(())
}

/// Lets all threads work until the kill, or for the given time.
fn work(stage: &Stage, counts: &Counts, life: &Life, found: Vec<Found>) -> Result<(), Wrong> {
    let watched: Vec<Watched> = found.iter().map(|_| Watched::default()).collect();
    let end = life.close_after.map(|millis| Instant::now() + Duration::from_millis(millis));
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for ((thread, found), watched) in (0..).zip(found).zip(&watched) {
            let mut worker = Worker::new((stage, counts, life), watched, thread, found);
            let handle = scope.spawn(move || {
                if let Err(message) = worker.work() {
                    fail(message);
                }
            });
            threads.push(Watch { handle: Some(handle), watched, seen: (0, Instant::now()) });
        }
        loop {
            thread::sleep(Duration::from_millis(20));
            tell_counts(counts);
            if end.is_some_and(|end| end < Instant::now()) {
                watched.iter().for_each(|watched| watched.ends.store(true, Ordering::Relaxed));
            }
            threads.iter_mut().for_each(Watch::look);
            if end.is_some() && threads.iter().all(|watch| watch.handle.is_none()) {
                return Ok(());
            }
        }
    })
}

/// Reports an error and ends the process, with all threads.
fn fail(message: String) -> ! {
    Line::Wrong { message }.tell();
    std::process::exit(1);
}

/// A thread under watch.
struct Watch<'scope, 'a> {
    /// `None` once the thread has ended.
    handle: Option<ScopedJoinHandle<'scope, ()>>,
    watched: &'a Watched,
    /// The number of beats, and when it last changed.
    seen: (u64, Instant),
}

impl Watch<'_, '_> {
    fn look(&mut self) {
        let Some(handle) = self.handle.take_if(|handle| handle.is_finished()) else {
            let beats = self.watched.beats.load(Ordering::Relaxed);
            if beats != self.seen.0 {
                self.seen = (beats, Instant::now());
            }
            if self.handle.is_some() && self.seen.1.elapsed() > LONGEST_CALL {
                fail(format!("a call has not returned for {LONGEST_CALL:?}"));
            }
            return;
        };
        if let Err(panic) = handle.join() {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            fail(format!("a thread panicked: {}", text.unwrap_or("no message")));
        }
    }
}

/// Ends a life without a kill: by a close, or by dropping the last handle in an event listener.
fn close(stage: Stage, counts: &Counts, life: &Life, slot: &LastHandle) -> Result<(), Wrong> {
    if life.life % 2 == 1 {
        counts.add(Counted::CloseInListener);
        return last_handle::close(stage, &life.database, slot);
    }
    counts.add(Counted::Close);
    match stage.db.close() {
        Err(error) if !stage.is_excused(&error) => Err(told("the database does not close")(error)),
        _ => Ok(()),
    }
}
