//! Runs each file of `examples/`, with its assertions.

#[path = "../../examples/four_workers.rs"]
mod four_workers;
#[path = "../../examples/job_queue.rs"]
mod job_queue;
#[path = "../../examples/rates.rs"]
mod rates;

#[test]
fn every_example_runs() {
    four_workers::main().unwrap();
    job_queue::main().unwrap();
    rates::measure(&rates::Sizes { jobs: 300, done: 1000, threads: &[1, 2] }).unwrap();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 3, "a new example needs a line here");
}
