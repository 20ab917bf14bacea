//! `demo`.

use crate::foldb::Shell;

#[test]
fn the_demo_flushes_and_compacts_and_its_counts_agree() {
    let shell = Shell::new();
    let out = shell.ok("demo --words 300000 --json");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["words"], 300_000);
    assert_eq!(report["operands_in"], 300_000);
    assert_eq!(report["counts_agree"], true);
    assert!(report["flushes"].as_u64().unwrap() > 0, "{out}");
    assert!(report["compactions"].as_u64().unwrap() > 0, "{out}");
    let folded = report["records_after_folding"].as_u64().unwrap();
    assert!(0 < folded && folded < 300_000, "{out}");
    assert!(report["write_amplification"].as_f64().unwrap() > 0.0, "{out}");
}

#[test]
fn the_demo_tells_what_it_did() {
    let shell = Shell::new();
    // More words than the text has, so it is read through several times.
    let out = shell.ok("demo --words 120000");
    for part in [
        "Counting 120,000 words",
        "read through",
        "█",
        "counts agree",
        "operands in",
        "records after folding",
        "flushes",
        "compactions",
        "write amplification",
        "get + put takes",
    ] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
}

#[test]
fn files_and_standard_input_are_counted_once_and_kept_if_asked() {
    let shell = Shell::new();
    std::fs::write(shell.path("text"), "The cat, the DOG.").unwrap();
    let ran = shell.feed(&["demo", "text", "-", "--keep", "kept"], "été the".as_bytes());
    let out = ran.ok();
    assert!(out.contains("Counting 6 words, 4 different ones, of 2 files."), "{out}");
    assert_eq!(shell.ok("scan kept"), "cat\t1\ndog\t1\nthe\t3\nété\t1\n");
    shell.run("demo text --keep kept").failed(1);
    assert_eq!(std::fs::read_dir(shell.path("")).unwrap().count(), 2, "only text and kept");
}

#[test]
fn nothing_to_count_is_a_failure() {
    let shell = Shell::new();
    assert!(shell.feed(&["demo", "-"], b"1 2 3").failed(1).contains("no word"));
    assert!(shell.run("demo missing").failed(1).contains("cannot read 'missing'"));
}
