//! Runs each file of `examples/`, with its assertions.

#[path = "../../examples/counter.rs"]
mod counter;
#[path = "../../examples/custom_operator.rs"]
mod custom_operator;
#[path = "../../examples/follower.rs"]
mod follower;
#[path = "../../examples/list.rs"]
mod list;
#[path = "../../examples/sessions.rs"]
mod sessions;
#[path = "../../examples/small_store.rs"]
mod small_store;
#[path = "../../examples/snapshot.rs"]
mod snapshot;

#[test]
fn every_example_runs() {
    counter::main().unwrap();
    list::main().unwrap();
    custom_operator::main().unwrap();
    snapshot::main().unwrap();
    follower::main().unwrap();
    sessions::main().unwrap();
    small_store::main().unwrap();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 7, "a new example needs a line here");
}
