use std::fs;
use std::path::Path;

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::schema::types::ColumnPath;

use super::kind::Kind;
use super::*;
use crate::exit::Outcome;

fn written(to: &Path, names: &[&str], rows: &[Vec<Cell>]) {
    let mut columns = Columns::named(names.iter().map(|&name| name.to_owned()));
    rows.iter().for_each(|row| columns.widen(row));
    let mut writer = Writer::begin(to, columns).unwrap();
    rows.iter().for_each(|row| writer.row(row.clone()).unwrap());
    writer.finish().unwrap();
}

fn read(from: &Path) -> Outcome<Result<Vec<String>, String>> {
    let (mut rows, _) = Rows::open(from, None)?;
    let mut lines = Vec::new();
    Ok(loop {
        match rows.read(Vec::new()) {
            Ok(Some(line)) => lines.push(String::from_utf8(line).unwrap()),
            Ok(None) => break Ok(lines),
            Err(why) => break Err(why),
        }
    })
}

/// Rows with a cell of every kind, with and without nulls.
fn samples() -> Vec<Vec<Cell>> {
    let row = |at: u8| {
        let seldom = |cell: Cell| if at.is_multiple_of(3) { Cell::Null } else { cell };
        vec![
            Cell::Text(format!("key {at}")),
            seldom(Cell::Bool(at.is_multiple_of(2))),
            Cell::Signed(i64::from(at) - 5),
            seldom(Cell::Signed(i64::MIN + i64::from(at))),
            Cell::Unsigned(u64::MAX - u64::from(at)),
            seldom(Cell::Fraction(f64::from(at) / 4.0)),
            seldom(Cell::Bytes(vec![0xff, at])),
            Cell::Json(format!("[{at},{{\"a\":null}}]")),
            Cell::Null,
        ]
    };
    (0..20).map(row).collect()
}

const NAMES: [&str; 9] = ["k", "b", "n", "big", "u", "f", "x", "j", "none"];

#[test]
fn every_kind_of_cell_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.parquet");
    written(&file, &NAMES, &samples());
    let lines = read(&file).unwrap().unwrap();
    assert_eq!(lines.len(), 20);
    assert_eq!(
        lines[0],
        "{\"k\":\"key 0\",\"b\":null,\"n\":-5,\"big\":null,\"u\":\"18446744073709551615\",\
         \"f\":null,\"x\":null,\"j\":[0,{\"a\":null}],\"none\":null}"
    );
    assert_eq!(
        lines[1],
        "{\"k\":\"key 1\",\"b\":false,\"n\":-4,\"big\":\"-9223372036854775807\",\
         \"u\":\"18446744073709551614\",\"f\":0.25,\"x\":{\"base64\":\"/wE=\"},\
         \"j\":[1,{\"a\":null}],\"none\":null}"
    );
}

/// The crate `parquet` panics at some damage, which would end the program with an internal error.
#[test]
fn damage_ends_with_a_message() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.parquet");
    written(&file, &NAMES, &samples());
    let whole = fs::read(&file).unwrap();
    let damaged = dir.path().join("b.parquet");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&damaged, bytes).unwrap();
        // Damage may also change a value: Parquet has no checksums here.
        let _ = read(&damaged);
        if at % 8 == 0 {
            fs::write(&damaged, &whole[..at]).unwrap();
            let refusal = read(&damaged).unwrap_err().message();
            assert!(refusal.contains("is not a whole Parquet file: "), "{refusal}");
        }
    }
}

#[test]
fn the_type_of_a_column_does_not_depend_on_the_order() {
    use Kind::{Bool, Bytes, Fraction, Json, Mixed, MixedBytes, Signed, Small, Text, Unsigned};
    let all = [Bool, Small, Signed, Unsigned, Fraction, Text, Bytes, Json, Mixed, MixedBytes];
    for one in all {
        for two in all {
            assert_eq!(one.or(two), two.or(one), "{one:?} {two:?}");
            for three in all {
                assert_eq!(
                    one.or(two).or(three),
                    one.or(two.or(three)),
                    "{one:?} {two:?} {three:?}"
                );
            }
        }
    }
    assert_eq!(Small.or(Fraction), Fraction);
    assert_eq!(Signed.or(Fraction), Mixed);
}

#[test]
fn codecs_that_are_missing_are_refused_by_name() {
    let path = ColumnPath::new(vec!["a".to_owned(), "b".to_owned()]);
    let refused = |codec| schema::check_codec(codec, &path).unwrap_err();
    assert!(schema::check_codec(Compression::SNAPPY, &path).is_ok());
    assert!(
        refused(Compression::GZIP(GzipLevel::default())).contains("'a.b' is compressed with gzip")
    );
    assert!(refused(Compression::LZ4_RAW).contains("LZ4"));
    let zstd = schema::check_codec(Compression::ZSTD(ZstdLevel::default()), &path);
    assert_eq!(zstd.is_ok(), cfg!(feature = "zstd"));
}

#[test]
fn numbers_without_exact_fractions_stay_as_they_are() {
    assert_eq!(
        Cell::of_raw("12345678901234567890123"),
        Cell::Json("12345678901234567890123".into())
    );
    assert_eq!(Cell::of_raw("9007199254740993"), Cell::Signed(9_007_199_254_740_993));
    assert_eq!(Cell::of_raw("1.50"), Cell::Fraction(1.5));
    assert_eq!(Cell::of_raw("0.30000000000000004"), Cell::Fraction(0.1 + 0.2));
    assert_eq!(Cell::of_raw("-1e-7"), Cell::Fraction(-1e-7));
    let precise = "0.12345678901234567890";
    assert_eq!(Cell::of_raw(precise), Cell::Json(precise.to_owned()));
    assert_eq!(Cell::of_raw("{\"base64\":\"/wA=\"}"), Cell::Bytes(vec![0xff, 0]));
    assert_eq!(Cell::of_raw("null"), Cell::Null);
}
