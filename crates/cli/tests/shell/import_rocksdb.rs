//! Imports of databases that the original RocksDB wrote.
//!
//! `tests/golden/rocksdb` has small databases with what RocksDB showed of them, in `entries.txt`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::foldb::{Shell, contents};
use crate::original::copy_files;
use crate::rocksdb::Peer;

const IMPORT: &str = "import --from rocksdb src dst";

/// Returns what foldb shows, in the form in which the peer shows it.
fn shown(shell: &Shell, families: &str) -> String {
    let mut all = String::new();
    for name in families.lines().filter_map(|line| line.strip_prefix("family ")) {
        all += &format!("family {name}\n");
        let line = format!("scan dst --keyspace {name} --key-format hex --as hex");
        all += &shell.ok(&line).replace('\t', " ").to_uppercase();
    }
    all
}

/// Imports `src`, which must succeed and change nothing in it, and compares the entries.
fn check(shell: &Shell, expected: &str, flags: &str) {
    let before = contents(&shell.path("src"));
    shell.ok(&format!("{IMPORT}{flags}"));
    assert!(contents(&shell.path("src")) == before, "the import changed the database");
    let found = shown(shell, expected);
    let different = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(found == expected, "{different:?}");
    shell.ok("verify dst");
}

/// Lets RocksDB write a database, imports it, and compares.
fn check_written(peer: Peer, args: &[&str]) {
    let shell = Shell::new();
    let src = shell.path("src");
    peer.write(&src, args);
    let expected = peer.entries(&src, &[]);
    assert!(expected.lines().count() > 200, "{args:?}");
    println!("{args:?}");
    check(&shell, &expected, "");
}

/// Imports `src`, which must fail and leave nothing. Returns the message.
fn refused(shell: &Shell, flags: &str) -> String {
    let before = contents(&shell.path("src"));
    let ran = shell.run(&format!("{IMPORT}{flags}"));
    let code = ran.code.unwrap();
    let message = ran.failed(code);
    assert!(contents(&shell.path("src")) == before, "the import changed the database");
    assert!(!shell.path("dst").exists() && !shell.path("dst.unfinished").exists());
    message
}

fn table(options: &str) -> String {
    format!("cf=compression=kNoCompression;block_based_table_factory={{{options}}};")
}

#[test]
fn tables_of_every_format_version_and_checksum_are_read() {
    let Some(peer) = Peer::find() else { return };
    for version in 0..=5 {
        check_written(peer, &[&table(&format!("format_version={version};")), "ranges=1"]);
    }
    for checksum in ["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"] {
        check_written(peer, &[&table(&format!("checksum={checksum};"))]);
    }
}

#[test]
fn tables_with_every_index_are_read() {
    let Some(peer) = Peer::find() else { return };
    let kinds =
        ["kBinarySearch", "kHashSearch", "kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"];
    for kind in kinds {
        for version in [2, 4, 5] {
            let interval = if kind == "kHashSearch" { 1 } else { 8 };
            let table = format!(
                "cf=prefix_extractor=fixed:4;block_based_table_factory={{index_type={kind};\
                 format_version={version};index_block_restart_interval={interval};block_size=256;\
                 metadata_block_size=300;}};"
            );
            check_written(peer, &[&table, "keys=1000", "ranges=1"]);
        }
    }
    check_written(peer, &[&table("data_block_index_type=kDataBlockBinaryAndHash;")]);
}

#[test]
fn compressed_tables_with_and_without_dictionaries_are_read() {
    let Some(peer) = Peer::find() else { return };
    for kind in ["kSnappy", "kZlib", "kLZ4", "kLZ4HC", "kZSTD"] {
        for version in [1, 5] {
            let options = format!(
                "cf=compression={kind}Compression;block_based_table_factory=\
                 {{format_version={version};}};"
            );
            check_written(peer, &[&options.replace("ZSTDCompression", "ZSTD"), "ranges=1"]);
        }
        for train in [0, 100_000] {
            let options = format!(
                "cf=compression={kind}Compression;compression_opts={{max_dict_bytes=4096;\
                 zstd_max_train_bytes={train};}};block_based_table_factory={{block_size=512;}};"
            );
            check_written(peer, &[&options.replace("ZSTDCompression", "ZSTD"), "keys=3000"]);
        }
    }
}

