//! Checks clock, threads and seed of `Env::system` and `Env::in_memory`.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use foldb_env::{Env, FileSystem, MemFs};

#[test]
fn a_machine_in_memory_stands_still_until_moved() {
    let fs = MemFs::new();
    let env = Env::in_memory(fs.clone());
    assert_eq!(env.clock.now(), Duration::ZERO);
    env.clock.sleep(Duration::from_hours(1));
    assert_eq!(env.clock.now(), Duration::from_hours(1));
    env.clock.sleep(Duration::MAX);
    assert_eq!(env.clock.now(), Duration::from_nanos(u64::MAX), "the clock stops at its end");

    let body = Box::new(|| panic!("stepped threads never run by themselves"));
    assert!(env.threads.spawn("worker", body).unwrap().is_none());

    fs.create("f".as_ref()).unwrap();
    assert!(env.fs.exists("f".as_ref()), "the machine's files are those given to it");
}

#[test]
fn the_system_runs_named_threads_and_its_clock_goes_on() {
    let env = Env::default();
    let (send, receive) = mpsc::channel();
    let body = Box::new(move || send.send(thread::current().name().map(str::to_owned)).unwrap());
    let start = env.clock.now();
    env.threads.spawn("flush", body).unwrap().unwrap().join().unwrap();
    assert_eq!(receive.recv().unwrap().as_deref(), Some("flush"));
    env.clock.sleep(Duration::from_millis(2));
    assert!(env.clock.now() >= start + Duration::from_millis(2));
}

#[test]
fn seeds_repeat_where_given_and_differ_where_drawn() {
    let fixed = Env { seed: Some(7), ..Env::system() };
    assert_eq!((fixed.random_seed(), fixed.random_seed()), (7, 7));
    let drawn = Env::system();
    assert_ne!(drawn.random_seed(), drawn.random_seed());
}
