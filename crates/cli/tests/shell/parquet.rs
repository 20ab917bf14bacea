//! Parquet, imported and exported.

use std::fs::{self, File};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type, Int96, Int96Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::foldb::Shell;

const PYARROW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell/parquet/pyarrow.parquet");
const PYARROW_ROWS: &str = include_str!("parquet/pyarrow.jsonl");

/// Lines of JSON with every kind of cell, in the order of their keys.
fn stored(rows: usize) -> String {
    let line = |at: usize| {
        let some = |text: String| if at.is_multiple_of(5) { "null".to_owned() } else { text };
        let (flag, list) = (some(at.is_multiple_of(2).to_string()), some(format!("[{at},\"x\"]")));
        let (part, text) = (some(format!("{}.5", at % 100)), some(format!("\"t {}\"", at % 7)));
        let rest = format!("\"b\":{flag},\"f\":{part},\"t\":{text},\"l\":{list}");
        format!("{{\"k\":\"key {at:07}\",\"n\":{at},{rest}}}\n")
    };
    (0..rows).map(line).collect()
}

fn with_lines(lines: &str) -> Shell {
    let shell = Shell::new();
    shell.feed(&["import", "--from", "jsonl", "-", "db", "--key", "k"], lines.as_bytes()).ok();
    shell
}

