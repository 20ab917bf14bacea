//! Tests that finished tables are whole, and that unfinished ones are removed.

use foldb_env::FileSystem;
use foldb_env::mem::{Fault, Operation};

use crate::rewriting::folding::RecordSink;
use crate::rewriting::output::TableOutput;
use crate::testing::history::{self, Event};
use crate::testing::tree::Workbench;

fn add(output: &mut TableOutput<'_>, event: &Event) -> crate::Result<()> {
    output.add(&event.key, event.header, &event.value)
}

fn tables(bench: &Workbench) -> usize {
    bench.mem.list(bench.names.directory()).unwrap().len()
}

#[test]
fn a_table_is_begun_with_its_first_record() {
    let bench = Workbench::new();
    let next_number = || bench.next_number();
    let mut output = TableOutput::new(
        &bench.fs,
        &bench.names,
        &next_number,
        bench.table_options(),
        &bench.memory,
    );
    assert!(!output.is_full(1, 0));
    output.cut().unwrap();
    let events = history::parse("a.DEL.9 a.PUT.3(x) b.MERGE.5(+1) c.PUT.2(y)");
    for event in &events[..3] {
        add(&mut output, event).unwrap();
    }
    assert!(output.is_full(1, 0) && !output.is_full(u64::MAX, 0));
    output.cut().unwrap();
    output.cut().unwrap();
    assert!(!output.is_full(1, 0));
    add(&mut output, &events[3]).unwrap();
    let files = output.finish().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(tables(&bench), 2);
    let file = &files[0];
    assert_eq!((file.number, file.entries, file.deletes, file.merges), (1, 3, 1, 1));
    assert_eq!((&*file.smallest, &**file.end.key()), (&b"a"[..], &b"b"[..]));
    assert_eq!((file.smallest_seqno, file.largest_seqno), (3, 9));
    assert_eq!(file.len, bench.mem.len(&bench.names.table(1)).unwrap());
    // Makes the names durable: a finished table is durable but for its name.
    bench.mem.sync_dir(bench.names.directory()).unwrap();
    assert_eq!(bench.mem.crash().len(&bench.names.table(1)).unwrap(), file.len);
}

#[test]
fn an_output_without_records_writes_no_table() {
    let bench = Workbench::new();
    let next_number = || bench.next_number();
    let output = TableOutput::new(
        &bench.fs,
        &bench.names,
        &next_number,
        bench.table_options(),
        &bench.memory,
    );
    assert!(output.finish().unwrap().is_empty());
    assert_eq!(tables(&bench), 0);
}

/// Failed background work is tried again and again. It must not fill the disk meanwhile.
#[test]
fn unfinished_tables_are_removed() {
    let bench = Workbench::new();
    let next_number = || bench.next_number();
    let options = bench.table_options();
    let mut output =
        TableOutput::new(&bench.fs, &bench.names, &next_number, options.clone(), &bench.memory);
    let events = history::parse("a.PUT.1(x) b.PUT.2(x)");
    add(&mut output, &events[0]).unwrap();
    output.cut().unwrap();
    add(&mut output, &events[1]).unwrap();
    assert_eq!(tables(&bench), 2);
    drop(output);
    assert_eq!(tables(&bench), 0, "an output that is dropped");

    for operation in [Operation::Write, Operation::Sync] {
        let mut output =
            TableOutput::new(&bench.fs, &bench.names, &next_number, options.clone(), &bench.memory);
        add(&mut output, &events[0]).unwrap();
        output.cut().unwrap();
        bench.mem.inject(Fault::on(operation).kind(std::io::ErrorKind::StorageFull));
        let failed = add(&mut output, &events[1]).and_then(|()| output.finish().map(|_| ()));
        assert_eq!(failed.unwrap_err().kind(), crate::ErrorKind::NoSpace);
        assert_eq!(tables(&bench), 0, "a failed {operation:?}");
    }
}
