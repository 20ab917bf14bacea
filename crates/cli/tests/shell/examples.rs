//! Runs each file of `examples/`.

use std::path::Path;
use std::process::Command;

use crate::foldb::Shell;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

#[test]
fn the_csv_report_sums_sales() {
    let shell = Shell::new();
    let sales = "sale,region,product,cents\n0,north,tea,100\n1,south,cup,250\n2,north,tea,40\n";
    std::fs::write(shell.path("sales.csv"), sales).unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_foldb")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh")
        .args([&format!("{DIRECTORY}/csv_report.sh"), "sales.csv", "sales.db", "sums.csv"])
        .env("PATH", path)
        .current_dir(shell.path(""))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(printed, "north\t140\nsouth\t250\ncup\t250\ntea\t140\n");
    let sums = std::fs::read_to_string(shell.path("sums.csv")).unwrap();
    assert_eq!(sums, "region,cents\nnorth,140\nsouth,250\n");
    assert_eq!(std::fs::read_dir(DIRECTORY).unwrap().count(), 1, "a new example needs a test");
}