#[test]
fn logs_of_killed_databases_are_read() {
    let Some(peer) = Peer::find() else { return };
    let killed = ["kill=1", "flush=0", "ranges=1"];
    check_written(peer, &killed);
    check_written(peer, &[&killed[..], &["families=a,b", "merge=stringappend"]].concat());
    check_written(peer, &[&killed[..], &["db=wal_compression=kZSTD;", "value=3000"]].concat());
    let recycled = ["db=recycle_log_file_num=3;", "rounds=9", "keys=3000"];
    check_written(peer, &[&killed[..], &recycled].concat());
    check_written(peer, &["kill=1", "flush=0", "transactions=1"]);
    check_written(peer, &["transactions=1"]);
}

#[test]
fn operands_of_every_operator_are_folded_as_rocksdb_folds_them() {
    let Some(peer) = Peer::find() else { return };
    for operator in ["uint64add", "put", "max", "bytesxor", "stringappend", "stringappendtest"] {
        let merge = format!("merge={operator}");
        check_written(peer, &[&merge, "ranges=1", "flush=0", "kill=1"]);
        check_written(peer, &[&merge, "seed=2", "families=other"]);
    }
    let own = ["merge=stringappend", "merge_operator={id=StringAppendOperator;delimiter=--;}"];
    check_written(peer, &own);
}

#[test]
fn keys_in_reverse_order_stay_in_that_order() {
    let Some(peer) = Peer::find() else { return };
    check_written(peer, &["reverse=1", "families=other", "merge=stringappend", "ranges=1"]);
    check_written(peer, &["reverse=1", "families=other", "kill=1", "flush=0"]);
}

#[test]
fn blobs_ingested_tables_and_deep_trees_are_read() {
    let Some(peer) = Peer::find() else { return };
    let blobs = "cf=enable_blob_files=true;min_blob_size=10;";
    check_written(peer, &[blobs, "ranges=1"]);
    check_written(peer, &[&format!("{blobs}blob_compression_type=kZSTD;"), "families=x"]);
    check_written(peer, &["ingest=1", "kill=1", "flush=0"]);
    let level = "write_buffer_size=65536;target_file_size_base=30000;\
                 level0_file_num_compaction_trigger=2;";
    for shape in ["cf=", "cf=compaction_style=kCompactionStyleUniversal;"] {
        let cf = format!("{shape}{level}");
        let deep = ["keys=3000", "rounds=6", "ranges=1", "compact=0"];
        check_written(peer, &[&[cf.as_str()], &deep[..]].concat());
        check_written(peer, &[&[cf.as_str(), "merge=stringappend"], &deep[..]].concat());
    }
}

#[test]
fn what_foldb_lacks_is_refused_by_name() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    peer.write(&shell.path("src"), &["cf=compression=kBZip2Compression;", "keys=300"]);
    assert!(refused(&shell, "").contains("bzip2"));
    let refuses = |args: &[&str], flags: &str, expected: &str| {
        fs::remove_dir_all(shell.path("src")).unwrap();
        peer.write(&shell.path("src"), args);
        let message = refused(&shell, flags);
        assert!(message.contains(expected), "{message}");
    };
    let timestamps = ["cf=comparator=leveldb.BytewiseComparator.u64ts;", "rounds=0"];
    refuses(&timestamps, "", "user-defined timestamps");
    refuses(&["merge=own", "rounds=0"], "", "the operator 'MyOperator'");
    let other = " --operator other=put";
    refuses(&["merge=put"], other, "there is no column family 'other'");
    refuses(&["merge=put"], " --operator put", "FAMILY=NAME");
    refuses(&["merge=put"], " --comparator default=mine", "no comparator 'mine'");
    let prepared = ["transactions=1", "write_prepared=1", "flush=0", "kill=1"];
    refuses(&prepared, "", "WritePrepared");
    refuses(&["cf=table_factory=PlainTable;prefix_extractor=fixed:3;"], "", "the plain format");
}

#[test]
fn an_open_database_is_refused() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    peer.write(&shell.path("src"), &["keys=50"]);
    let mut child = peer.hold(&shell.path("src"));
    let message = shell.run(IMPORT).failed(1);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(message.contains("a program has 'src' open"), "{message}");
}

