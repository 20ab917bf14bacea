"""Many entries at once: columns of NumPy, Arrow, pandas and polars, in and out."""

from __future__ import annotations

import datetime
import random
import uuid

import pytest

import foldb

numpy = pytest.importorskip("numpy")


@pytest.fixture
def db(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="int64add") as db:
        yield db


@pytest.fixture
def words(tmp_path):
    with foldb.open(tmp_path / "words", keys="str", merge_operator="int64add") as db:
        yield db


def columns_of(values):
    """Returns the same column in every shape that is installed."""
    yield "list", list(values)
    yield "iterator", iter(values)
    yield "numpy", numpy.array(values)
    yield "numpy of objects", numpy.array(values, dtype=object)
    for library, make in [
        ("pyarrow", lambda own: own.array(values)),
        ("pyarrow chunks", lambda own: own.chunked_array([values[:1], values[1:]])),
        ("pyarrow dictionary", lambda own: own.array(values).dictionary_encode()),
        ("pandas", lambda own: own.Series(values)),
        ("polars", lambda own: own.Series(values)),
    ]:
        module = _module(library.split()[0])
        if module is not None:
            yield library, make(module)


def _module(name):
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def test_each_kind_of_column_writes_the_same(tmp_path):
    values = ["b", "a", "b", "", "grün", "b"]
    expected = [("", 1), ("a", 1), ("b", 3), ("grün", 1)]
    for kind, column in columns_of(values):
        with foldb.open(tmp_path / kind, keys="str", merge_operator="int64add") as db:
            assert db.merge_many(column, 1) == 6, kind
            assert list(db.counters().items()) == expected, kind


def test_each_kind_of_column_is_counted(tmp_path):
    for kind, column in columns_of(["b", "a", "b"]):
        with foldb.open(tmp_path / kind, keys="str", merge_operator="int64add") as db:
            counts = db.counters()
            counts.update(column)
            counts.update(column if kind != "iterator" else ["b", "a", "b"])
            assert counts.most_common() == [("b", 4), ("a", 2)], kind


def test_columns_of_numbers_are_operands(db):
    for kind, column in columns_of([1, -2, 3]):
        db.clear()
        db.merge_many([b"a", b"b", b"a"], column)
        assert list(db.counters().items()) == [(b"a", 4), (b"b", -2)], kind


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i4", "<i8", ">i8", "u1", ">u2", "<u4", "u8"])
def test_numbers_of_any_width_and_byte_order(db, dtype):
    db.put_many(numpy.array([b"a", b"b"]), numpy.array([1, 100], dtype=dtype))
    assert db.counters().most_common() == [(b"b", 100), (b"a", 1)]


def test_put_many_keeps_the_order_of_the_rows(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        db.put_many(numpy.array([b"a", b"b", b"a"]), numpy.array([b"1", b"2", b"3"]))
        assert list(db.items()) == [(b"a", b"3"), (b"b", b"2")]
        db.put_many({b"c": b"4", b"d": b"5"})
        assert db[b"d"] == b"5"
        db.put_many([b"e", b"f"], b"same")
        assert db.get_many([b"e", b"f"]).to_list() == [b"same", b"same"]


def test_a_strided_array_is_read_as_it_looks(db):
    array = numpy.array([b"a", b"x", b"b", b"x", b"c", b"x"])
    db.merge_many(array[::2], 1)
    db.merge_many(array[::-2], 1)
    assert db.counters().most_common() == [(b"x", 3), (b"a", 1), (b"b", 1), (b"c", 1)]


def test_rows_of_bytes_may_end_in_zeros(tmp_path):
    rows = numpy.array([[1, 0], [0, 0]], dtype=numpy.uint8)
    with foldb.open(tmp_path / "db") as db:
        db.put_many(rows, rows.view("V2").reshape(2))
        assert list(db.items()) == [(b"\0\0", b"\0\0"), (b"\1\0", b"\1\0")]
        # NumPy would take the zeros for padding.
        assert db.scan().to_numpy()["key"].tolist() == [b"\0\0", b"\1\0"]


def test_random_columns_agree_with_single_calls(tmp_path):
    draw = random.Random(7)
    with foldb.open(tmp_path / "a", merge_operator="int64add") as one, foldb.open(
        tmp_path / "b", merge_operator="int64add"
    ) as many:
        for _ in range(30):
            rows = draw.randrange(0, 3000)
            keys = [b"k%d" % draw.randrange(draw.choice([3, 500, 10**6])) for _ in range(rows)]
            amounts = [draw.randrange(-(2**62), 2**62) for _ in range(rows)]
            for key, amount in zip(keys, amounts):
                one.merge(key, amount)
            array = numpy.array(keys, dtype="S8")
            assert many.merge_many(array, numpy.array(amounts, dtype="i8")) == rows
        assert list(one.items()) == list(many.items())
        assert many.get_many(list(one.keys())).to_list() == [
            int.from_bytes(value, "little", signed=True) for value in one.values()
        ]


def test_many_more_keys_than_wait_for_each_other(db):
    keys = numpy.arange(300_000).astype("S8")
    assert db.merge_many(keys, 1) == 300_000
    assert db.merge_many(keys[::2], 2) == 150_000
    assert len(db) == 300_000
    assert db.counters().total() == 600_000


def test_typed_keys_come_and_go_as_columns(tmp_path):
    moments = numpy.array(["2026-01-02T03:04:05.000006", "1969-12-31T23:59:59"], dtype="M8[us]")
    uuids = [uuid.UUID(int=1), uuid.UUID(int=2)]
    cases = [
        ("int", numpy.array([-5, 7]), [-5, 7]),
        ("float", numpy.array([-0.5, 7.25]), [-0.5, 7.25]),
        ("float", numpy.array([1, 2], dtype="i4"), [1.0, 2.0]),
        ("bool", numpy.array([False, True]), [False, True]),
        (
            "datetime",
            moments[::-1],
            [
                datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=datetime.timezone.utc),
                datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
            ],
        ),
        ("uuid", numpy.array([own.bytes for own in uuids], dtype="V16"), uuids),
    ]
    for number, (keys, column, expected) in enumerate(cases):
        with foldb.open(tmp_path / str(number), keys=keys) as db:
            db.put_many(column, [b"1", b"2"])
            assert list(db.keys()) == expected, keys
            assert db.get_many(column).to_list() == [b"1", b"2"]
            back = db.scan().to_numpy()["key"]
            assert (back == numpy.asarray(column)).all(), keys


