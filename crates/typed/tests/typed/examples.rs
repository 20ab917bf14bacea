//! Runs each file of `examples/`, with its assertions.

#[path = "../../examples/activity_feed.rs"]
mod activity_feed;
#[path = "../../examples/orders.rs"]
mod orders;
#[path = "../../examples/page_views.rs"]
mod page_views;
#[path = "../../examples/tags.rs"]
mod tags;

#[test]
fn every_example_runs() {
    activity_feed::main().unwrap();
    orders::main().unwrap();
    page_views::main().unwrap();
    tags::main().unwrap();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 4, "a new example needs a line here");
}