#[test]
fn a_log_that_is_cut_anywhere_is_imported_as_rocksdb_recovers_it() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    peer.write(&src, &["keys=120", "rounds=2", "kill=1", "flush=0", "merge=stringappend"]);
    let logs = fs::read_dir(&src).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<PathBuf> =
        logs.filter(|path| path.extension() == Some("log".as_ref())).collect();
    logs.sort();
    let log = logs.pop().unwrap();
    let bytes = fs::read(&log).unwrap();
    for len in (0..bytes.len()).step_by(bytes.len() / 12) {
        fs::write(&log, &bytes[..len]).unwrap();
        let expected = peer.entries(&src, &[]);
        check(&shell, &expected, "");
        fs::remove_dir_all(shell.path("dst")).unwrap();
    }
}

#[test]
fn logs_in_another_directory_are_named() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    let (src, logs) = (shell.path("src"), shell.path("logs"));
    let db = format!("db=wal_dir={};", logs.display());
    peer.write(&src, &[&db, "kill=1", "flush=0"]);
    let expected = peer.entries(&src, &[]);
    let message = refused(&shell, "");
    assert!(message.contains("--wal-dir DIR"), "{message}");
    check(&shell, &expected, " --wal-dir logs");
}

#[test]
fn without_options_the_tables_name_the_operator() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    peer.write(&src, &["merge=uint64add"]);
    let expected = peer.entries(&src, &[]);
    for entry in fs::read_dir(&src).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("OPTIONS") {
            fs::remove_file(path).unwrap();
        }
    }
    check(&shell, &expected, "");
}

#[test]
fn a_damaged_block_costs_its_keys_and_is_told() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    peer.write(&src, &["keys=3000", "rounds=1", "cf=write_buffer_size=100000000;"]);
    let expected = peer.entries(&src, &[]);
    let table = fs::read_dir(&src).unwrap().map(|entry| entry.unwrap().path());
    let table = table.filter(|path| path.extension() == Some("sst".as_ref())).max().unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes[20_000] ^= 1;
    fs::write(&table, bytes).unwrap();
    let name = table.file_name().unwrap().to_str().unwrap();
    let message = refused(&shell, "");
    assert!(message.contains("checksum") && message.contains(name), "{message}");
    let ran = shell.run(&format!("{IMPORT} --skip-damaged --json"));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let told: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert!(told["left_out"][0].as_str().unwrap().contains(name), "{told}");
    assert_eq!(told["left_out"].as_array().unwrap().len(), 1, "{told}");
    let found = shown(&shell, &expected);
    let (found, all): (Vec<&str>, Vec<&str>) =
        (found.lines().collect(), expected.lines().collect());
    assert!(found.len() < all.len() && found.len() + 200 > all.len());
    assert!(found.iter().all(|line| all.contains(line)));
}

#[test]
fn the_text_of_ldb_is_imported() {
    let shell = Shell::new();
    let import = ["import", "--from", "ldb-dump", "-", "dst"];
    shell.feed(&import, b"0x6B31 ==> 0x76\n0x6B32 ==> 0x\nKeys in range: 2\n").ok();
    assert_eq!(shell.ok("scan dst"), "k1\tv\nk2\t\n");
    let refused = |text: &str, expected: &str| {
        let import = ["import", "--from", "ldb-dump", "-", "bad"];
        let message = shell.feed(&import, text.as_bytes()).failed(1);
        assert!(message.contains(expected), "{message}");
        assert!(!shell.path("bad").exists());
    };
    refused("0x6B32 : 0x\n0x6B31 : 0x\n", "line 2: the keys do not ascend");
    refused("0x6B32 : 0x\nKeys in range: 2\n", "expected 2 entries, found 1");
    refused("k1 ==> v1\n", "found 'k1 ==> v1'");
}

#[test]
fn the_text_of_ldb_has_what_the_files_have() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    peer.write(&shell.path("src"), &["merge=uint64add"]);
    let src = shell.path("src");
    let Ok(ldb) =
        Command::new("ldb").arg(format!("--db={}", src.display())).args(["dump", "--hex"]).output()
    else {
        eprintln!("SKIPPED: needs RocksDB's tool ldb");
        return;
    };
    fs::write(shell.path("text"), ldb.stdout).unwrap();
    shell.ok(IMPORT);
    shell.ok("import --from ldb-dump text of_text");
    assert_eq!(shell.ok("scan dst --as hex"), shell.ok("scan of_text --as hex"));
}

#[test]
fn an_operator_of_the_program_is_mapped_to_a_built_in_one() {
    let Some(peer) = Peer::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    peer.write(&src, &["merge=own", "flush=0", "kill=1", "families=other"]);
    let expected = peer.entries(&src, &["own"]);
    assert!(refused(&shell, " --operator default=append").contains("family 'other'"));
    check(&shell, &expected, " --operator default=append --operator other=append");
}

