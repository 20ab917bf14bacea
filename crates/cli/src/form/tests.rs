use super::*;

fn plain(form: Form, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    form.show(bytes).unwrap().write_plain(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn json(form: Form, bytes: &[u8]) -> String {
    json::value(form.show(bytes).unwrap()).to_string()
}

#[test]
fn what_a_form_writes_it_reads_back() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..)).collect();
        for form in [Form::Hex, Form::Base64] {
            assert_eq!(form.parse(plain(form, &bytes).as_bytes()), Some(bytes.clone()));
        }
        let number = random.u64(..).to_le_bytes();
        for form in [Form::U64, Form::I64, Form::F64] {
            let fraction = f64::from_le_bytes(number);
            if form == Form::F64 && fraction.is_nan() {
                continue; // one NaN reads back as another
            }
            assert_eq!(form.parse(plain(form, &number).as_bytes()), Some(number.to_vec()));
        }
    }
}

#[test]
fn numbers_are_little_endian() {
    assert_eq!(Form::U64.parse(b"258"), Some(vec![2, 1, 0, 0, 0, 0, 0, 0]));
    assert_eq!(Form::I64.parse(b"-1"), Some(vec![255; 8]));
    assert_eq!(Form::F64.parse(b"1"), Some(1f64.to_le_bytes().to_vec()));
    assert_eq!(plain(Form::F64, &1e300f64.to_le_bytes()), "1e300");
}

#[test]
fn text_that_does_not_parse() {
    for text in ["", "-1", "1.5", "abc", "18446744073709551616", " 1", "1 "] {
        assert_eq!(Form::U64.parse(text.as_bytes()), None, "{text:?}");
    }
    for text in ["", "9223372036854775808", "1e3", "--1"] {
        assert_eq!(Form::I64.parse(text.as_bytes()), None, "{text:?}");
    }
    assert_eq!(Form::F64.parse(b"1,5"), None);
    assert_eq!(Form::Hex.parse(b"abc"), None);
    assert_eq!(Form::Hex.parse(b"zz"), None);
    assert_eq!(Form::Base64.parse(b"a"), None);
    assert_eq!(Form::Base64.parse(b"Zg==\n"), None);
    assert_eq!(Form::U64.parse(b"\xff"), None);
}

#[test]
fn hex_and_base64_are_read_leniently() {
    assert_eq!(Form::Hex.parse(b"00fF"), Some(vec![0, 255]));
    assert_eq!(Form::Base64.parse(b"Zg=="), Some(b"f".to_vec()));
    assert_eq!(Form::Base64.parse(b"Zg"), Some(b"f".to_vec()));
}

#[test]
fn a_value_of_another_width_is_no_number() {
    let why = Form::U64.show(b"abc").unwrap_err();
    assert_eq!(why, "has 3 bytes, and u64 needs 8 (--as hex shows any value)");
}

#[test]
fn utf8_is_plain_alone_and_escaped_on_a_shared_line() {
    let shown = Form::Utf8.show(b"a\tb\xff").unwrap();
    let (mut alone, mut shared) = (Vec::new(), Vec::new());
    shown.write_plain(&mut alone).unwrap();
    shown.write_escaped(&mut shared).unwrap();
    assert_eq!(alone, b"a\tb\xff");
    assert_eq!(shared, b"a\\tb\\xff");
}

#[test]
fn auto_is_the_operators_number_type() {
    assert_eq!(ValueFormat::Auto.resolve(None), Form::Utf8);
    assert_eq!(ValueFormat::Auto.resolve(Some(TextForm::Bytes)), Form::Utf8);
    assert_eq!(ValueFormat::Auto.resolve(Some(TextForm::I64)), Form::I64);
    assert_eq!(ValueFormat::Hex.resolve(Some(TextForm::U64)), Form::Hex);
}