def test_keys_that_are_tuples(tmp_path):
    with foldb.open(tmp_path / "db", keys=("str", "int"), merge_operator="int64add") as db:
        pages, days = numpy.array(["a", "b", "a"]), numpy.array([1, 2, 1])
        db.merge_many((pages, days), 1)
        db.merge_many([("c", 3)], [5])
        assert list(db.counters().items()) == [(("a", 1), 2), (("b", 2), 1), (("c", 3), 5)]
        assert db.get_many((pages, days)).to_list() == [2, 1, 2]
        scan = db.scan(prefix=("a",), names=["page", "day", "views"])
        assert {name: array.tolist() for name, array in scan.to_numpy().items()} == {
            "page": ["a"],
            "day": [1],
            "views": [2],
        }
        with pytest.raises(ValueError, match="keys: the columns have 2 and 3 rows"):
            db.merge_many((pages[:2], days), 1)
        with pytest.raises(ValueError, match="expected 2 columns, not 1"):
            db.merge_many((pages,), 1)


def test_frames_go_in_and_come_out(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    data = {"page": ["a", "b", "a"], "day": [1, 2, 1], "views": [10, 20, 30]}
    expected = [(("a", 1), 40), (("b", 2), 20)]
    frames = [
        pandas.DataFrame(data),
        polars.DataFrame(data),
        pyarrow.table(data),
        pyarrow.RecordBatch.from_pydict(data),
    ]
    for number, frame in enumerate(frames):
        path = tmp_path / str(number)
        with foldb.open(path, keys=("str", "int"), merge_operator="int64add") as db:
            db.merge_many(frame)
            assert list(db.counters().items()) == expected
            names = ["page", "day", "views"]
            back = {"page": ["a", "b"], "day": [1, 2], "views": [40, 20]}
            assert db.scan(names=names).to_arrow().to_pydict() == back
            assert db.scan(names=names).to_pandas().to_dict("list") == back
            assert db.scan(names=names).to_polars().to_dict(as_series=False) == back
            assert polars.DataFrame(db.scan(batch_rows=1)).shape == (2, 3)
            top = db.counters().top(1, names=names)
            assert top.to_pandas().to_dict("list") == {"page": ["a"], "day": [1], "views": [40]}
            assert top["views"].to_polars().to_list() == [40]


def test_naive_timestamps_of_arrow_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    with foldb.open(tmp_path / "db", keys="datetime") as db:
        moment = datetime.datetime(2026, 1, 1)
        with pytest.raises(TypeError, match="without a time zone"):
            db.put_many(pyarrow.array([moment]), [b""])
        db.put_many(pyarrow.array([moment], pyarrow.timestamp("ms", "Europe/Berlin")), [b""])
        assert next(db.keys()) == moment.replace(tzinfo=datetime.timezone.utc)


def test_absent_keys_are_null_or_the_default(db):
    db.merge_many([b"a"], 5)
    found = db.get_many(numpy.array([b"a", b"b"]))
    assert (len(found), found.null_count, found.to_list()) == (2, 1, [5, None])
    array = found.to_numpy()
    assert array.mask.tolist() == [False, True] and array[0] == 5
    assert db.get_many([b"a", b"b"], default=0).to_numpy().tolist() == [5, 0]
    with foldb.open(str(db.path) + "2") as plain:
        plain[b"x"] = b"y"
        assert plain.get_many([b"x", b"z"]).to_numpy().tolist() == [b"y", None]


def test_a_scan_is_of_one_moment_and_read_once(db):
    db.merge_many([b"%05d" % number for number in range(1000)], 1)
    scan = db.scan(b"00100", b"00900", batch_rows=100)
    db.clear()
    assert [len(table) for table in scan] == [100] * 8
    assert list(scan) == []
    assert len(db.scan().to_numpy()["key"]) == 0
    taken = db.scan()
    taken.__arrow_c_stream__()
    with pytest.raises(foldb.Closed):
        next(taken)
    scan.close()
    with pytest.raises(foldb.Closed):
        next(scan)


def test_a_scan_of_a_closed_database_says_so(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    db = foldb.open(tmp_path / "db")
    db[b"a"] = b"1"
    scan, given, snapshot = db.scan(), db.scan(), db.snapshot()
    reader = pyarrow.RecordBatchReader.from_stream(given)
    of_snapshot = snapshot.scan()
    snapshot.close()
    with pytest.raises(foldb.Closed):
        next(of_snapshot)
    db.close()
    with pytest.raises(foldb.Closed):
        next(scan)
    with pytest.raises(Exception, match="closed"):
        reader.read_all()
    with pytest.raises(foldb.Closed):
        db.put_many([b"a"], [b"b"])


def test_snapshots_and_readers_read_columns(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="int64add") as db:
        db.merge_many([b"a", b"b"], [1, 2])
        with db.snapshot() as snapshot:
            db.merge_many([b"a", b"b"], [1, 2])
            assert snapshot.get_many([b"a", b"b"]).to_list() == [1, 2]
            assert snapshot.scan().to_numpy()["value"].tolist() == [1, 2]
    with foldb.open(tmp_path / "db", read_only=True) as db:
        assert db.get_many([b"a", b"b"]).to_list() == [2, 4]
        with pytest.raises(foldb.ReadOnly):
            db.merge_many([b"a"], 1)


def test_elements_of_one_key_come_together(tmp_path):
    pages = numpy.array([b"a", b"b", b"a", b"a"])
    with foldb.open(tmp_path / "db") as db:
        sets = db.keyspace("sets", merge_operator="set").sets()
        assert sets.add_many(pages, numpy.array([b"z", b"y", b"x", b"z"])) == 4
        assert dict(sets.items()) == {b"a": {b"x", b"z"}, b"b": {b"y"}}
        lists = db.keyspace("lists", merge_operator="listlast:2").lists()
        lists.append_many(pages, numpy.array([b"1", b"2", b"3", b"4"]))
        lists.append_many(pages[:1], [b"5"])
        assert dict(lists.items()) == {b"a": (b"4", b"5"), b"b": (b"2",)}
        visitors = db.keyspace("visitors", merge_operator="hyperloglog").hyperloglogs()
        visitors.add_many(pages, numpy.array([1, 2, 3, 1]))
        assert round(visitors[b"a"]) == 2
        # Single calls add the same elements.
        visitors.add(b"a", 1, 3)
        assert round(visitors[b"a"]) == 2
        visitors.add_many(["b".encode()], ["text"])
        visitors.add(b"b", "text", b"text")
        assert round(visitors[b"b"]) == 2


def test_expiry_and_sync_reach_every_batch(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        short = db.keyspace("short", merge_operator="int64add", expiry="per-write")
        short.merge_many([b"%d" % number for number in range(25_000)], 1, ttl=3600, sync=True)
        short.put_many([b"p%d" % number for number in range(25_000)], 1, ttl=3600)
        assert all(short.expires_at(key) for key in (b"0", b"24999", b"p0", b"p24999"))


def test_mistakes_name_the_argument_and_the_row(db, words):
    pyarrow = pytest.importorskip("pyarrow")
    mistakes = [
        (TypeError, "keys: expected a column of bytes", db, (numpy.array(["a"]), 1)),
        (TypeError, "keys: expected a column of str", words, (numpy.array([b"a"]), 1)),
        (TypeError, "keys: expected a column or an iterable, not str", words, ("abc", 1)),
        (TypeError, "keys: expected a column or an iterable, not bytes", db, (b"abc", 1)),
        (TypeError, "keys: expected a column or an iterable, not int", db, (5, 1)),
        (ValueError, "keys: expected an array of one dim", db, (numpy.zeros((2, 2)), 1)),
        (ValueError, "keys: expected an array of one dim", db, (numpy.array(b"a"), 1)),
        (TypeError, "keys: expected an array of", db, (numpy.array([1j]), 1)),
        (ValueError, "keys: row 1 is null", db, (pyarrow.array([b"a", None]), 1)),
        (ValueError, "masked", db, (numpy.ma.array([b"a", b"b"], mask=[0, 1]), 1)),
        (ValueError, "keys has more", db, ([b"a", b"b"], [1])),
        (ValueError, "operands has more", db, ([b"a"], [1, 2])),
        (OverflowError, "operands: row 0", db, ([b"a"], numpy.array([2**63], dtype="u8"))),
        (TypeError, "operands: expected a column of whole", db, ([b"a"], numpy.array([0.5]))),
        (TypeError, "operands", db, ([b"a"], [0.5])),
        (ValueError, "operands: row 0 has 5 bytes", db, ([b"a"], [b"short"])),
        (TypeError, "operands: expected a column beside the keys", db, ([b"a"],)),
        (ValueError, "surrogate", words, (numpy.array(["\ud800"]), 1)),
    ]
    for kind, message, own, arguments in mistakes:
        with pytest.raises(kind, match=message):
            own.merge_many(*arguments)
    with pytest.raises(ValueError, match="batch_rows"):
        db.scan(batch_rows=0)
    with pytest.raises(foldb.InvalidArgument, match="names: expected 2 names"):
        db.scan(names=["one"])
    db.clear()
    db.put_many([b"a"], [b"not a number"])
    with pytest.raises(foldb.Error, match="8 bytes"):
        db.get_many([b"a"])


def test_large_values_are_split_into_batches(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        large = b"x" * 3_000_000
        assert db.put_many([b"%d" % number for number in range(20)], [large] * 20) == 20
        assert [len(table) for table in db.scan()] == [6, 6, 6, 2]
        assert db.get_many([b"7"]).to_list() == [large]


def test_more_elements_than_a_list_keeps(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="listlast:2") as db:
        lists = db.lists()
        lists.extend(b"a", [b"1", b"2", b"3"])
        lists.append_many([b"b"] * 5, [b"%d" % number for number in range(5)])
        lists.extend(b"a", [])
        assert dict(lists.items()) == {b"a": (b"2", b"3"), b"b": (b"3", b"4")}
    with foldb.open(tmp_path / "other", merge_operator="int64add") as db:
        with pytest.raises(foldb.InvalidArgument, match="adds no elements"):
            foldb._foldb.Bag(db)._add(b"a", b"1")


def test_a_mistake_leaves_the_rows_before_it_written(db):
    def keys(count, distinct):
        for number in range(count):
            yield b"%d" % (number % distinct)
        yield "text"

    with pytest.raises(TypeError, match=r"keys: .* \(row 25000\)") as raised:
        db.merge_many(keys(25_000, 7), 1)
    assert raised.value.rows_written == 20_000 == db.counters().total()
    with pytest.raises(ValueError, match="were written") as raised:
        db.merge_many([b"m1", b"m2"], [1])
    assert db.counters().get(b"m1") == 1 and raised.value.rows_written == 1
    with pytest.raises(ValueError, match="row 1 has 1 bytes") as raised:
        db.merge_many([b"n1", b"n2"], [b"12345678", b"1"])
    assert b"n1" in db and b"n2" not in db and raised.value.rows_written == 1


def test_nulls_in_dictionaries_and_rows_are_refused(words, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    hidden = pyarrow.DictionaryArray.from_arrays([0, 1, 0], ["dv", None])
    for column in (hidden, pyarrow.array([None, None], pyarrow.string()).dictionary_encode()):
        with pytest.raises(ValueError, match="keys: row . is null"):
            words.merge_many(column, 1)
    rows = pyarrow.StructArray.from_arrays(
        [["a", "b", "c"], [1, 2, 3]], names=["x", "y"], mask=pyarrow.array([False, True, False])
    )
    with foldb.open(tmp_path / "tuples", keys=("str", "int"), merge_operator="int64add") as db:
        with pytest.raises(ValueError, match="keys: row 1 is null"):
            db.merge_many(rows, 1)


def test_a_capsule_is_taken_once(words):
    pyarrow = pytest.importorskip("pyarrow")

    class Once:
        pair = pyarrow.array(["a"]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.pair

    words.merge_many(Once(), 1)
    with pytest.raises(ValueError, match="taken before"):
        words.merge_many(Once(), 1)


def test_text_of_arrow_that_is_no_utf8_is_refused(words):
    pyarrow = pytest.importorskip("pyarrow")
    wrong = pyarrow.StringArray.from_buffers(
        1, pyarrow.py_buffer(b"\0\0\0\0\2\0\0\0"), pyarrow.py_buffer(b"\xff\xfe")
    )
    with pytest.raises(ValueError, match="(?i)utf"):
        words.merge_many(wrong, 1)
    assert len(words) == 0


def test_scalars_of_numpy_are_numbers_and_no_buffers(db, tmp_path):
    db.merge(b"a", numpy.int32(3))
    db[b"b"] = numpy.uint8(7)
    db.merge_many([b"a"], [numpy.int64(4)])
    assert db.counters().most_common() == [(b"a", 7), (b"b", 7)]
    for wrong in (numpy.float64(1.0), numpy.datetime64("2020-01-01"), numpy.str_("x")):
        with pytest.raises(TypeError):
            db.merge(b"a", wrong)
        with pytest.raises(TypeError):
            db.merge_many([b"a"], [wrong])
    with pytest.raises(TypeError):
        db[numpy.int64(5)]
    with foldb.open(tmp_path / "i", keys="int", merge_operator="float64add") as numbers:
        numbers.merge(numpy.int16(5), numpy.float32(0.5))
        numbers.merge(5, numpy.int64(1))
        assert numbers.get_many([5]).to_list() == [1.5]
    with foldb.open(tmp_path / "h", merge_operator="hyperloglog") as own:
        visitors, drawn = own.hyperloglogs(), numpy.arange(100, dtype="i4")
        visitors.add_many([b"p"] * 100, drawn)
        for visitor in drawn:
            visitors.add(b"p", visitor)
        assert 98 < visitors[b"p"] < 102


def test_moments_that_python_could_not_read_back_are_refused(tmp_path):
    with foldb.open(tmp_path / "db", keys="datetime") as db:
        for wrong in (
            numpy.array(["2026-01-01T00:00:00.000000001"], dtype="M8[ns]"),
            numpy.array(["20000-01-01"], dtype="M8[s]"),
        ):
            with pytest.raises(ValueError, match="row 0 is a moment"):
                db.put_many(wrong, b"")
        assert db.put_many(numpy.array(["2026-01-01T00:00:00.000001"], dtype="M8[ns]"), b"1") == 1
        assert [db[key] for key in db] == [b"1"]
        pandas = pytest.importorskip("pandas")
        with pytest.raises(ValueError, match="nanoseconds"):
            db[pandas.Timestamp("2026-01-01T00:00:00.000000001Z")] = b""


def test_one_long_value_pads_no_others(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        db.put_many([b"%d" % number for number in range(5000)], b"small")
        db[b"large"] = b"x" * (1 << 20)
        values = db.scan().to_numpy()["value"]
        assert values.dtype == object and len(values) == 5001 and b"small" in values


def test_columns_of_categories_cost_what_others_cost(words):
    pyarrow = pytest.importorskip("pyarrow")
    rows = 300_000
    column = pyarrow.array(["a", "b", "c"] * (rows // 3)).dictionary_encode()
    assert words.merge_many(column, 1) == rows
    assert words.counters().total() == rows


def test_columns_are_sequences(db):
    db.merge_many([b"a"], 5)
    column = db.get_many([b"a", b"b"])
    assert list(column) == [5, None] and column[0] == 5 and column[-1] is None
    with pytest.raises(IndexError):
        column[2]


def test_numbers_beside_nulls_stay_whole_in_pandas(db):
    pytest.importorskip("pandas")
    db.merge_many([b"a"], 2**53 + 1)
    series = db.get_many([b"a", b"b"]).to_pandas()
    assert series[0] == 2**53 + 1 and str(series.dtype) == "Int64"


def test_a_mapping_is_read_at_one_moment(db, tmp_path):
    db.update({b"a": 1, b"b": 2})
    with foldb.open(tmp_path / "copy", merge_operator="int64add") as copy:
        assert copy.put_many(db) == 2
        assert dict(copy.items()) == dict(db.items())
    assert db.merge_many([b"a", b"a"], bytearray(b"\1\0\0\0\0\0\0\0")) == 2
