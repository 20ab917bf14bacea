//! Tests the figures that tell of memtables, tables and filters, and the files that events name.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use foldb::env::MemFs;
use foldb::events::{Event, EventListener};
use foldb::stats::ReadReport;
use foldb::{Db, KeyspaceOptions, Options, ReadOptions};

use crate::support::{PATH, open, options};

#[test]
fn stats_tell_the_records_and_deletes_of_memtables() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", "1").unwrap();
    db.put("b", "2").unwrap();
    db.delete("c").unwrap();
    let own = db.stats().keyspaces[0].clone();
    assert_eq!((own.active.memtables, own.active.records, own.active.deletes), (1, 3, 1));
    assert_eq!((own.active.bytes, own.sealed.memtables), (own.memtable_bytes, 0));
    db.flush().unwrap();
    let own = db.stats().keyspaces[0].clone();
    assert_eq!((own.active.records, own.sealed.records), (0, 0));
}

#[test]
fn a_table_tells_its_deletes() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", "1").unwrap();
    let _snapshot = db.snapshot();
    db.delete("a").unwrap();
    db.flush().unwrap();
    let tables = db.tables().unwrap();
    assert_eq!((tables[0].records, tables[0].deletes), (2, 1));
}

#[test]
fn a_report_counts_the_tables_that_filters_rule_out() {
    let default = KeyspaceOptions { bloom_bits: Some(20), ..options(&MemFs::new()).default };
    let db = Db::open(PATH, Options { default, ..options(&MemFs::new()) }).unwrap();
    for number in 0..1000 {
        db.put(format!("key {number}"), "1").unwrap();
    }
    db.flush().unwrap();
    let report = ReadReport::default();
    let read = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
    for number in 0..900 {
        assert_eq!(db.with(&read).get(format!("key {number}x")).unwrap(), None);
    }
    assert!(report.tables_ruled_out() > 800, "{}", report.tables_ruled_out());
    let before = report.tables_ruled_out();
    assert!(db.with(&read).get("key 7").unwrap().is_some());
    assert_eq!(report.tables_ruled_out(), before);
    let absent = ["key 7y", "key 8y", "key 9y"];
    db.with(&read).multi_get(absent).unwrap();
    assert!(report.tables_ruled_out() > before);
}

#[derive(Debug, Default)]
struct Named {
    flushed: Mutex<Vec<PathBuf>>,
    inputs: Mutex<Vec<PathBuf>>,
    outputs: Mutex<Vec<PathBuf>>,
    last_seqno: Mutex<u64>,
}

impl EventListener for Named {
    fn on_event(&self, event: &Event) {
        match event {
            Event::Flush { files, seqnos, .. } => {
                self.flushed.lock().unwrap().extend(files.iter().cloned());
                *self.last_seqno.lock().unwrap() = seqnos.1;
            }
            Event::Compaction { inputs, outputs, records_in, records_out, .. } => {
                assert!(records_in >= records_out);
                let files = inputs.iter().map(|(_, file)| file.clone());
                self.inputs.lock().unwrap().extend(files);
                self.outputs.lock().unwrap().extend(outputs.iter().cloned());
            }
            _ => {}
        }
    }
}

#[test]
fn events_name_the_tables_of_flushes_and_compactions() {
    let named = Arc::new(Named::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![named.clone()];
    let db = Db::open(PATH, Options { listeners, ..options(&MemFs::new()) }).unwrap();
    for round in ["1", "2"] {
        db.put("a", round).unwrap();
        db.put("b", round).unwrap();
        db.flush().unwrap();
    }
    let flushed = named.flushed.lock().unwrap().clone();
    assert_eq!(flushed.len(), 2);
    assert_eq!(*named.last_seqno.lock().unwrap(), db.tables().unwrap()[0].largest_seqno);
    db.compact(..).unwrap();
    let mut inputs = named.inputs.lock().unwrap().clone();
    inputs.sort();
    assert_eq!(inputs, flushed, "the compaction read what the flushes wrote");
    let number = db.tables().unwrap()[0].number;
    let outputs = named.outputs.lock().unwrap().clone();
    assert!(outputs[0].ends_with(format!("{number:06}.tbl")), "{outputs:?}");
}