#[test]
fn names_on_the_command_line_are_those_of_the_forms() {
    for format in ValueFormat::value_variants() {
        if *format != ValueFormat::Auto {
            let name = format.to_possible_value().unwrap();
            assert_eq!(name.get_name(), format.resolve(None).name());
        }
    }
    // The types of a schema are no form.
    for format in KeyFormat::value_variants().iter().filter(|it| **it != KeyFormat::Typed) {
        assert_eq!(format.to_possible_value().unwrap().get_name(), Form::from(*format).name());
    }
}

#[test]
fn json_of_text() {
    assert_eq!(json(Form::Utf8, "a\"\n∑".as_bytes()), "\"a\\\"\\n∑\"");
    assert_eq!(json(Form::Utf8, b"\xff\x00"), "{\"base64\":\"/wA=\"}");
    assert_eq!(json(Form::Hex, b"\xff\x00"), "\"ff00\"");
}

#[test]
fn json_integers_above_two_to_the_53_are_strings() {
    let u64_of = |n: u64| json(Form::U64, &n.to_le_bytes());
    let i64_of = |n: i64| json(Form::I64, &n.to_le_bytes());
    assert_eq!(u64_of(1 << 53), "9007199254740992");
    assert_eq!(u64_of((1 << 53) + 1), "\"9007199254740993\"");
    assert_eq!(i64_of(-(1 << 53)), "-9007199254740992");
    assert_eq!(i64_of(i64::MIN), "\"-9223372036854775808\"");
    assert_eq!(json(Form::F64, &0.5f64.to_le_bytes()), "0.5");
    assert_eq!(json(Form::F64, &f64::INFINITY.to_le_bytes()), "\"inf\"");
}