/// Writes a file of one column with one value.
fn one<T: DataType>(shell: &Shell, column: &str, value: T::T) {
    let schema = parse_message_type(&format!("message m {{ {column}; }}")).unwrap();
    let file = File::create(shell.path("in.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(&[value], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn a_file_of_pyarrow_has_the_rows_that_json_lines_have() {
    let shell = Shell::new();
    let ran = shell.run_args(&["import", "--from", "parquet", PYARROW, "db", "--key", "k"]);
    assert!(ran.err.starts_with("3 rows imported in "), "{ran:?}");
    assert_eq!(shell.ok("export --to jsonl db - --value json"), PYARROW_ROWS);
    // Keys and values are texts and numbers as in JSON lines.
    let words = ["import", "--from", "parquet", PYARROW, "n", "--key", "date,i64", "--value"];
    let words: Vec<&str> = words.into_iter().chain(["u64", "--rejected", "bad"]).collect();
    let message = shell.run_args(&words).failed(3);
    assert_eq!(message, "2 rows imported, 1 rejected; the first: row 3: the field 'date' is null");
    let expected = "1901-02-03/9007199254740993\t18446744073709551615\n\
                    2024-01-31/-9223372036854775808\t0\n";
    assert_eq!(shell.ok("scan n"), expected);
    // Rejected rows are whole rows, as JSON lines.
    let bad = fs::read_to_string(shell.path("bad")).unwrap();
    assert_eq!(bad, PYARROW_ROWS.lines().nth(2).unwrap().to_owned() + "\n");
}

#[test]
fn stored_rows_come_back_from_several_groups_of_rows() {
    let lines = stored(140_000);
    let shell = with_lines(&lines);
    let ran = shell.run("export --to parquet db out.parquet --value json");
    assert!(ran.err.starts_with("exported 140,000 rows in "), "{ran:?}");
    let file = File::open(shell.path("out.parquet")).unwrap();
    use parquet::file::reader::FileReader;
    let groups = parquet::file::reader::SerializedFileReader::new(file).unwrap().num_row_groups();
    assert_eq!(groups, 2);
    shell.ok("import --from parquet out.parquet back --key k");
    assert!(shell.ok("export --to jsonl back - --value json") == lines, "other rows came back");
    let out = shell.run("export --to parquet db - --value json").out;
    assert!(out == fs::read(shell.path("out.parquet")).unwrap(), "standard output has other bytes");
}

#[test]
fn values_of_every_form_come_back() {
    for (form, values) in [
        ("utf8", ["a", "two words", "é"]),
        ("hex", ["ff00", "00", "61"]),
        ("u64", ["18446744073709551615", "0", "7"]),
        ("i64", ["-9223372036854775808", "0", "7"]),
        ("f64", ["-0.5", "inf", "3.0"]),
    ] {
        let shell = Shell::new();
        for (at, value) in values.iter().enumerate() {
            shell.run_args(&["put", "db", &format!("k{at}"), value, "--as", form]).ok();
        }
        for exported in [form, "utf8"] {
            shell.ok(&format!("export --to parquet db out.parquet --as {exported}"));
            let import = "import --from parquet out.parquet back --key key --value value";
            shell.ok(&format!("{import} --as {exported}"));
            let scan = |db: &str| shell.ok(&format!("scan {db} --as hex"));
            assert_eq!(scan("db"), scan("back"), "{form} as {exported}");
        }
    }
}

#[test]
fn typed_keys_and_sums_come_back() {
    let shell = Shell::new();
    fs::write(shell.path("in.csv"), "user,at,n\nann,300,1\nann,20,2\nbob,1,3\nbob,1,4\n").unwrap();
    let types = "--key user,at --value n --merge int64add --key-types str,u64";
    shell.ok(&format!("import --from csv in.csv db {types}"));
    shell.ok("export --to parquet db out.parquet --key user,at --value n");
    shell.ok(&format!("import --from parquet out.parquet back {types}"));
    let rows = shell.ok("export --to jsonl back -");
    assert_eq!(rows, shell.ok("export --to jsonl db -"));
    assert_eq!(rows.lines().last().unwrap(), "{\"key1\":\"bob\",\"key2\":1,\"value\":7}");
    // A list becomes JSON.
    shell.ok("merge tags.db k red --operator list");
    shell.ok("merge tags.db k green");
    shell.ok("export --to parquet tags.db tags.parquet");
    shell.ok("import --from parquet tags.parquet tags2.db --key key");
    assert_eq!(shell.ok("get tags2.db k"), "{\"key\":\"k\",\"value\":[\"red\",\"green\"]}\n");
}

#[test]
fn an_import_goes_on_behind_its_first_rows() {
    let shell = with_lines(&stored(10_000));
    shell.ok("export --to parquet db out.parquet --value json");
    let import = "import --from parquet out.parquet n --key n --value t";
    let message = shell.run(import).failed(1);
    assert_eq!(message, "'out.parquet' row 1: the field 't' is null; no row is in the database");
    let ran = shell.run(&format!("{import} --skip 9996"));
    assert!(ran.err.starts_with("4 rows imported in "), "{ran:?}");
    let message = shell.run(&format!("{import} --skip 10001")).failed(1);
    assert!(message.contains("has 10000 rows, fewer than --skip 10001"), "{message}");
    let message = shell.run(&format!("{import} --max-rejected 2000")).failed(3);
    assert!(
        message.starts_with("8,000 rows imported, 2,000 rejected; the first: row 1: "),
        "{message}"
    );
}

/// Nothing is created for a file that cannot be read.
#[test]
fn files_that_are_not_whole_are_refused() {
    let shell = with_lines(&stored(100));
    shell.ok("export --to parquet db out.parquet --value json");
    let whole = fs::read(shell.path("out.parquet")).unwrap();
    let import = "import --from parquet in.parquet new --key k";
    for len in [0, 3, 12, whole.len() / 2, whole.len() - 1] {
        fs::write(shell.path("in.parquet"), &whole[..len]).unwrap();
        let message = shell.run(import).failed(1);
        assert!(message.starts_with("'in.parquet' is not a whole Parquet file: "), "{message}");
    }
    fs::write(shell.path("in.parquet"), "k,v\na,1\n").unwrap();
    let message = shell.run(import).failed(1);
    assert!(message.starts_with("'in.parquet' is not a whole Parquet file: "), "{message}");
    for src in ["-", "db"] {
        let message = shell.run(&format!("import --from parquet {src} new --key k")).failed(1);
        assert!(message.contains("is no regular file"), "{message}");
    }
    let message = shell.run("import --from parquet missing new --key k").failed(1);
    assert!(message.starts_with("cannot read 'missing': "), "{message}");
    let message = shell.run("import --from parquet out.parquet new --key kk").failed(1);
    assert!(
        message.starts_with("'out.parquet' has no column 'kk'; the nearest is 'k'"),
        "{message}"
    );
    let message = shell.run("import --from parquet out.parquet new --key k --value x").failed(1);
    assert!(message.starts_with("'out.parquet' has no column 'x'"), "{message}");
    assert!(!shell.path("new").exists());
}

#[test]
fn types_that_json_cannot_hold_are_refused_by_name() {
    let shell = Shell::new();
    let refused = |what: &str| {
        let message = shell.run("import --from parquet in.parquet new --key k").failed(1);
        assert!(message.contains("the column 'k' has ") && message.contains(what), "{message}");
        assert!(!shell.path("new").exists());
    };
    one::<Int96Type>(&shell, "required int96 k", Int96::new());
    refused("INT96");
    let wide = ByteArray::from(vec![1; 30]);
    one::<ByteArrayType>(&shell, "required binary k (DECIMAL(50, 0))", wide);
    refused("more than 38 digits");
    one::<Int64Type>(&shell, "required int64 k (TIMESTAMP(NANOS, true))", i64::MIN);
    shell.ok("import --from parquet in.parquet new --key k");
    assert_eq!(shell.ok("get new 1677-09-21T00:12:43.145224192Z").lines().count(), 1);
}

#[test]
fn an_export_of_nothing_has_the_columns_or_says_why_not() {
    let shell = Shell::new();
    shell.ok("put db k v");
    shell.ok("delete db k");
    shell.ok("export --to parquet db out.parquet");
    let ran = shell.run("import --from parquet out.parquet new --key key --value value");
    assert!(ran.err.starts_with("0 rows imported"), "{ran:?}");
    let message = shell.run("export --to parquet db no.parquet --value json").failed(1);
    assert!(message.starts_with("there is no entry"), "{message}");
    assert!(!shell.path("no.parquet").exists());
}

#[test]
fn rows_with_other_columns_end_the_export() {
    let shell = with_lines("{\"k\":\"a\",\"n\":1}\n{\"k\":\"b\"}\n");
    let message = shell.run("export --to parquet db out.parquet --value json").failed(1);
    assert_eq!(message, "key 'b' has the columns k, and the first row has k,n");
    assert!(!shell.path("out.parquet").exists());
}