#[test]
fn a_value_of_several_columns_is_named_or_cut() {
    let shell = Shell::new();
    let golden = golden().into_iter().find(|path| path.ends_with("release_11_8_columns")).unwrap();
    let expected = copy_golden(&shell, &golden);
    assert!(refused(&shell, "").contains("'entity' has the column 'city'"));
    check(&shell, &expected, " --only-default-column");
}

/// Each was written by the release in its name.
const GOLDEN: [&str; 8] = [
    "release_7_8",
    "release_7_8_blobs",
    "release_7_8_no_checksums",
    "release_11_8",
    "release_11_8_columns",
    "release_11_8_columns_in_blobs",
    "release_11_8_footer_6",
    "release_11_8_values_apart",
];

fn golden() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rocksdb");
    GOLDEN.iter().map(|name| all.join(name)).collect()
}

/// Copies a golden database to `src`, and returns its entries.
fn copy_golden(shell: &Shell, golden: &Path) -> String {
    let src = shell.path("src");
    copy_files(golden, &src);
    fs::remove_file(src.join("entries.txt")).unwrap();
    fs::read_to_string(golden.join("entries.txt")).unwrap()
}

#[test]
fn golden_databases_of_several_releases_are_read() {
    for golden in golden() {
        println!("{}", golden.display());
        let shell = Shell::new();
        let expected = copy_golden(&shell, &golden);
        check(&shell, &expected, " --only-default-column");
    }
}

#[test]
fn operands_are_kept_for_an_operator_that_a_program_brings() {
    let golden = golden().into_iter().find(|path| path.ends_with("release_7_8")).unwrap();
    let (kept, folded) = (Shell::new(), Shell::new());
    for (shell, flags) in
        [(&kept, " --operator default=librocksdb --operator counters=librocksdb"), (&folded, "")]
    {
        copy_golden(shell, &golden);
        shell.ok(&format!("{IMPORT}{flags}"));
    }
    assert!(kept.ok("keyspaces dst").contains("rocksdb.counters"));
    let unfolded = kept.ok("get dst key000001/ --operands");
    let parts: Vec<&str> = unfolded.lines().filter_map(|line| line.rsplit('\t').next()).collect();
    assert_eq!(parts.len(), 2, "{unfolded}");
    assert!(unfolded.contains("\noperand\trocksdb.default\t"), "{unfolded}");
    assert_eq!(folded.ok("get dst key000001/"), parts.join(",") + "\n");
    let refused = kept.run("get dst key000001/").failed(1);
    assert!(refused.contains("'rocksdb.default'"), "{refused}");
}

#[test]
fn a_changed_byte_is_found_or_left_out() {
    for golden in golden() {
        let shell = Shell::new();
        let expected = copy_golden(&shell, &golden);
        for entry in fs::read_dir(shell.path("src")).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            // Nothing can find a changed byte of a table without checksums.
            let is_unchecked =
                golden.ends_with("release_7_8_no_checksums") && name.ends_with("sst");
            if is_unchecked || name.starts_with("OPTIONS") || name == "CURRENT" || bytes.is_empty()
            {
                continue;
            }
            for n in 0..3 {
                let at = bytes.len() * (1 + 3 * n) / 10;
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x20;
                fs::write(&path, damaged).unwrap();
                let ran = shell.run(&format!("{IMPORT} --only-default-column"));
                match ran.code {
                    // The byte has no meaning, or it is in the last record of a log.
                    Some(0) => assert!(
                        shown(&shell, &expected) == expected
                            || ran.err.contains("an incomplete write"),
                        "{name} {at}"
                    ),
                    _ => {
                        let message = ran.failed(1);
                        assert!(message.contains(&name), "{name} {at}: {message}");
                        assert!(!message.contains("internal error"), "{message}");
                    }
                }
                fs::remove_dir_all(shell.path("dst")).ok();
                let ran = shell.run(&format!("{IMPORT} --only-default-column --skip-damaged"));
                let is_vital = name.starts_with("MANIFEST");
                assert!(ran.code == Some(3) || ran.code == Some(0) || is_vital, "{ran:?}");
                fs::remove_dir_all(shell.path("dst")).ok();
            }
            fs::write(&path, bytes).unwrap();
        }
    }
}