#[test]
fn elements_are_written_one_by_one_and_shown_together() {
    let list = foldb::operators::list::operand(["a", "b\n"]);
    assert_eq!(Form::List.parse(b"a"), Some(foldb::operators::list::operand(["a"])));
    assert_eq!(plain(Form::List, &list), "a\nb\\n");
    assert_eq!(json(Form::List, &list), r#"["a","b\n"]"#);
    assert_eq!(Form::Set.parse(b"-a"), Some(foldb::operators::set::remove("a")));
    assert_eq!(plain(Form::Set, &Form::Set.parse(b"a").unwrap()), "a");
    assert_eq!(plain(Form::Sketch, &Form::Sketch.parse(b"a").unwrap()), "1");
    assert!(Form::List.show(b"\x09").is_err());
}

#[test]
fn items_are_written_one_by_one_and_shown_by_rank() {
    use foldb::operators::top;

    let two = top::operand([(7, "ada"), (i64::MAX, "b\n")]);
    assert_eq!(plain(Form::Top, &two), "9223372036854775807 b\\n\n7 ada");
    assert_eq!(
        json(Form::Top, &two),
        r#"[{"item":"b\n","score":"9223372036854775807"},{"item":"ada","score":7}]"#
    );
    assert_eq!(Form::Top.parse(b"-7 a b"), Some(top::operand([(-7, "a b")])));
    for text in ["ada", "7", "x ada", " ada", "7.5 ada"] {
        assert_eq!(Form::Top.parse(text.as_bytes()), None, "{text:?}");
    }
    assert!(Form::Top.show(b"7 ada").is_err());
}

#[test]
fn samples_are_written_one_by_one_and_shown_as_a_summary() {
    use foldb::operators::{histogram, stats};

    assert_eq!(Form::Stats.parse(b"-5"), Some(stats::operand([-5])));
    assert_eq!(Form::Stats.parse(b"0.5"), None);
    let three = stats::operand([i64::MAX, i64::MAX, 0]);
    let shown = "count=3 sum=18446744073709551614 min=0 max=9223372036854775807 mean=";
    assert!(plain(Form::Stats, &three).starts_with(shown), "{}", plain(Form::Stats, &three));
    assert_eq!(plain(Form::Stats, b""), "count=0 sum=0");
    let two = stats::operand([1, 2]);
    assert_eq!(
        json::value(Form::Stats.show(&two).unwrap()),
        serde_json::json!({ "count": 2, "sum": 3, "min": 1, "max": 2, "mean": 1.5 })
    );
    assert!(Form::Stats.show(b"123").is_err());

    let three = histogram::operand([3.0, 1.0, 2.0]);
    assert_eq!(plain(Form::Histogram, &three), "count=3 min=1.0 p50=2.0 p90=2.0 p99=2.0 max=3.0");
    assert_eq!(plain(Form::Histogram, b""), "count=0");
    assert_eq!(Form::Histogram.parse(b"2e3"), Some(histogram::operand([2000.0])));
    for text in ["nan", "inf", "-infinity", "1e999", "x"] {
        assert_eq!(Form::Histogram.parse(text.as_bytes()), None, "{text}");
    }
    assert!(Form::Histogram.show(b"\x01").is_err());
}

/// On a shared line and in JSON, for every form and bytes that it shows.
#[test]
fn lines_and_json_are_read_back_as_the_same_bytes() {
    let mut random = fastrand::Rng::with_seed(2);
    for round in 0..2_000 {
        let bytes: Vec<u8> = (0..random.usize(..20)).map(|_| random.u8(..)).collect();
        let number = random.u64(..) >> random.u32(..64);
        let elements: Vec<&[u8]> = bytes.chunks(3).chain([&b""[..]; 2]).take(round % 4).collect();
        let cases = [
            (Form::Utf8, bytes.clone()),
            (Form::Hex, bytes.clone()),
            (Form::Base64, bytes.clone()),
            (Form::U64, number.to_le_bytes().to_vec()),
            (Form::I64, number.wrapping_neg().to_le_bytes().to_vec()),
            (Form::F64, (number as f64 / 7.0).to_le_bytes().to_vec()),
            (Form::F64, (-0.0f64).to_le_bytes().to_vec()),
            (Form::F64, f64::NEG_INFINITY.to_le_bytes().to_vec()),
            (Form::List, Form::List.joined(elements.iter().copied())),
            (Form::Set, Form::Set.joined(elements.iter().copied())),
            (
                Form::Top,
                foldb::operators::top::operand(elements.iter().map(|item| (number as i64, item))),
            ),
        ];
        for (form, bytes) in cases {
            let mut line = Vec::new();
            form.show(&bytes).unwrap().write_escaped(&mut line).unwrap();
            assert!(!line.contains(&b'\t') && !line.contains(&b'\n'));
            assert_eq!(&*form.parse_escaped(&line).unwrap(), bytes, "{form:?}");
            let value = serde_json::from_str(&json(form, &bytes)).unwrap();
            assert_eq!(json::parse(form, &value).unwrap(), bytes, "{form:?}");
        }
    }
}

#[test]
fn json_of_another_kind_is_refused() {
    for (form, text) in [
        (Form::Utf8, "5"),
        (Form::Utf8, r#"{"base64":"?"}"#),
        (Form::Utf8, r#"{"base64":"YQ==","more":1}"#),
        (Form::U64, "-1"),
        (Form::U64, "1.0"),
        (Form::U64, "null"),
        (Form::I64, "\"x\""),
        (Form::Hex, "12"),
        (Form::List, "\"a\""),
        (Form::Set, "[1]"),
        (Form::Sketch, "7"),
        (Form::Stats, "7"),
        (Form::Histogram, "\"0.5\""),
        (Form::Top, "\"7 ada\""),
        (Form::Top, r#"[{"item":"ada"}]"#),
        (Form::Top, r#"[{"item":"ada","score":0.5}]"#),
        (Form::Top, r#"[{"item":"ada","score":1,"x":1}]"#),
    ] {
        let value = serde_json::from_str(text).unwrap();
        let why = json::parse(form, &value).unwrap_err();
        assert!(why.contains(&format!("is not {}: expected ", form.name())), "{why}");
    }
    for line in ["", "[]", "{", r#"{"key":"a"}"#, r#"{"key":"a","value":1,"x":2}"#, "{} {}"] {
        assert!(json::entry(line.as_bytes()).is_err(), "{line}");
    }
}
